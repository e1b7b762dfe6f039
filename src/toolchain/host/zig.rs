//! The pinned zig: a clang that compiles for a chosen glibc, with a C++ library of its own.

use std::collections::BTreeMap;

use super::compiler::HostCompiler;
use super::runtime::CxxRuntime;
use super::source::{HostCommands, HostSource};
use crate::arch::GlibcVersion;
use crate::bundle::ToolVersion;
use crate::error::Result;
use crate::fs;
use crate::lastrun::VersionCache;
use crate::toolchain::Store;
use crate::ui::Ui;

/// Calls zig as other compilers behave. Its C++ library is compiled into every program, and debug information of it names
/// directories of its cache and is ten times the program: what links without `-g` links with `-s`. Without `-O` zig
/// would take another C++ library, which it has to compile first, and check for undefined behaviour.
const CALL: &str = r#"links=1 debug= level=
for word; do
    case $word in
    -c | -S | -E | -M | -MM | -r | -Wl,-r | -*version | -print-* | *-header | *.h | *.hh | *.hpp) links= ;;
    -g0) debug= ;;
    -g*) debug=1 ;;
    -O*) level=1 ;;
    esac
done
if [ -n "$links" ]; then
    [ -n "$debug" ] || set -- "$@" -s
    [ -n "$level" ] || set -- "$@" -O2
fi
exec "$@""#;

pub(super) struct Zig {
    glibc: GlibcVersion,
    pinned: ToolVersion,
}

impl Zig {
    pub(super) fn find(glibc: GlibcVersion, store: &Store) -> Result<Self> {
        Ok(Self { glibc, pinned: store.pins().get("zig")?.tool_version() })
    }
}

impl Store {
    /// The zig wheel as a host compiler whose output needs no glibc newer than `glibc`.
    ///
    /// # Errors
    /// It cannot be fetched.
    pub fn zig(&self, glibc: GlibcVersion, ui: &Ui, offline: bool) -> Result<HostCompiler> {
        let tool = self.tool("zig", ui, offline)?;
        Ok(HostCompiler::of_zig(&tool, glibc, &self.dir.join("zig")))
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
        let words = |name: &str| [program, name].map(str::to_owned).to_vec();
        let compiler = |name: &str| {
            let call = ["/bin/sh", "-c", CALL, name, program, name, "-fno-sanitize=undefined"];
            let call = call.into_iter().map(str::to_owned);
            call.chain(zig.args.iter().skip(1).cloned()).collect::<Vec<_>>()
        };
        let companions = [("ar", "ar"), ("ranlib", "ranlib"), ("ld", "ld.lld")];
        let mut companions: BTreeMap<_, _> =
            companions.into_iter().map(|(name, word)| (name.to_owned(), words(word))).collect();
        // Zig has none, and the machine's must not stand in for it unseen.
        let refusal = ["/bin/sh", "-c", "echo 'zig has no strip: link with -s' >&2; exit 1", "strip"];
        companions.insert("strip".to_owned(), refusal.map(str::to_owned).to_vec());
        let cache = fs_err::canonicalize(cache)?;
        Ok(HostCommands {
            cc: compiler("cc"),
            cxx: compiler("c++"),
            behind: Vec::new(),
            companions,
            runtime: Some(CxxRuntime { compiler: zig, glibc: self.glibc, cache: cache.clone() }),
            cache: Some(cache),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(args: &[&str]) -> String {
        let call = crate::process::Call::new("/bin/sh")
            .args(["-c", CALL, "c++", "/usr/bin/printf", "%s "])
            .args(args.iter().copied());
        call.run().unwrap().stdout_text().trim_end().to_owned()
    }

    #[test]
    fn what_links_without_g_is_stripped_and_takes_the_runtime_that_is_there() {
        for (args, result) in [
            ("a.o", "a.o -s -O2"),
            ("-O3 a.o", "-O3 a.o -s"),
            ("-O3 -g a.o", "-O3 -g a.o"),
            ("-g -g0 a.cc", "-g -g0 a.cc -s -O2"),
            ("-ggdb a.o", "-ggdb a.o -O2"),
            ("-c a.cc", "-c a.cc"),
            ("-E -", "-E -"),
            ("-r a.o b.o", "-r a.o b.o"),
            ("--version", "--version"),
        ] {
            assert_eq!(called(&args.split(' ').collect::<Vec<_>>()), result);
        }
    }
}
