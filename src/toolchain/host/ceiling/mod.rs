//! The machine's g++ for an older glibc: a directory with that glibc's headers and libraries, which zig has of all its
//! versions, and the part of the compiler's own libraries that systems of that age have.
//!
//! The C++ library stays shared, so that all libraries of a process have one; what the compiler's is newer in is linked into
//! what uses it ([`nonshared`]), as Red Hat's toolsets do. Compilers are called through scripts, which CMake, make and nvcc
//! take for g++.

mod arrange;
mod glibc;
mod headers;
mod limits;
mod nonshared;
mod stub;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::compiler::{CompilerKind, HostCompiler};
use crate::arch::GlibcVersion;
use crate::bundle::ToolVersion;
use crate::error::{Error, Result};
use crate::fs::{Digest, DigestBuilder, with_lock_or_wait};
use crate::lastrun::VersionCache;
use crate::manifest::{GlibcLevel, GlibcLevels};
use crate::toolchain::Store;
use crate::ui::Ui;
use limits::Limits;

/// Raised when the directory is made otherwise.
const LAYOUT: &str = "glibc ceiling 1";
/// Majors of g++ whose libraries were tried.
const OLDEST: u32 = 11;
const NEWEST: u32 = 14;

/// The compiler's own libraries, by what links name; those that every g++ has first.
const LIBRARIES: [&str; 5] = ["libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1", "libatomic.so.1", "libquadmath.so.0"];
/// Number of those that must be there.
const NEEDED: usize = 2;

/// A g++ of the machine, held to a glibc.
pub struct Ceiling {
    /// The compiler itself, for the glibc.
    compiler: HostCompiler,
    glibc: GlibcVersion,
    limits: Limits,
    zig: ToolVersion,
    /// Its own libraries, by name.
    libraries: Vec<(&'static str, PathBuf)>,
    /// The static C++ library.
    archive: PathBuf,
    /// The static part of libgcc that unwinds.
    unwinder: Option<PathBuf>,
    ar: PathBuf,
    /// Over the libraries.
    digest: Digest,
}

/// How a compiler that is held to a glibc is called.
#[derive(Debug, Clone)]
pub struct HeldCompiler {
    /// C compiler.
    pub cc: PathBuf,
    /// C++ compiler.
    pub cxx: PathBuf,
}

impl Ceiling {
    /// A compiler of the machine, for a glibc; none where none is asked for.
    ///
    /// # Errors
    /// This compiler cannot be held to it.
    pub fn asked(
        compiler: HostCompiler,
        glibc: Option<GlibcVersion>,
        levels: &GlibcLevels,
        store: &Store,
        answers: &VersionCache,
    ) -> Result<Option<Self>> {
        let Some(glibc) = glibc else { return Ok(None) };
        let level = levels.get(glibc).ok_or_else(|| Error::bug(format!("no level has glibc {glibc}")))?;
        Self::of(compiler, level, store, answers).map(Some)
    }

    /// A compiler of the machine, for the glibc of a level.
    ///
    /// # Errors
    /// This compiler cannot be held to it.
    fn of(compiler: HostCompiler, level: &GlibcLevel, store: &Store, answers: &VersionCache) -> Result<Self> {
        let glibc = level.glibc();
        let refuse = |why: String| {
            Error::toolchain(format!("{} cannot be held to glibc {glibc}", compiler.describe())).detail(why)
        };
        let other = "set CXX to another compiler, or build with zig where host code calls no CUDA";
        if compiler.kind != CompilerKind::Gcc {
            return Err(refuse("only g++ can: its C++ library is the one that systems have".to_owned()).hint(other));
        }
        let major = compiler.major().unwrap_or_default();
        if !(OLDEST..=NEWEST).contains(&major) {
            return Err(refuse(format!("it was tried with g++ {OLDEST} to {NEWEST}")).hint(other));
        }
        let machine = answers.ask(&compiler.call().arg("-dumpmachine"))?;
        if !machine.starts_with("x86_64") {
            return Err(refuse(format!("it compiles for {}, and only x86-64 is known", machine.trim())).hint(other));
        }
        let find = |name: &str| file(&compiler, name, answers);
        let lacks = |name: &str| refuse(format!("it comes without {name}"));
        let archive = find("libstdc++.a").ok_or_else(|| {
            lacks("libstdc++.a, whose newer parts are linked into what uses them")
                .hint("install it (Fedora, RHEL: libstdc++-static; Debian: libstdc++-dev of this version)")
        })?;
        let mut libraries = Vec::new();
        for (index, name) in LIBRARIES.into_iter().enumerate() {
            match find(name) {
                Some(path) => libraries.push((name, path)),
                None if index < NEEDED => return Err(lacks(name)),
                None => {}
            }
        }
        let ar = compiler.companion("ar", answers).ok_or_else(|| lacks("ar"))?;
        let unwinder = find("libgcc_eh.a");
        let mut digest = DigestBuilder::default().field(LAYOUT).field(Limits::of(level).words());
        for path in libraries.iter().map(|(_, path)| path).chain([&archive]).chain(&unwinder) {
            digest = digest.field(Digest::of_file(path)?.as_bytes());
        }
        Ok(Self {
            glibc,
            limits: Limits::of(level),
            zig: store.pins().get("zig")?.tool_version(),
            libraries,
            archive,
            unwinder,
            ar,
            digest: digest.finish(),
            compiler: HostCompiler { target_glibc: Some(glibc), ..compiler },
        })
    }

