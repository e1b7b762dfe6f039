//! Packages of Python: what wheels and source archives say of themselves ("Core metadata specifications").

use super::Metadata;

/// Whether a member of a package is the file in which it does.
pub(super) fn is_metadata(path: &str) -> bool {
    path.ends_with(".dist-info/METADATA") || (path.ends_with("/PKG-INFO") && path.matches('/').count() == 1)
}

/// Headers as in mail, up to the empty line; none without a name or a version.
pub(super) fn metadata(text: &str) -> Option<Metadata> {
    let (mut name, mut version, mut depends) = (None, None, Vec::new());
    for line in text.lines().take_while(|line| !line.is_empty()) {
        match line.split_once(": ") {
            Some(("Name", value)) => name = Some(value.to_owned()),
            Some(("Version", value)) => version = Some(value.to_owned()),
            Some(("Requires-Dist", value)) => depends.push(value.to_owned()),
            _ => {}
        }
    }
    Some(Metadata { name: name?, version: version?, depends })
}
