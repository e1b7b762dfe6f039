//! `[source]` and `[sources.NAME]`: where the source is, and what the recipe changes of it.

use super::reader::{Fields, Reader, Value};
use super::values;
use super::words::{is_part_name, placeholders};
use crate::arch::Version;
use crate::recipe::diagnostic::Spanned;
use crate::recipe::model::{Source, SourcePart};

/// Everything that the tables say together.
#[derive(Default)]
pub(super) struct Sources {
    /// The source.
    pub source: Option<Spanned<Source>>,
    /// Files and directories beside the recipe that it is changed by.
    pub changes: Vec<Spanned<String>>,
}

/// One table.
struct SourceTable {
    span: std::ops::Range<usize>,
    source: Option<Spanned<Source>>,
    overlay: Option<Spanned<String>>,
    patches: Vec<Spanned<String>>,
}

impl SourceTable {
    fn part(&self, into: &str) -> SourcePart {
        SourcePart {
            into: into.to_owned(),
            source: self.source.as_ref().map(|source| source.value.clone()),
            overlay: self.overlay.as_ref().map(|overlay| overlay.value.clone()),
            patches: self.patches.iter().map(|patch| patch.value.clone()).collect(),
        }
    }

    fn is_path(&self) -> bool {
        matches!(self.source, Some(Spanned { value: Source::Path(_), .. }))
    }
}

/// Reads both tables; a source alone is itself, anything else a tree that is put together.
pub(super) fn sources(
    reader: &mut Reader,
    main: Option<&Value<'_>>,
    others: Option<&Value<'_>>,
    version: Option<Version>,
) -> Sources {
    let mut named = Vec::new();
    let others = others.and_then(|value| reader.fields(value, "[sources]"));
    let mut entries = others.as_ref().map(Fields::entries).unwrap_or_default();
    entries.sort_by_key(|(name, _)| name.span.start);
    for (name, value) in entries {
        if !is_part_name(&name.value) {
            let message = format!("`{}` cannot be the directory of a source", name.value);
            let mistake = reader.mistake(name.span.clone(), message);
            reader.push(mistake.note("lower-case letters, digits and `_`, beginning with a letter or digit"));
        }
        let what = format!("[sources.{}]", name.value);
        let Some(table) = source(reader, value, &what, false, version) else { continue };
        if let Some(path) = table.source.as_ref().filter(|_| table.is_path()) {
            let mistake = reader.mistake(path.span.clone(), "a source beside others cannot be a directory");
            reader.push(mistake.hint("name the directory as `overlay` of [source]"));
        }
        named.push((name, table));
    }
    let main = main.and_then(|value| source(reader, value, "[source]", !named.is_empty(), version));
    if let Some(table) = main.as_ref().filter(|table| table.is_path()) {
        let at = |place: &Spanned<String>| (place.span.clone(), "change the directory itself");
        let changed = table.overlay.as_ref().or(table.patches.first()).map(at);
        let beside = named.first().map(|(name, _)| (name.span.clone(), "name the directory as `overlay` of [source]"));
        for (span, hint) in changed.into_iter().chain(beside) {
            let mistake =
                reader.mistake(span, "a source that is a directory cannot be combined with others or changes");
            reader.push(mistake.hint(hint));
        }
    }
    let tables = || main.iter().chain(named.iter().map(|(_, table)| table));
    let changes = tables().flat_map(|table| table.overlay.iter().chain(&table.patches)).cloned().collect();
    let span = tables().next().map(|table| table.span.clone());
    let plain = main.as_ref().filter(|main| named.is_empty() && main.overlay.is_none() && main.patches.is_empty());
    let source = match (plain, span) {
        (Some(plain), _) => plain.source.clone(),
        (None, Some(span)) if main.is_some() || !named.is_empty() => {
            let parts = main.iter().map(|table| table.part("."));
            let parts = parts.chain(named.iter().map(|(name, table)| table.part(&name.value)));
            Some(Spanned { value: Source::Composed(parts.collect()), span })
        }
        (None, _) => None,
    };
    Sources { source, changes }
}

