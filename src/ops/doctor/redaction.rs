//! What a record leaves out: who this user is.

use crate::machine::Redaction;

/// What of this user and this machine may not stand in a record.
pub(super) fn redaction() -> Redaction {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (user, home) = account().unzip();
    let host = fs_err::read_to_string("/proc/sys/kernel/hostname").ok();
    Redaction {
        home: variable("HOME").or(home),
        user: variable("USER").or_else(|| variable("LOGNAME")).or(user),
        host: host.map(|name| name.trim().to_owned()),
    }
}

/// Name and home of the user, where no variable tells: batch systems and containers set none.
fn account() -> Option<(String, String)> {
    // SAFETY: a number that is always there.
    let own = unsafe { libc::getuid() }.to_string();
    let text = fs_err::read_to_string("/etc/passwd").ok()?;
    let mut lines = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let line = lines.find(|fields| fields.get(2).is_some_and(|id| *id == own))?;
    Some((line.first()?.to_string(), line.get(5)?.to_string()))
}