    /// The compiler, which says the glibc with its version.
    pub fn compiler(&self) -> &HostCompiler {
        &self.compiler
    }

    /// What decides the bytes of what it makes, beside the compiler itself.
    pub fn versions(&self) -> BTreeMap<String, ToolVersion> {
        let glibc = ToolVersion { version: format!("{} of zig {}", self.glibc, self.zig.version), ..self.zig.clone() };
        let libraries = ToolVersion { version: self.limits.words(), sha256: Some(self.digest) };
        BTreeMap::from([("glibc".to_owned(), glibc), ("libstdc++".to_owned(), libraries)])
    }

    /// Files that it was found by: while they are the same, so is it.
    pub fn looked_at(&self) -> impl Iterator<Item = PathBuf> {
        let single = [&self.archive].into_iter().chain(&self.unwinder);
        self.libraries.iter().map(|(_, path)| path).chain(single).cloned()
    }

    /// The compilers, for which the directory is made once.
    ///
    /// # Errors
    /// Zig cannot be fetched, or the directory cannot be made.
    pub fn commands(&self, store: &Store, offline: bool, ui: &Ui) -> Result<HeldCompiler> {
        let zig = store.tool("zig", ui, offline)?;
        let toolchains = store.dir.join("toolchains");
        fs_err::create_dir_all(&toolchains)?;
        // The compilers find the directory by their own name.
        let toolchains = fs_err::canonicalize(toolchains)?;
        let name = self.name(&zig.digest);
        let root = toolchains.join(&name);
        if !root.is_dir() {
            let lock = toolchains.join(format!(".{name}.lock"));
            let waiting = || ui.note(format!("toolchain  {}: waiting for another simpack that makes it", self.what()));
            with_lock_or_wait(&lock, waiting, || match root.is_dir() {
                true => Ok(()),
                false => self.make(zig.program.parent().unwrap_or(Path::new("/")), &root, ui),
            })?;
        }
        Ok(HeldCompiler { cc: root.join("bin/gcc"), cxx: root.join("bin/g++") })
    }

    /// What the directory is, for people.
    fn what(&self) -> String {
        format!("glibc {} for g++ {}", self.glibc, self.compiler.version)
    }

    /// The directory's name, which follows from all that it is made from.
    fn name(&self, zig: &Digest) -> String {
        let compiler = &self.compiler;
        let digest = DigestBuilder::default()
            .field(self.digest.as_bytes())
            .field(zig.as_bytes())
            .field(compiler.cxx.to_string_lossy().as_bytes())
            .field(compiler.args.join(" "))
            .field(&compiler.version);
        format!("glibc-{}-{}", self.glibc, digest.finish().short(12))
    }
}

/// A file that the compiler would link.
fn file(compiler: &HostCompiler, name: &str, answers: &VersionCache) -> Option<PathBuf> {
    let call = compiler.call().arg(format!("-print-file-name={name}"));
    let there = |said: String| Some(PathBuf::from(said.trim())).filter(|path| path.is_absolute() && path.is_file());
    // What was missing may have been installed since it was asked for.
    let found = answers.ask(&call).ok().and_then(there).or_else(|| call.read().ok().and_then(there))?;
    fs_err::canonicalize(found).ok()
}
