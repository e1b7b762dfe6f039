//! The pinned zig: a clang that compiles for a chosen glibc, with a C++ library of its own.

use std::collections::BTreeMap;

use super::{CxxRuntime, HostCommands, HostSource};
use crate::arch::GlibcVersion;
use crate::bundle::ToolVersion;
use crate::error::Result;
use crate::fs;
use crate::lastrun::VersionCache;
use crate::toolchain::Store;
use crate::ui::Ui;

pub(super) struct Zig {
    glibc: GlibcVersion,
    pinned: ToolVersion,
}

impl Zig {
    pub(super) fn find(glibc: GlibcVersion, store: &Store) -> Result<Self> {
        Ok(Self { glibc, pinned: store.pins().get("zig")?.tool_version() })
    }
}

impl HostSource for Zig {
    fn versions(&self, _: &VersionCache) -> BTreeMap<String, ToolVersion> {
        let version = format!("{} for glibc {}", self.pinned.version, self.glibc);
        BTreeMap::from([("c++".to_owned(), ToolVersion { version, sha256: self.pinned.sha256 })])
    }

    fn commands(&self, store: &Store, _: &VersionCache, offline: bool, ui: &Ui) -> Result<HostCommands> {
        let zig = store.zig(self.glibc, ui, offline)?;
        let cache = fs::cache_dir()?.join("zig");
        fs_err::create_dir_all(&cache)?;
        let program = fs::utf8(&zig.cxx)?;
        let words = |first: &str, rest: &[String]| {
            [program, first].into_iter().map(str::to_owned).chain(rest.iter().cloned()).collect::<Vec<_>>()
        };
        let target = zig.args.get(1..).unwrap_or_default();
        let companions = [("ar", "ar"), ("ranlib", "ranlib"), ("ld", "ld.lld")];
        let mut companions: BTreeMap<_, _> =
            companions.into_iter().map(|(name, word)| (name.to_owned(), words(word, &[]))).collect();
        // Zig has none, and the machine's must not stand in for it unseen.
        let refusal = ["/bin/sh", "-c", "echo 'zig has no strip: link with -s' >&2; exit 1", "strip"];
        companions.insert("strip".to_owned(), refusal.map(str::to_owned).to_vec());
        let cache = fs_err::canonicalize(cache)?;
        Ok(HostCommands {
            cc: words("cc", target),
            cxx: words("c++", target),
            companions,
            runtime: Some(CxxRuntime { compiler: zig, glibc: self.glibc, cache: cache.clone() }),
            cache: Some(cache),
        })
    }
}
