//! A sandbox made by the program `bwrap`.

use std::path::Path;
use std::process::Command;

use super::Call;
use super::sandbox::Sandbox;

/// `bwrap` with everything that the sandbox shows, then the call. The program's variables are handed in: set on `bwrap`
/// itself, those that the loader obeys would run code of the step's choice outside.
pub(super) fn command(sandbox: &Sandbox, bwrap: &Path, call: &Call) -> Command {
    let mut command = call.start(bwrap);
    command.args(["--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--hostname", "simpack"]);
    command.args(["--proc", "/proc", "--dev", "/dev", "--bind"]).arg(&sandbox.temporary).arg("/tmp");
    for (path, target) in &sandbox.links {
        command.arg("--symlink").arg(target).arg(path);
    }
    for (path, writable) in sandbox.mounts() {
        command.arg(if writable { "--bind" } else { "--ro-bind" }).arg(path).arg(path);
    }
    // What can be written in /proc are settings of the kernel, and root may without any right.
    command.args(["--remount-ro", "/proc", "--remount-ro", "/"]);
    for (name, value) in &call.env {
        command.args(["--setenv", name, value]);
    }
    if let Some(dir) = &call.dir {
        command.arg("--chdir").arg(dir);
    }
    command.arg("--").arg(&call.program).args(&call.args);
    command
}

/// The signal that `bwrap` reports as an exit code.
pub(super) fn signal_of(code: i32) -> Option<i32> {
    (129..=128 + 64).contains(&code).then_some(code - 128)
}
