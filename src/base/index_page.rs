//! A project's page in a package index: which link leads to a file. JSON (PEP 691) and HTML (PEP 503).

use serde::Deserialize;
use url::Url;

use crate::error::{Error, Result};
use crate::fs::Digest;

/// What to ask an index for: JSON when it can, HTML otherwise.
pub const ACCEPT: &str =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

/// A link to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where the file is, without fragment.
    pub url: Url,
    /// The digest that the index states.
    pub sha256: Option<Digest>,
}

#[derive(Deserialize)]
struct Project {
    files: Vec<ProjectFile>,
}

#[derive(Deserialize)]
struct ProjectFile {
    filename: String,
    url: String,
    #[serde(default)]
    hashes: std::collections::BTreeMap<String, String>,
}

/// Links to the files on a project's page that came from `base` with the content type `kind`, each
/// with the file's name; only files that `wanted` likes.
///
/// # Errors
/// The page says that it is JSON and is not.
pub fn links(text: &str, kind: &str, base: &Url, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<(String, Link)>> {
    if kind.split(';').next().is_some_and(|kind| kind.trim().ends_with("json")) {
        return json_links(text, base, wanted);
    }
    Ok(html_links(text, base, wanted))
}

fn json_links(text: &str, base: &Url, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<(String, Link)>> {
    let project: Project = serde_json::from_str(text).map_err(|error| {
        Error::toolchain(format!("the index answered with JSON that is not a project page: {}", shown(base)))
            .because(error)
    })?;
    let found = project.files.into_iter().filter(|entry| wanted(&entry.filename)).filter_map(|entry| {
        let mut link = link(base, base, &entry.url)?;
        link.sha256 = entry.hashes.get("sha256").and_then(|digest| digest.parse().ok()).or(link.sha256);
        Some((entry.filename, link))
    });
    Ok(found.collect())
}

/// The same among the anchors of an HTML page.
pub fn html_links(text: &str, page: &Url, wanted: &dyn Fn(&str) -> bool) -> Vec<(String, Link)> {
    let mut base = page.clone();
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let name = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let (is_anchor, is_base) = (name.eq_ignore_ascii_case("a"), name.eq_ignore_ascii_case("base"));
        if !is_anchor && !is_base {
            continue;
        }
        let (href, after) = href(&rest[name.len()..]);
        rest = after;
        let Some(href) = href else { continue };
        if is_base {
            base = page.join(&href).unwrap_or(base);
        } else if let Some(link) = link(&base, page, &href)
            && let Some(name) = file_name(&link.url).filter(|name| wanted(name))
        {
            found.push((name, link));
        }
    }
    found
}

/// The `href` among the attributes that `text` begins with, and what follows their tag.
fn href(text: &str) -> (Option<String>, &str) {
    let mut rest = text;
    let mut found = None;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let end = rest.find(|c: char| c.is_ascii_whitespace() || "=>/".contains(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        rest = after.trim_start();
        if let Some(value) = rest.strip_prefix('=') {
            let value = value.trim_start();
            let quote = value.chars().next().filter(|c| *c == '"' || *c == '\'');
            let (text, after) = match quote {
                Some(quote) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
                None => {
                    value.split_at(value.find(|c: char| c.is_ascii_whitespace() || c == '>').unwrap_or(value.len()))
                }
            };
            if name.eq_ignore_ascii_case("href") {
                found = Some(unescape(text));
            }
            rest = after;
        } else if rest.is_empty() || rest.starts_with('>') {
            return (found, rest);
        } else if name.is_empty() {
            // A stray character: step over it, or the loop would stand still.
            rest = rest.strip_prefix(|_: char| true).unwrap_or("");
        }
    }
}

/// Character references that occur in URLs.
fn unescape(text: &str) -> String {
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&#43;", "+")];
    let text = named.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    text.replace("&#x2B;", "+").replace("&#38;", "&").replace("&amp;", "&")
}

fn link(base: &Url, page: &Url, href: &str) -> Option<Link> {
    let mut url = base.join(href.trim()).ok()?;
    let sha256 = url.fragment().and_then(|fragment| fragment.strip_prefix("sha256=")).and_then(|hex| hex.parse().ok());
    url.set_fragment(None);
    // An index with login data in its address wants them for its files too, but nobody else may see them.
    if same_place(&url, page) && url.username().is_empty() && !page.username().is_empty() {
        let _ = url.set_username(page.username());
        let _ = url.set_password(page.password());
    }
    Some(Link { url, sha256 })
}

/// Whether two addresses have scheme, host and port in common: what one may see, the other may, too.
pub fn same_place(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host() == other.host()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// Last part of the path, with `%2B` and the like decoded.
pub fn file_name(url: &Url) -> Option<String> {
    let last = url.path_segments()?.next_back()?;
    let mut bytes = Vec::with_capacity(last.len());
    let mut rest = last.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'%').then(|| after.get(..2)).flatten();
        match code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// An address for messages: without login data.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    if !url.username().is_empty() || url.password().is_some() {
        let _ = url.set_username("");
        let _ = url.set_password(None);
    }
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "a_b-1.0+x-py3-none-any.whl";

    fn is_file(name: &str) -> bool {
        name == FILE
    }

    fn only(found: Vec<(String, Link)>) -> Vec<Link> {
        assert!(found.iter().all(|(name, _)| name == FILE));
        found.into_iter().map(|(_, link)| link).collect()
    }

    fn base() -> Url {
        "https://user:secret@index.example/simple/a-b/".parse().unwrap()
    }

    #[test]
    fn html() {
        let digest = Digest::of(b"x");
        let page = format!(
            "<!DOCTYPE html><html><!-- <a href=\"{FILE}\"> --><body><h1>Links</h1><abbr href=\"{FILE}\">\n\
             <a href=\"../../files/a_b-1.0%2Bx-py3-none-any.whl#sha256={digest}\" data-x='>'>{FILE}</a><br/>\n\
             <A class=x HREF='https://other.example/{FILE}?a=1&amp;b=2'>one</A>\n\
             <a href={FILE}>bare</a><a href=\"a_b-0.9-py3-none-any.whl\">old</a><a><a href"
        );
        let found = only(html_links(&page, &base(), &is_file));
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].sha256, Some(digest));
        assert_eq!(found[0].url.as_str(), "https://user:secret@index.example/files/a_b-1.0%2Bx-py3-none-any.whl");
        assert_eq!(found[1].url.as_str(), format!("https://other.example/{FILE}?a=1&b=2"));
        assert_eq!(shown(&found[2].url), format!("https://index.example/simple/a-b/{FILE}"));
    }

    #[test]
    fn html_base() {
        let page = format!("<base href=\"https://files.example/x/\"><a href=\"{FILE}\">x</a>");
        assert_eq!(
            only(html_links(&page, &base(), &is_file))[0].url.as_str(),
            format!("https://files.example/x/{FILE}")
        );
    }

    #[test]
    fn json() {
        let digest = Digest::of(b"x");
        let page = format!(
            "{{\"meta\": {{\"api-version\": \"1.4\"}}, \"name\": \"a-b\", \"files\": [\
             {{\"filename\": \"other.whl\", \"url\": \"o\", \"hashes\": {{}}}},\
             {{\"filename\": \"{FILE}\", \"url\": \"../../f/x\", \"hashes\": {{\"sha256\": \"{digest}\"}}, \"yanked\": \"why\"}}]}}"
        );
        let kind = "application/vnd.pypi.simple.v1+json; charset=utf-8";
        let found = only(links(&page, kind, &base(), &is_file).unwrap());
        assert_eq!(found.len(), 1);
        assert_eq!((shown(&found[0].url).as_str(), found[0].sha256), ("https://index.example/f/x", Some(digest)));
        assert!(links("<html>", kind, &base(), &is_file).is_err());
        assert!(links("<html>", "text/html", &base(), &is_file).unwrap().is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_page_ends(page in "(<|a|A|base|href|=|\"|'|>|/|!--|-->|&|%|%2|#|sha256=|[ \\n]|\\PC){0,60}") {
            let base = base();
            html_links(&page, &base, &is_file);
            links(&page, "application/json", &base, &is_file).ok();
        }
    }

    #[test]
    fn odd_pages_end() {
        for page in
            ["<", "<a", "<a ", "<a =", "<a ==>", "<a href", "<a href=", "<a href='", "<!--", "<a / / >", "<a\u{e9}"]
        {
            assert!(html_links(page, &base(), &is_file).is_empty(), "{page}");
        }
    }
}
