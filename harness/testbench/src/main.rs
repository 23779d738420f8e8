//! The command line of the SFrame test bench.

mod cli;
mod explain;
mod schema;

fn main() -> std::process::ExitCode {
    cli::main()
}
