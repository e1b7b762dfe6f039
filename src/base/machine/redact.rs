//! Takes names of users, of the host and of single GPUs out of what is recorded.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Parts of paths that are never taken for a host's name.
const ORDINARY: [&str; 16] = [
    "bin", "compat", "conda", "cuda", "driver", "etc", "gpu", "home", "lib", "lib64", "local", "nvidia", "opt",
    "share", "stubs", "usr",
];

/// What stands for what: the longest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redaction {
    /// Directory of the user, which becomes `~`.
    pub home: Option<String>,
    /// Name of the user, which becomes `user` where it is a whole part of a path.
    pub user: Option<String>,
    /// Name of the host, with or without its domain, which becomes `host` where it is a whole part of a path.
    pub host: Option<String>,
}

impl Redaction {
    /// The value with nothing in it that names a user, the host or a single GPU.
    ///
    /// Homes of other users below `/home` lose their names, too; identifiers of GPUs (`GPU-8932f937-...`), which
    /// variables hold, lose their digits.
    ///
    /// # Errors
    /// The value does not survive being written and read.
    pub fn apply<T: Serialize + DeserializeOwned>(&self, value: &T) -> serde_json::Result<T> {
        let mut value = serde_json::to_value(value)?;
        self.value(&mut value);
        serde_json::from_value(value)
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.value(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.value(value)),
            _ => {}
        }
    }

    /// A text without names.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if let Some(home) = self.home.as_deref().map(|home| home.trim_end_matches('/')).filter(|home| home.len() > 1) {
            text = replace_whole(&text, home, "~");
        }
        if let Some(user) = self.user.as_deref().filter(|user| !user.is_empty() && *user != "root") {
            text = replace_whole(&text, &format!("/{user}"), "/user");
        }
        for parent in ["/home/", "/Users/"] {
            text = without_names(&text, parent);
        }
        if let Some(host) = self.host.as_deref().filter(|host| host.len() > 1) {
            let short = host.split('.').next().unwrap_or(host);
            for name in [host, short].into_iter().filter(|name| !ORDINARY.contains(name)) {
                text = replace_whole(&text, &format!("/{name}"), "/host");
            }
        }
        without_identifiers(&text)
    }
}

/// Replaces a path where it ends at the end of a part.
fn replace_whole(text: &str, from: &str, to: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, found) = rest.split_at(at);
        let after = &found[from.len()..];
        let whole = after.chars().next().is_none_or(|next| !next.is_alphanumeric() && !"-_.".contains(next));
        out.push_str(before);
        out.push_str(if whole { to } else { from });
        rest = after;
    }
    out + rest
}

fn without_names(text: &str, parent: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(parent) {
        let (before, found) = rest.split_at(at + parent.len());
        out.push_str(before);
        let end = found.find(|c: char| "/: ".contains(c)).unwrap_or(found.len());
        out.push_str(if end > 0 { "user" } else { "" });
        rest = &found[end..];
    }
    out + rest
}

/// `GPU-8932f937-d72c-4106-c12f-20bd9faed9f6` and the like become `GPU-uuid`; a beginning of one is enough for CUDA.
fn without_identifiers(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = [rest.find("GPU-"), rest.find("MIG-")].into_iter().flatten().min() {
        let (before, found) = rest.split_at(at + 4);
        out.push_str(before);
        let end = found.find(|c: char| !(c.is_ascii_hexdigit() || c == '-')).unwrap_or(found.len());
        out.push_str(if end >= 4 { "uuid" } else { &found[..end] });
        rest = &found[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_and_names_go() {
        let redaction =
            Redaction { home: Some("/data/ada/".into()), user: Some("ada".into()), host: Some("node7.cluster".into()) };
        for (text, wanted) in [
            ("/data/ada/lib:/usr/lib", "~/lib:/usr/lib"),
            ("/data/adaptive/lib", "/data/adaptive/lib"),
            ("/scratch/ada/env and /home/bob/x:/home/eve", "/scratch/user/env and /home/user/x:/home/user"),
            ("/opt/ada-tools", "/opt/ada-tools"),
            ("/data/ada", "~"),
            ("/local/node7/x:/local/node77:/local/node7.cluster", "/local/host/x:/local/node77:/local/host"),
            ("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,GPU-8932", "GPU-uuid,GPU-uuid"),
            ("MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0", "MIG-GPU-uuid/1/0"),
            ("GPU-0 and NVIDIA GPU-Z", "GPU-0 and NVIDIA GPU-Z"),
        ] {
            assert_eq!(redaction.text(text), wanted);
        }
    }
}
