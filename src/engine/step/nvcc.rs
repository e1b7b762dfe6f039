//! The arguments that make nvcc's output the same in every directory and every process.
//!
//! What varies (measured with CUDA 11.8.89 and 13.0.88 by compiling and linking one source twice in one
//! directory and once in another, and comparing bytes and symbol tables):
//!
//! 1. nvcc derives a *module id* from the absolute path of the source, as the kernel resolves it: a link or
//!    `/proc/self/cwd` does not help. The id stands in the names of everything that is local to a unit:
//!    `_INTERNAL_<id>_5_an_cu_...` of anonymous namespaces in cubins and PTX, `__nv_static_25__<id>_...`,
//!    `__fatbinwrap_<id>_...` and `__cudaRegisterLinkedBinary_<id>_...` with `-rdc=true`. So cubins of a
//!    unit with an anonymous namespace differ between two checkouts. `-frandom-seed` does not change it;
//!    `cudafe++` takes the path from its last `--orig_src_path_name`, which [`same_source_path`] gives.
//! 2. Temporary files are called `tmpxft_<process id>_...`, and the host compiler writes the name of its
//!    input into the object as a symbol of type FILE, which linkers keep. So two objects, and two linked
//!    files, of one source in one directory differ in their `.strtab`. `--keep` gives intermediate files
//!    names without a number: [`same_file_names`]. Cubins and PTX hold no such name.
//!
//! With both, plain and `-rdc=true` shared libraries are equal bit for bit; `tests/suite/same_bytes.rs`
//! holds it with the real nvcc.

use std::path::Path;

use crate::error::Result;
use crate::fs;

/// Name of the compiler's list of what it read.
pub(in crate::engine) const LIST: &str = "read.d";

/// Directory in which compilers believe the sources to be.
const SOURCE_ROOT: &str = "/opt/simpack/source";

/// Arguments by which the unit `source`, relative to the source root, has the same module id wherever it lies.
/// They hold for every unit of the call, so a call must compile one unit. nvcc hands the path to `cudafe++` without quotes
/// and splits it at commas, so every byte that is not plain becomes `_`: it is a name, no file is read by it.
pub fn same_source_path(source: &str) -> [String; 4] {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/+-".contains(&byte);
    let named = source.bytes().map(|byte| if is_plain(byte) { char::from(byte) } else { '_' });
    let path = format!("{SOURCE_ROOT}/{}", named.collect::<String>());
    ["-Xcudafe".to_owned(), "--orig_src_path_name".to_owned(), "-Xcudafe".to_owned(), path]
}

/// Arguments by which intermediate files have the same names in every process. `dir` must exist, be this call's
/// own, and be spelled the same everywhere (relative to the call's directory) where names of directories count.
///
/// # Errors
/// The directory's name is not UTF-8.
pub fn same_file_names(dir: &Path) -> Result<[String; 3]> {
    Ok(["--keep".to_owned(), "--keep-dir".to_owned(), fs::utf8(dir)?.to_owned()])
}

/// Arguments by which the preprocessor's pass that makes the device code writes a rule of make's form with every
/// file that it read to `list`, a file called [`LIST`] in the call's `TMPDIR`.
///
/// nvcc's own `-MD` preprocesses the unit a second time, for a host compilation that never comes: a quarter of
/// the time of a small unit (CUDA 13.0: 75 of 400 ms). And what only that pass reads is in no cubin.
///
/// nvcc hands what follows `-Xcompiler` to a shell as it is, and cuts it at commas. A path with such letters is
/// therefore left to the shell, which knows it by a variable.
pub(in crate::engine) fn list_of_read(list: &str) -> [String; 6] {
    let path = if is_plain(list) { list.to_owned() } else { format!("\"$TMPDIR/{LIST}\"") };
    let option = || "-Xcompiler".to_owned();
    [option(), "-MD".to_owned(), option(), "-MF".to_owned(), option(), path]
}

/// Whether nvcc and the shell that it calls take a path as it is.
pub(in crate::engine) fn is_plain(path: &str) -> bool {
    path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@".contains(c))
}

