//! What findings are about.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::arch::CudaVersion;

/// Between a package's name and its CUDA release.
const RELEASE: &str = " (CUDA ";

/// Between a package's name and its host variant.
const VARIANT: &str = " (variant ";

/// Between an owner and one of its files, where a subject is a text.
const INSIDE: &str = ": ";

/// One of several packages that share a name: `volley-kernels-sm_90 (CUDA 11.8)`, `volley-core (variant mpi=openmpi)`.
pub fn one_of(package: &str, cuda: Option<CudaVersion>, variant: Option<&str>) -> String {
    let cuda = cuda.map(|cuda| format!("{RELEASE}{cuda})")).unwrap_or_default();
    let variant = variant.map(|variant| format!("{VARIANT}{variant})")).unwrap_or_default();
    format!("{package}{cuda}{variant}")
}

/// What a finding is about: a package, a file, a machine, or a file of one of them. It prints as `volley-core`, or as
/// `volley-core: lib/libvolley.so.1`, and sorts as it prints.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The package, by its label, or whatever else stands by itself.
    pub owner: String,
    /// The file in it; none where it is the subject.
    pub path: Option<String>,
}

impl Subject {
    /// A file of an owner.
    pub fn file(owner: impl Into<String>, path: impl Into<String>) -> Self {
        Self { owner: owner.into(), path: Some(path.into()) }
    }

    /// As a waiver's subject is written, and JSON has it.
    pub fn written(text: &str) -> Self {
        match text.split_once(INSIDE) {
            Some((owner, path)) => Self::file(owner, path),
            None => text.into(),
        }
    }

    /// The name of the package that it belongs to, whatever the CUDA release or the variant.
    pub fn package(&self) -> &str {
        [RELEASE, VARIANT]
            .into_iter()
            .fold(&self.owner, |owner, mark| owner.split_once(mark).map_or(owner, |(package, _)| package))
    }

    /// The same, whatever the CUDA release of its package.
    #[must_use]
    pub fn of_any_release(&self) -> Self {
        Self { owner: self.package().to_owned(), path: self.path.clone() }
    }

    /// The bytes that it prints.
    fn bytes(&self) -> impl Iterator<Item = u8> {
        let path = self.path.iter().flat_map(|path| INSIDE.bytes().chain(path.bytes()));
        self.owner.bytes().chain(path)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}{INSIDE}{path}", self.owner),
            None => f.write_str(&self.owner),
        }
    }
}

impl Ord for Subject {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes()).then_with(|| self.owner.cmp(&other.owner))
    }
}

impl PartialOrd for Subject {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<String> for Subject {
    fn from(owner: String) -> Self {
        Self { owner, path: None }
    }
}

impl From<&String> for Subject {
    fn from(owner: &String) -> Self {
        owner.clone().into()
    }
}

impl From<&str> for Subject {
    fn from(owner: &str) -> Self {
        owner.to_owned().into()
    }
}

impl From<&Self> for Subject {
    fn from(subject: &Self) -> Self {
        subject.clone()
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Subject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::written(&String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_print_and_sort_as_one_text() {
        let label = one_of("volley-core", Some("13.0".parse().unwrap()), Some("mpi=openmpi"));
        let file = Subject::file(label.as_str(), "lib/libvolley.so.1");
        assert_eq!(file.to_string(), "volley-core (CUDA 13.0) (variant mpi=openmpi): lib/libvolley.so.1");
        assert_eq!((file.package(), Subject::from(&label).package()), ("volley-core", "volley-core"));
        assert_eq!(file.of_any_release(), Subject::file("volley-core", "lib/libvolley.so.1"));
        assert_eq!(serde_json::from_str::<Subject>(&serde_json::to_string(&file).unwrap()).unwrap(), file);
        // What a path is called is no part of the owner, and an owner may be called like a file.
        let odd = Subject::file("a", "b: c");
        assert_eq!((Subject::written("a: b: c"), odd.package()), (odd.clone(), "a"));
        assert_ne!(Subject::from("a: b"), Subject::file("a", "b"));
        let mut all = [Subject::file("a", "z"), "a-b".into(), odd, "a".into(), Subject::file("a-b", "c")];
        all.sort();
        let texts: Vec<String> = all.iter().map(Subject::to_string).collect();
        assert!(texts.is_sorted(), "{texts:?}");
    }
}
