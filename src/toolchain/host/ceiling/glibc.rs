//! The libraries of a chosen glibc as linkers need them: symbols with their versions, without code. Zig makes them from its
//! lists of all of glibc's versions; they are taken out of its cache.

use std::path::{Path, PathBuf};

use crate::arch::GlibcVersion;
use crate::elf::is_elf;
use crate::error::{Error, Result};
use crate::fs;
use crate::process::Call;

/// A program that needs no compiler: zig makes glibc for it and little else.
const PROGRAM: &str = "\t.globl main\nmain:\n\tret\n";

/// What zig makes, and the name that linkers look for.
const LIBRARIES: [(&str, &str); 8] = [
    ("libc.so.6", "libc.so.6"),
    ("libm.so.6", "libm.so.6"),
    ("libpthread.so.0", "libpthread.so.0"),
    ("libdl.so.2", "libdl.so.2"),
    ("librt.so.1", "librt.so.1"),
    ("libutil.so.1", "libutil.so.1"),
    ("libresolv.so.2", "libresolv.so.2"),
    ("libld.so.2", "ld-linux-x86-64.so.2"),
];
/// Names without a number, as `-l` looks for them; libc has a script.
const LINKS: [&str; 6] = ["libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libresolv.so.2"];

/// What is linked for `-lc`. Since glibc 2.34 all of it is in libc.so.6, and nobody asks for the others any more.
const LIBC: &str = "GROUP ( libc.so.6 libc_nonshared.a AS_NEEDED ( ld-linux-x86-64.so.2 libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1 ) )\n";

/// What glibc's own crti.o and crtn.o put around `.init` and `.fini`.
pub(super) const CRTI: &str = "\t.section .init,\"ax\",@progbits\n\t.globl _init\n\t.hidden _init\n\t.type _init,@function\n\
    _init:\n\tendbr64\n\tsubq $8,%rsp\n\t.section .fini,\"ax\",@progbits\n\t.globl _fini\n\t.hidden _fini\n\t.type _fini,@function\n\
    _fini:\n\tendbr64\n\tsubq $8,%rsp\n\t.section .note.GNU-stack,\"\",@progbits\n";
pub(super) const CRTN: &str = "\t.section .init,\"ax\",@progbits\n\taddq $8,%rsp\n\tret\n\t.section .fini,\"ax\",@progbits\n\taddq $8,%rsp\n\tret\n\
    \t.section .note.GNU-stack,\"\",@progbits\n";

/// Puts the libraries of `glibc` into `lib`, working in `work`; answers the members of its `libc_nonshared.a`'s file.
pub(super) fn write(zig: &Path, lib: &Path, glibc: GlibcVersion, work: &Path) -> Result<Vec<u8>> {
    let cache = work.join("zig");
    let (source, program) = (work.join("program.s"), work.join("program"));
    fs_err::create_dir_all(&cache)?;
    fs_err::write(&source, PROGRAM)?;
    let target = format!("x86_64-linux-gnu.{glibc}");
    let call = Call::new(zig)
        .args(["build-exe", fs::utf8(&source)?, "-target", target.as_str(), "-lc", "-fPIE", "-fno-compiler-rt"])
        .args(["-fno-ubsan-rt", "-OReleaseSmall", "-fstrip"])
        .arg(format!("-femit-bin={}", fs::utf8(&program)?))
        .env("ZIG_GLOBAL_CACHE_DIR", fs::utf8(&cache)?)
        .env("ZIG_LOCAL_CACHE_DIR", fs::utf8(&cache)?)
        .dir(work);
    call.read()?;
    let made = fs::walk(&cache)?;
    let find = |name: &str| -> Result<PathBuf> {
        let found = made.iter().find(|entry| entry.path.rsplit('/').next() == Some(name));
        let found = found.ok_or_else(|| Error::toolchain(format!("zig makes no {name} for glibc {glibc}")))?;
        Ok(cache.join(&found.path))
    };
    for (made, name) in LIBRARIES {
        let bytes = fs_err::read(find(made)?)?;
        if !is_elf(&bytes) {
            return Err(Error::toolchain(format!("zig makes no library {made} for glibc {glibc}")));
        }
        fs_err::write(lib.join(name), bytes)?;
    }
    for library in LINKS {
        let (stem, _) = library.split_once(".so").unwrap_or((library, ""));
        fs_err::os::unix::fs::symlink(library, lib.join(format!("{stem}.so")))?;
    }
    fs_err::write(lib.join("libc.so"), LIBC)?;
    // One that can be loaded anywhere serves a program at fixed addresses, too.
    for name in ["Scrt1.o", "crt1.o"] {
        fs_err::copy(find("Scrt1.o")?, lib.join(name))?;
    }
    Ok(fs_err::read(find("libc_nonshared.a")?)?)
}
