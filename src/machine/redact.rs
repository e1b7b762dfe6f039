//! Takes names of users out of a recorded machine.

use serde_json::Value;

use super::Machine;

/// What stands for what: the longest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redaction {
    /// Directory of the user, which becomes `~`.
    pub home: Option<String>,
    /// Name of the user, which becomes `user` where it is a whole part of a path.
    pub user: Option<String>,
}

impl Redaction {
    /// The machine with nothing in it that names a user.
    ///
    /// Homes of other users below `/home` lose their names, too.
    #[must_use]
    pub fn apply(&self, machine: &Machine) -> Machine {
        let Ok(mut value) = serde_json::to_value(machine) else { return machine.clone() };
        self.value(&mut value);
        serde_json::from_value(value).unwrap_or_default()
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
        text
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_and_names_go() {
        let redaction = Redaction { home: Some("/data/ada/".into()), user: Some("ada".into()) };
        for (text, wanted) in [
            ("/data/ada/lib:/usr/lib", "~/lib:/usr/lib"),
            ("/data/adaptive/lib", "/data/adaptive/lib"),
            ("/scratch/ada/env and /home/bob/x:/home/eve", "/scratch/user/env and /home/user/x:/home/user"),
            ("/opt/ada-tools", "/opt/ada-tools"),
            ("/data/ada", "~"),
        ] {
            assert_eq!(redaction.text(text), wanted);
        }
    }
}
