//! A page of a package index, as HTML and as JSON: reading ends, and login data go nowhere else.

use simpack::index_page::{html_links, links, same_place, shown};
use url::Url;

pub fn run(bytes: &[u8]) {
    let Ok(page) = std::str::from_utf8(bytes) else { return };
    let base: Url = "https://user:secret@index.example/simple/a/".parse().expect("an address");
    let every = |_: &str| true;
    let json = links(page, "application/vnd.pypi.simple.v1+json", &base, &every).unwrap_or_default();
    for (_, link) in html_links(page, &base, &every).into_iter().chain(json) {
        let shown: Url = shown(&link.url).parse().expect("an address");
        assert!(shown.username().is_empty() && shown.password().is_none());
        assert!(link.url.password() != Some("secret") || same_place(&link.url, &base) || page.contains("secret"));
    }
}