/// What nvcc calls the parts of a path that it makes names of intermediate files of.
pub(in crate::engine) fn stem(source: &str) -> &str {
    let file = source.rsplit('/').next().unwrap_or(source);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// Arguments by which one call for several capabilities gives each what a call of its own gives, bit for bit, and
/// leaves it in the directory `kept`: `STEM.compute_90.cubin`, and what was read for it, `STEM.compute_90.cpp1.d`.
///
/// A call of several differs from calls of one in two things (found by comparing bytes with CUDA 11.8.89, 13.0.88 and
/// 13.5.37):
/// 1. The preprocessor is told all capabilities as `__CUDA_ARCH_LIST__`. What `-Xcompiler` hands on stands behind
///    that, so the macro is defined anew: as the one capability that the pass is for.
/// 2. The module id holds the name of the first thing that a unit defines for others. The first pass finds it, and
///    the others take it from a file, though they may define another thing first. So each is told to find its own.
pub(in crate::engine) fn each_as_if_alone(kept: &Path) -> Result<Vec<String>> {
    let mut args: Vec<String> = same_file_names(kept)?.into();
    args.extend(["-Xcudafe", "--gen_module_id_file"].map(str::to_owned));
    for option in ["-MD", "-U__CUDA_ARCH_LIST__", "-D__CUDA_ARCH_LIST__=__CUDA_ARCH__"] {
        args.extend(["-Xcompiler", option].map(str::to_owned));
    }
    Ok(args)
}

/// Flags of a kernel group under which [`each_as_if_alone`] was found to hold.
const ALIKE: [&str; 13] = [
    "O0",
    "O1",
    "O2",
    "O3",
    "use_fast_math",
    "expt-relaxed-constexpr",
    "expt-extended-lambda",
    "extended-lambda",
    "extra-device-vectorization",
    "restrict",
    "lineinfo",
    "generate-line-info",
    "allow-unsupported-compiler",
];

/// The same for flags with a value, which stands behind `=` or in the next argument.
const ALIKE_WITH_VALUE: [&str; 11] = [
    "std",
    "ftz",
    "fmad",
    "prec-div",
    "prec-sqrt",
    "maxrregcount",
    "default-stream",
    "diag-suppress",
    "include",
    "isystem",
    "include-path",
];

/// Whether with these flags one call for several capabilities gives what calls of their own give. Of many more that
/// may be so; `-G` puts names of intermediate files into cubins, and a flag that writes files would write one for all.
pub(in crate::engine) fn are_alike(flags: &[String]) -> bool {
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        let Some(name) = flag.strip_prefix("--").or_else(|| flag.strip_prefix('-')) else { return false };
        let is_alike = match name.split_once('=') {
            _ if ALIKE.contains(&name) => true,
            Some((name, _)) if ALIKE_WITH_VALUE.contains(&name) => true,
            None if ALIKE_WITH_VALUE.contains(&name) => flags.next().is_some(),
            // Macros and directories; what nvcc defines itself is not to be touched.
            _ => match name.split_at_checked(1) {
                Some(("D" | "U" | "I", "")) => flags.next().is_some_and(|value| !value.starts_with("__CUDA")),
                Some(("D" | "U" | "I", value)) => !flag.starts_with("--") && !value.starts_with("__CUDA"),
                _ => false,
            },
        };
        if !is_alike {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_a_shell_would_change_is_left_to_the_shell() {
        assert_eq!(list_of_read("/w/step-1/tmp/read.d")[5], "/w/step-1/tmp/read.d");
        for odd in ["/a b/tmp/read.d", "/a,b/tmp/read.d", "/a'b/tmp/read.d", "/\u{e4}/tmp/read.d"] {
            assert_eq!(list_of_read(odd)[5], "\"$TMPDIR/read.d\"");
        }
    }

    #[test]
    fn calls_are_shared_under_flags_that_are_known() {
        let alike = |flags: &str| are_alike(&flags.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        for flags in [
            "",
            "-O3 --fmad=false -std=c++17",
            "--std c++17 -maxrregcount 32 --use_fast_math -lineinfo",
            "-DX -DY=1 -D Z=2 -UW -I. -I include -include k.h --expt-relaxed-constexpr",
        ] {
            assert!(alike(flags), "{flags}");
        }
        for flags in [
            "-G",
            "-O3 -g -G",
            "-MMD",
            "--keep",
            "-time t.csv",
            "-arch=sm_90",
            "-gencode arch=compute_80,code=sm_80",
            "-Xcompiler -MF,other.d",
            "-U__CUDA_ARCH_LIST__",
            "-D __CUDA_ARCH_LIST__=7",
            "--threads 2",
            "-Xptxas -v",
            "-o x",
            "other.cu",
            "-I",
            "-std",
            "-",
        ] {
            assert!(!alike(flags), "{flags}");
        }
    }

    #[test]
    fn a_unit_gives_its_name_up_to_the_last_dot() {
        assert_eq!([stem("k/a.cu"), stem("a.b.cu"), stem("k.d/a")], ["a", "a.b", "a"]);
    }
}
