//! Globs for rattler-build, whose `*` crosses directories as that of recipes does not: what one takes along of other packages is named
//! beside it.

use super::Output;
use super::globs::alternatives;
use crate::error::{Error, Result};

/// Signs that stand for others in a glob.
const WILD: [char; 4] = ['*', '?', '[', '{'];

/// Globs of other packages below the directories of this one's: each file belongs to one package alone, so what a `*` finds deeper
/// is theirs.
pub(super) fn excluded<'a>(output: &Output, all: &'a [Output]) -> Result<Vec<&'a str>> {
    let own: Vec<String> = output.files.iter().flat_map(|glob| alternatives(glob)).collect();
    let component = output.package.manifest.component;
    let others = all.iter().filter(|other| other.package.manifest.component != component);
    let mut found: Vec<&str> = Vec::new();
    for theirs in others.flat_map(|other| &other.files).map(String::as_str) {
        let pieces = alternatives(theirs);
        if !own.iter().any(|own| pieces.iter().any(|theirs| reaches(own, theirs))) || found.contains(&theirs) {
            continue;
        }
        // The same sign would take away what lies deeper still and is this package's own.
        if let Some(own) = own.iter().find(|own| pieces.iter().any(|theirs| reaches(theirs, own))) {
            return Err(Error::recipe(format!(
                "rattler-build cannot tell `{own}` from `{theirs}`: its `*` crosses directories"
            ))
            .hint("name directories as `DIRECTORY/**`, or the files one by one"));
        }
        found.push(theirs);
    }
    Ok(found)
}

/// Whether a glob with a single `*`, where that crosses directories, may find what another names in a directory below its own.
fn reaches(glob: &str, other: &str) -> bool {
    let literal = |glob: &str| glob.find(WILD).unwrap_or(glob.len());
    let (before, rest) = glob.split_at(literal(glob));
    let last = rest.rsplit(WILD).next().unwrap_or_default().trim_start_matches([']', '}']);
    let ends_alike = other.ends_with(last) || other.ends_with('*');
    let deeper = other[..literal(other)].strip_prefix(before).is_some_and(|below| below.contains('/'));
    rest.replace("**", "").contains('*') && ends_alike && deeper
}

#[cfg(test)]
mod tests {
    use super::reaches;

    #[test]
    fn a_star_that_crosses_directories_reaches_what_lies_deeper() {
        for (glob, other) in [
            ("site/libs/*.so", "site/libs/plugins/*CUDA.so"),
            ("site/neuron/*", "site/neuron/.data/bin/nmodl"),
            ("site/neuron/*", "site/neuron/.data/include/**"),
        ] {
            assert!(reaches(glob, other), "{glob} {other}");
            assert!(!reaches(other, glob), "{other} {glob}");
        }
        for (glob, other) in [
            ("lib/lib*.so", "lib/volley/kernels/**"),
            ("lib/libvolley.so.*", "lib/cmake/**"),
            ("lib/*.so", "lib/private/libx.a"),
            ("bin/volley", "bin/volley/x"),
            ("include/**", "include/volley/*.h"),
            ("bin/*", "bin/other"),
        ] {
            assert!(!reaches(glob, other), "{glob} {other}");
        }
    }
}
