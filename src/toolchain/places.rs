//! Where a pinned file can be had: find-links directories and pages, and the indexes.

use std::path::{Path, PathBuf};

use url::Url;

use super::client::Trouble;
use super::fetch::{Fetcher, Progress, file_path};
use super::index::{self, Link, shown};
use super::pins::Wheel;
use crate::error::{Error, Result};

impl Fetcher<'_> {
    /// Links to the file in a find-links place: a directory, or a page.
    pub(super) fn find_links(&self, place: &str, wheel: &Wheel, progress: Progress) -> Result<Vec<Link>> {
        let url = Url::parse(place).ok().filter(|url| matches!(url.scheme(), "http" | "https" | "file"));
        let path = match &url {
            None => PathBuf::from(place),
            Some(url) if url.scheme() == "file" => file_path(url)?,
            Some(_) if self.offline => return Ok(Vec::new()),
            Some(url) => {
                let (text, kind, from) = self.page(url, |error| error, progress)?;
                return index::links(&text, &kind, &from, &wheel.file);
            }
        };
        if path.is_dir() {
            return directory_links(&path, wheel);
        }
        match fs_err::read_to_string(&path) {
            Ok(text) => Ok(index::html_links(&text, &file_url(&path)?, &wheel.file)),
            // pip, too, passes over find-links that do not exist.
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Links to the file in an index.
    pub(super) fn index(&self, place: &str, wheel: &Wheel, progress: Progress) -> Result<Vec<Link>> {
        let address = format!("{}/{}/", place.trim_end_matches('/'), wheel.project);
        let url = Url::parse(&address).map_err(|error| {
            Error::toolchain(format!("the package index `{place}` is not an address"))
                .because(error)
                .hint("mend pip's option `index-url` or SIMPACK_INDEX_URL; a directory is written file:///...")
        })?;
        let found = if url.scheme() == "file" {
            let path = file_path(&url)?;
            match fs_err::read_to_string(path.join("index.html")) {
                Ok(text) => index::html_links(&text, &url, &wheel.file),
                Err(_) => directory_links(&path, wheel)?,
            }
        } else if self.offline {
            return Ok(Vec::new());
        } else {
            let (text, kind, from) = self.page(&url, |error| no_project(wheel, &url, error), progress)?;
            index::links(&text, &kind, &from, &wheel.file)?
        };
        if found.is_empty() {
            return Err(Error::toolchain(format!("the index does not list {}: {}", wheel.file, shown(&url)))
                .hint("a mirror may lag or filter: name another one in SIMPACK_INDEX_URL")
                .hint("or put the file into a directory and name that in PIP_FIND_LINKS"));
        }
        Ok(found)
    }

    /// A page, asked for until it comes; `absent` words that there is none.
    fn page(&self, url: &Url, absent: impl Fn(Error) -> Error, progress: Progress) -> Result<(String, String, Url)> {
        let mut tries = 0;
        loop {
            match self.client()?.page(url, index::ACCEPT) {
                Ok(page) => return Ok(page),
                Err(Trouble::Again(error, pause)) => {
                    if !self.again(&error, &mut tries, pause, progress) {
                        return Err(error);
                    }
                }
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Absent(error)) => return Err(absent(error)),
                Err(Trouble::Beyond) => return Err(Error::toolchain("a page was refused as out of range")),
            }
        }
    }
}

fn no_project(wheel: &Wheel, url: &Url, error: Error) -> Error {
    Error::toolchain(format!("the index has no project {}: {}", wheel.project, shown(url)))
        .because(error)
        .hint("check the address (it usually ends in /simple): `pip config list`, SIMPACK_INDEX_URL")
}

fn file_url(path: &Path) -> Result<Url> {
    let path = std::path::absolute(path)?;
    let url = Url::from_file_path(&path);
    url.map_err(|()| Error::file(path, "not a path that an address can name"))
}

fn directory_links(path: &Path, wheel: &Wheel) -> Result<Vec<Link>> {
    let file = path.join(&wheel.file);
    match file.is_file() {
        true => Ok(vec![Link { url: file_url(&file)?, sha256: None }]),
        false => Ok(Vec::new()),
    }
}
