//! What the places where the user's pip looks have of a project: find-links directories and pages,
//! and the indexes.

use std::path::{Path, PathBuf};

use url::Url;

use super::super::pins::Wheel;
use super::client::FetchError;
use super::fetch::{Fetcher, Progress, file_path};
use crate::error::{Error, Result};
use crate::fs;
use crate::index_page::{self, Link, shown};

/// Whether a file of this name is wanted.
pub(in crate::toolchain) type Wanted<'a> = &'a dyn Fn(&str) -> bool;

impl Fetcher<'_> {
    /// Links to the wheel in a find-links place: a directory, or a page.
    pub(in crate::toolchain) fn find_links(&self, place: &str, wheel: &Wheel, progress: Progress) -> Result<Vec<Link>> {
        let found = self.linked_files(place, &|name| name == wheel.file, progress)?;
        Ok(found.into_iter().map(|(_, link)| link).collect())
    }

    /// Links to the wheel in an index.
    pub(in crate::toolchain) fn index(&self, place: &str, wheel: &Wheel, progress: Progress) -> Result<Vec<Link>> {
        let url = project_url(place, &wheel.project)?;
        let found = self.project_files(&url, &wheel.project, &|name| name == wheel.file, progress)?;
        if found.is_empty() && !(self.offline && url.scheme() != "file") {
            return Err(Error::toolchain(format!("the index does not list {}: {}", wheel.file, shown(&url)))
                .hint("a mirror may lag or filter: name another one in SIMPACK_INDEX_URL")
                .hint("or put the file into a directory and name that in PIP_FIND_LINKS"));
        }
        Ok(found.into_iter().map(|(_, link)| link).collect())
    }

    /// Files in a find-links place that `wanted` likes, each with its name.
    pub(in crate::toolchain) fn linked_files(
        &self,
        place: &str,
        wanted: Wanted,
        progress: Progress,
    ) -> Result<Vec<(String, Link)>> {
        let url = Url::parse(place).ok().filter(|url| matches!(url.scheme(), "http" | "https" | "file"));
        let path = match &url {
            None => PathBuf::from(place),
            Some(url) if url.scheme() == "file" => file_path(url)?,
            Some(_) if self.offline => return Ok(Vec::new()),
            Some(url) => {
                let (text, kind, from) = self.page(url, |error| error, progress)?;
                return index_page::links(&text, &kind, &from, wanted);
            }
        };
        if path.is_dir() {
            return directory_links(&path, wanted);
        }
        match fs::read_to_string(&path) {
            Ok(text) => Ok(index_page::html_links(&text, &file_url(&path)?, wanted)),
            // pip, too, passes over find-links that do not exist.
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Files on a project's page that `wanted` likes, each with its name; none when the page would need
    /// the network and this run is offline.
    pub(in crate::toolchain) fn project_files(
        &self,
        url: &Url,
        project: &str,
        wanted: Wanted,
        progress: Progress,
    ) -> Result<Vec<(String, Link)>> {
        if url.scheme() == "file" {
            let path = file_path(url)?;
            return match fs::read_to_string(&path.join("index.html")) {
                Ok(text) => Ok(index_page::html_links(&text, url, wanted)),
                Err(_) => directory_links(&path, wanted),
            };
        }
        if self.offline {
            return Ok(Vec::new());
        }
        let (text, kind, from) = self.page(url, |error| no_project(project, url, error), progress)?;
        index_page::links(&text, &kind, &from, wanted)
    }

    /// A page, asked for until it comes; `absent` words that there is none.
    fn page(&self, url: &Url, absent: impl Fn(Error) -> Error, progress: Progress) -> Result<(String, String, Url)> {
        let mut tries = 0;
        loop {
            match self.client()?.page(url, index_page::ACCEPT) {
                Ok(page) => return Ok(page),
                Err(FetchError::Again(error, pause)) => {
                    if !self.again(&error, &mut tries, pause, progress) {
                        return Err(error);
                    }
                }
                Err(FetchError::Final(error)) => return Err(error),
                Err(FetchError::Absent(error)) => return Err(absent(error)),
                Err(FetchError::Beyond) => return Err(Error::toolchain("a page was refused as out of range")),
            }
        }
    }
}

/// The page of a project (its normalised name) in an index.
pub(in crate::toolchain) fn project_url(index: &str, project: &str) -> Result<Url> {
    let address = format!("{}/{project}/", index.trim_end_matches('/'));
    Url::parse(&address).map_err(|error| {
        Error::toolchain(format!("the package index `{index}` is not an address"))
            .because(error)
            .hint("correct pip's option `index-url` or SIMPACK_INDEX_URL; a directory is written file:///...")
    })
}

fn no_project(project: &str, url: &Url, error: Error) -> Error {
    Error::toolchain(format!("the index has no project {project}: {}", shown(url)))
        .because(error)
        .hint("check the address (it usually ends in /simple): `pip config list`, SIMPACK_INDEX_URL")
}

fn file_url(path: &Path) -> Result<Url> {
    let path = std::path::absolute(path)?;
    let url = Url::from_file_path(&path);
    url.map_err(|()| Error::file(path, "not a path that an address can name"))
}

fn directory_links(path: &Path, wanted: Wanted) -> Result<Vec<(String, Link)>> {
    let entries = fs_err::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let files = names.into_iter().map(|name| (path.join(&name), name));
    let files = files.filter(|(file, name)| wanted(name) && file.is_file());
    files.map(|(file, name)| Ok((name, Link { url: file_url(&file)?, sha256: None }))).collect()
}
