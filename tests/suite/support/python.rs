//! The Python with the real clients, which `tests/run` sets up and names in `SIMPACK_TEST_PYTHON`.

use std::path::Path;
use std::process::Command;

/// A call of that Python; nothing without it.
pub fn python() -> Option<Command> {
    let mut command = Command::new(std::env::var_os("SIMPACK_TEST_PYTHON")?);
    for name in ["CONDA_OVERRIDE_CUDA", "CONDA_OVERRIDE_CUDA_ARCH", "CONDA_OVERRIDE_GLIBC"] {
        command.env_remove(name);
    }
    Some(command)
}

/// One of the scripts of `tests/clients`.
pub fn client(script: &str) -> Option<Command> {
    let mut command = python()?;
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(script));
    Some(command)
}
