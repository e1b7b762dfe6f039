//! A sandbox made by Landlock, for machines without namespaces: files that are not shown cannot be
//! opened, and TCP cannot be used. Other sockets, and whether a file exists, it does not hide.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope,
};

use super::Call;
use super::sandbox::{DEVICES, Sandbox};
use crate::error::{Error, Result};

/// The call, which gives up its rights before it starts.
pub(super) fn command(sandbox: &Sandbox, call: &Call) -> Result<Command> {
    let rules = rules(sandbox).map_err(|error| Error::toolchain("cannot make rules for landlock").because(error))?;
    let rules: Option<OwnedFd> = rules.into();
    let rules = rules.ok_or_else(|| Error::toolchain("this kernel has no landlock"))?;
    let mut command = call.plain();
    // SAFETY: two system calls on a descriptor that the closure owns; nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            let ended = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) == 0;
            if ended { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
    }
    Ok(command)
}

fn rules(sandbox: &Sandbox) -> std::result::Result<RulesetCreated, landlock::RulesetError> {
    // The oldest that can move files between directories; without that, tools cannot rename.
    let all = AccessFs::from_all(ABI::V5);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V2))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .handle_access(AccessNet::from_all(ABI::V4))?
        .scope(Scope::from_all(ABI::V6))?
        .create()?;
    for (path, writable) in sandbox.mounts() {
        let access = if writable { all } else { AccessFs::from_read(ABI::V5) };
        rules = allow(rules, path, access)?;
    }
    for device in DEVICES {
        let access = AccessFs::ReadFile | AccessFs::WriteFile;
        rules = allow(rules, &Path::new("/dev").join(device), access)?;
    }
    allow(rules, Path::new("/proc"), AccessFs::from_read(ABI::V5))
}

/// Rights on what is there; a file takes those of the rights that files have.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> std::result::Result<RulesetCreated, landlock::RulesetError> {
    let Ok(fd) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(ABI::V5) };
    rules.add_rule(PathBeneath::new(fd, access))
}
