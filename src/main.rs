//! The `zonesim` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    zonesim::cli::main()
}
