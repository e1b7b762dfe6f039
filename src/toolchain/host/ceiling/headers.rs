//! The headers of a chosen glibc: those that zig brings for all of them, made definite, without what that glibc does not have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::arch::GlibcVersion;
use crate::error::{Error, Result};
use crate::fs::{self, EntryKind, Tree};

/// Directories of zig's headers below `lib/libc/include`. What lies in several is taken from the last.
const LAYERS: [&str; 4] = ["any-linux-any", "x86-linux-any", "generic-glibc", "x86-linux-gnu"];
/// Where zig's own compiler is told the version by an option.
const MARK: &str = "/* zig patch: we pass `-D__GLIBC_MINOR__=XX` depending on the target. */";

/// Headers for which others ask by `__has_include`, and the glibc that has them.
const SINCE: [(&str, u32); 1] = [("sys/single_threaded.h", 32)];

/// What libstdc++ was configured to use when it was built for a newer glibc, and the glibc that has it. Its headers use these
/// inline, so they would come into every object.
const CONFIGURED: [(&str, u32); 5] = [
    ("_GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT", 30),
    ("_GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK", 30),
    ("_GLIBCXX_USE_PTHREAD_RWLOCK_CLOCKLOCK", 30),
    ("_GLIBCXX_USE_UCHAR_C8RTOMB_MBRTOC8_CXX20", 36),
    ("_GLIBCXX_USE_UCHAR_C8RTOMB_MBRTOC8_FCHAR8_T", 36),
];

/// Writes the headers of `glibc` to `to`, from zig's directory; `math` are the names that its libm defines.
pub(super) fn write(zig: &Path, to: &Path, glibc: GlibcVersion, math: &BTreeSet<String>) -> Result<()> {
    let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
    for layer in LAYERS.map(|layer| zig.join("lib/libc/include").join(layer)) {
        let entries = fs::walk(&layer)?.into_iter().filter(|entry| matches!(entry.kind, EntryKind::File { .. }));
        files.extend(entries.map(|entry| (entry.path.clone(), layer.join(entry.path))));
    }
    for (header, _) in SINCE.iter().filter(|(_, since)| glibc.minor < *since) {
        files.remove(*header);
    }
    let tree = Tree::make(to)?;
    for (path, from) in &files {
        tree.copy(&fs::open(from)?, path, Some(0o644))?;
    }
    let features = to.join("features.h");
    let text = fs_err::read_to_string(&features)?;
    if !text.contains(MARK) {
        return Err(Error::toolchain("zig's headers of glibc are not those that simpack knows")
            .detail("features.h says nowhere that zig defines __GLIBC_MINOR__"));
    }
    fs_err::write(&features, text.replace(MARK, &format!("#define __GLIBC_MINOR__ {}", glibc.minor)))?;
    let calls = to.join("bits/mathcalls.h");
    Ok(fs_err::write(&calls, only_defined(&fs_err::read_to_string(&calls)?, math))?)
}

/// Without the declarations of functions that libm does not define: CUDA's headers declare some of them, too, in another way.
fn only_defined(text: &str, math: &BTreeSet<String>) -> String {
    const CALL: &str = "__MATHCALL";
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(CALL) {
        let length = rest[at..].find(';').map_or(0, |end| end + 1);
        let missing = function(&rest[at..at + length]).is_some_and(|name| !math.contains(&name));
        kept.push_str(&rest[..at]);
        if !missing {
            kept.push_str(CALL);
        }
        rest = &rest[at + if missing { length } else { CALL.len() }..];
    }
    kept + rest
}

/// The function that `__MATHCALL (lgamma,_r, (...))` declares; none for text that is no such call.
fn function(call: &str) -> Option<String> {
    let (head, rest) = call.split_once('(')?;
    let (name, rest) = rest.split_once(',')?;
    let (suffix, _) = rest.split_once(',')?;
    let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_call = head.trim().chars().all(|c| c.is_ascii_uppercase() || c == '_');
    (is_call && is_name(name.trim()) && is_name(suffix.trim())).then(|| format!("{}{}", name.trim(), suffix.trim()))
}

/// Stands before libstdc++'s own configuration and takes back what `glibc` does not have.
pub(super) fn configuration(glibc: GlibcVersion) -> String {
    let mut text = "#include_next <bits/c++config.h>\n".to_owned();
    for (name, _) in CONFIGURED.iter().filter(|(_, since)| glibc.minor < *since) {
        text.push_str(&format!("#undef {name}\n"));
    }
    if glibc.minor < 34 {
        // Before glibc 2.34 threads were a library of their own, to which weak references led: whoever did not link it found no
        // threads at run time. Strong ones bring the library in, as everybody expects today.
        text.push_str("#define _GLIBCXX_GTHREAD_USE_WEAK 0\n#define GTHR_ACTIVE_PROXY pthread_create\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_of_what_libm_lacks_go() {
        let text = "#define X __MATHCALL (y\n/* a */\n__MATHCALL_VEC (rsqrt,, (_Mdouble_ __x));\n__MATHCALL (rsqrt,, (_Mdouble_ __x));\n\
                    __MATHCALL (sin,, (_Mdouble_ __x));\n__MATHCALL (lgamma,_r,\n  (_Mdouble_, int *));\n#endif\n";
        let math = BTreeSet::from(["sin".to_owned(), "lgamma_r".to_owned()]);
        let kept = only_defined(text, &math);
        assert!(!kept.contains("rsqrt"), "{kept}");
        assert!(kept.contains("(sin,,") && kept.contains("(lgamma,_r,\n") && kept.ends_with("#endif\n"), "{kept}");
    }

    #[test]
    fn the_configuration_is_that_of_the_glibc() {
        let old = configuration(GlibcVersion::new(2, 28));
        assert!(old.contains("#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT"));
        assert!(old.contains("#define GTHR_ACTIVE_PROXY pthread_create"));
        let newer = configuration(GlibcVersion::new(2, 35));
        assert!(!newer.contains("CLOCKWAIT") && newer.contains("MBRTOC8_CXX20") && !newer.contains("GTHR"));
        assert_eq!(configuration(GlibcVersion::new(2, 39)), "#include_next <bits/c++config.h>\n");
    }
}
