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
