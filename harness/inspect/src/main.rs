//! Dump, lint, diff and convert, as a program of their own.

fn main() -> std::process::ExitCode {
    sframe_inspect::command::program::main()
}
