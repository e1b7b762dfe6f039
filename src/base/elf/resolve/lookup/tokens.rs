//! `$ORIGIN`, `$LIB` and `$PLATFORM` as glibc replaces them (`_dl_dst_substitute`), `$ORIGIN` as musl does.

/// What stands for the tokens.
#[derive(Debug, Clone, Copy)]
pub(in crate::elf::resolve) struct Tokens<'a> {
    /// Directory of the object that carries the text.
    pub(in crate::elf::resolve) origin: &'a str,
    /// `$LIB`.
    pub(in crate::elf::resolve) lib: &'a str,
    /// `$PLATFORM`.
    pub(in crate::elf::resolve) platform: &'a str,
    /// In a process with raised rights `$ORIGIN` must stand first and alone.
    pub(in crate::elf::resolve) secure: bool,
    /// And for the program itself lead into one of these directories, each with a slash at its end.
    pub(in crate::elf::resolve) trusted: Option<&'a [String]>,
}

impl Tokens<'_> {
    /// The text with its tokens replaced; `None` when the loader drops it.
    pub(in crate::elf::resolve) fn expand(self, text: &str) -> Option<String> {
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        let mut check = false;
        while let Some(at) = rest.find('$') {
            result.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            if let Some(length) = token(after, "ORIGIN") {
                let first = result.is_empty() && rest.len() == text.len();
                let alone = after[length..].is_empty() || after[length..].starts_with('/');
                if self.secure && !(first && alone) {
                    return None;
                }
                check |= self.secure;
                result.push_str(self.origin);
                rest = &after[length..];
            } else if let Some(length) = token(after, "PLATFORM") {
                result.push_str(self.platform);
                rest = &after[length..];
            } else if let Some(length) = token(after, "LIB") {
                result.push_str(self.lib);
                rest = &after[length..];
            } else {
                result.push('$');
                rest = after;
            }
        }
        result.push_str(rest);
        if let Some(trusted) = self.trusted.filter(|_| check) {
            let path = format!("{}/", normal(&result));
            if !trusted.iter().any(|directory| path.starts_with(directory)) {
                return None;
            }
        }
        Some(result)
    }
}

/// musl knows `$ORIGIN` only; another token makes it ignore the whole search path (`fixup_rpath`).
pub(super) fn musl_expand(text: &str, origin: &str) -> Option<String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        result.push_str(&rest[..at]);
        let after = &rest[at..];
        let known = ["$ORIGIN", "${ORIGIN}"].into_iter().find(|token| after.starts_with(token))?;
        result.push_str(origin);
        rest = &after[known.len()..];
    }
    result.push_str(rest);
    Some(result)
}

/// Length of the token `name` at the start of the text behind the dollar sign (`is_dst`).
fn token(text: &str, name: &str) -> Option<usize> {
    let (body, braces) = match text.strip_prefix('{') {
        Some(body) => (body, 2),
        None => (text, 0),
    };
    let rest = body.strip_prefix(name)?;
    let next = rest.bytes().next();
    let ends = match braces {
        2 => next == Some(b'}'),
        _ => next.is_none_or(|byte| !byte.is_ascii_alphanumeric() && byte != b'_'),
    };
    ends.then_some(name.len() + braces)
}

/// An absolute path without `.`, `..` and doubled slashes, by text alone.
pub fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Tokens<'_> = Tokens {
        origin: "/opt/app/lib",
        lib: "lib/x86_64-linux-gnu",
        platform: "haswell",
        secure: false,
        trusted: None,
    };

    #[test]
    fn tokens_are_whole_words_or_in_braces() {
        let expand = |text| PLAIN.expand(text).unwrap();
        assert_eq!(expand("$ORIGIN/../$LIB"), "/opt/app/lib/../lib/x86_64-linux-gnu");
        assert_eq!(expand("/x/${PLATFORM}/${LIB}"), "/x/haswell/lib/x86_64-linux-gnu");
        assert_eq!(expand("$ORIGINAL/$LIBS/${ORIGIN"), "$ORIGINAL/$LIBS/${ORIGIN");
        assert_eq!(expand("/a$ORIGIN:$"), "/a/opt/app/lib:$");
    }

    #[test]
    fn raised_rights_drop_an_origin_that_leads_elsewhere() {
        let trusted = ["/lib/".to_owned(), "/usr/lib/".to_owned()];
        let secure = Tokens { secure: true, trusted: Some(&trusted), ..PLAIN };
        assert_eq!(secure.expand("$ORIGIN/x"), None);
        assert_eq!(secure.expand("$LIB").as_deref(), Some("lib/x86_64-linux-gnu"));
        let below = Tokens { origin: "/usr/bin", ..secure };
        assert_eq!(below.expand("$ORIGIN/../lib/x").as_deref(), Some("/usr/bin/../lib/x"));
        assert_eq!(below.expand("/x$ORIGIN"), None);
        assert_eq!(below.expand("$ORIGINx").as_deref(), Some("$ORIGINx"));
    }

    #[test]
    fn musl_ignores_a_path_with_another_token() {
        assert_eq!(musl_expand("${ORIGIN}/../lib:/x", "/o").as_deref(), Some("/o/../lib:/x"));
        assert_eq!(musl_expand("$ORIGIN:$LIB", "/o"), None);
    }
}