/// One table; `beside_others` may hold the recipe's own files alone.
fn source(
    reader: &mut Reader,
    value: &Value<'_>,
    what: &str,
    beside_others: bool,
    version_of: Option<Version>,
) -> Option<SourceTable> {
    let mut fields = reader.fields(value, what)?;
    let overlay = fields.get("overlay").and_then(|value| values::relative(reader, value));
    let patches = fields.get("patches").and_then(|value| {
        let list = reader.list(value, "patches", values::relative)?;
        Some(reader.unique("patches", list))
    });
    let patches = patches.unwrap_or_default();
    let mut text = |key: &'static str| fields.get(key).map(|value| (value, reader.text(value, key)));
    let [path, git, rev, url, pypi, version, sha256] =
        ["path", "git", "rev", "url", "pypi", "version", "sha256"].map(&mut text);
    let kinds = [("path", &path), ("git", &git), ("url", &url), ("pypi", &pypi)];
    let given: Vec<_> = kinds.iter().filter(|(_, found)| found.is_some()).map(|(name, _)| *name).collect();
    let hex = |found: &Option<(&Value<'_>, Option<Spanned<String>>)>, key: &str, digits: usize, reader: &mut Reader| {
        let at = found.as_ref()?.1.as_ref()?;
        let fits = at.value.len() == digits && at.value.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !fits {
            let mistake = reader.mistake(at.span.clone(), format!("{key} must be {digits} hex digits"));
            reader.push(match key {
                "rev" => mistake.hint("branches and tags move: `git ls-remote URL NAME` says which commit one is now"),
                _ => mistake.hint("`sha256sum FILE` prints it"),
            });
        }
        fits.then(|| at.value.to_lowercase())
    };
    let needed: &[&'static str] = match given.as_slice() {
        ["path"] => &["path"],
        ["git"] => &["git", "rev"],
        ["url"] => &["url", "sha256"],
        ["pypi"] => &["pypi", "version", "sha256"],
        [] if beside_others && overlay.is_some() && patches.is_empty() => {
            let span = fields.span.clone();
            fields.finish(reader);
            return Some(SourceTable { span, source: None, overlay, patches });
        }
        _ => {
            let message = match given.len() {
                0 => format!("{what} does not say where the source is"),
                _ => format!("{what} has both `{}` and `{}`", given[0], given[1]),
            };
            let mistake = reader.mistake(fields.span.clone(), message);
            reader.push(mistake.note("one of: path | git, rev | url, sha256 | pypi, version, sha256"));
            fields.finish(reader);
            return None;
        }
    };
    let all = [
        ("path", &path),
        ("git", &git),
        ("rev", &rev),
        ("url", &url),
        ("pypi", &pypi),
        ("version", &version),
        ("sha256", &sha256),
    ];
    for (key, found) in all {
        match found {
            None if needed.contains(&key) => {
                reader.wrong(fields.span.clone(), format!("{what} with `{}` lacks `{key}`", needed[0]));
            }
            Some((value, _)) if !needed.contains(&key) => {
                reader.wrong(value.span(), format!("`{key}` cannot be combined with `{}` in {what}", needed[0]));
            }
            _ => {}
        }
    }
    let plain = |found: &Option<(&Value<'_>, Option<Spanned<String>>)>| Some(found.as_ref()?.1.as_ref()?.value.clone());
    let found = match needed[0] {
        "path" => plain(&path).map(Source::Path),
        "git" => hex(&rev, "rev", 40, reader).zip(plain(&git)).map(|(rev, url)| Source::Git { url, rev }),
        "url" => hex(&sha256, "sha256", 64, reader).zip(plain(&url)).map(|(sha256, url)| Source::Url { url, sha256 }),
        _ => hex(&sha256, "sha256", 64, reader)
            .zip(plain(&pypi).zip(plain(&version)))
            .map(|(sha256, (name, version))| Source::Pypi { name, version, sha256 }),
    };
    if let (Some(Source::Path(text)), Some((value, _))) = (&found, &path)
        && text.starts_with('/')
    {
        reader.wrong(value.span(), "path is absolute; it is relative to the recipe's directory");
    }
    let table = fields.span.clone();
    let span = path.or(git).or(url).or(pypi).map_or(table.clone(), |(value, _)| value.span());
    fields.finish(reader);
    let source = with_version(reader, Spanned { value: found?, span }, version_of);
    Some(SourceTable { span: table, source: Some(source), overlay, patches })
}

/// An address in which `{version}` is the simulator's.
fn with_version(reader: &mut Reader, mut source: Spanned<Source>, version: Option<Version>) -> Spanned<Source> {
    if let Source::Url { url, .. } = &mut source.value {
        for word in placeholders(url).into_iter().filter(|word| *word != "version") {
            let mistake = reader.mistake(source.span.clone(), format!("unknown placeholder `{{{word}}}`"));
            reader.push(mistake.note("known in an address: {version}"));
        }
        if let Some(version) = version {
            *url = url.replace("{version}", &version.to_string());
        }
    }
    source
}
