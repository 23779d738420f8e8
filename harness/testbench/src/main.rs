//! The command line of the SFrame test bench.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
