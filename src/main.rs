//! The `simpack` program: parse, do, say, exit.

use std::process::ExitCode;

fn main() -> ExitCode {
    let (ui, answer) = simpack::cli::run(std::env::args_os());
    match answer {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            ui.error(&error);
            ExitCode::from(error.kind().exit_code())
        }
    }
}
