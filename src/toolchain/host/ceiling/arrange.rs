//! Makes the directory of a compiler that is held to a glibc, and proves it before it counts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::super::compiler::STEP_PATH;
use super::super::system::c_compiler;
use super::nonshared::nonshared;
use super::stub::Stub;
use super::{Ceiling, glibc, headers};
use crate::budget::Budget;
use crate::elf::facts;
use crate::error::{Error, Result};
use crate::fs;
use crate::gpu::archive_members;
use crate::process::Call;
use crate::ui::Ui;

/// What static libraries of the compiler take from newer glibcs.
struct Shim {
    name: &'static str,
    /// The glibc of version 2 that has it.
    since: u32,
    source: &'static str,
}

const FOR_LIBSTDCXX: [Shim; 3] = [
    Shim { name: "single_threaded", since: 32, source: include_str!("shims/single_threaded.c") },
    Shim { name: "arc4random", since: 36, source: include_str!("shims/arc4random.c") },
    Shim { name: "isoc23", since: 38, source: include_str!("shims/isoc23.c") },
];
const FOR_UNWINDER: [Shim; 1] = [Shim { name: "find_object", since: 35, source: include_str!("shims/find_object.c") }];

/// A library of a package of conda may need a newer C++ library, which comes with it: it is no mistake of what is linked.
const SPECS: &str = "*link:\n+ --allow-shlib-undefined\n";
/// Starts a thread, throws, and asks for what every version has.
const PROGRAM: &str = "#include <condition_variable>\n#include <cmath>\n#include <filesystem>\n#include <iostream>\n#include <random>\n\
    #include <thread>\nint main() {\n    std::thread thread([] { std::cout << std::random_device()() << std::filesystem::current_path(); });\n\
    thread.join();\n    throw 1;\n}\n";

impl Ceiling {
    /// Makes the directory `root`, whole or not at all; `zig` is zig's.
    pub(super) fn make(&self, zig: &Path, root: &Path, ui: &Ui) -> Result<()> {
        let started = Instant::now();
        let toolchains = root.parent().unwrap_or(root);
        let prefix = format!(".new-{}-", root.file_name().unwrap_or_default().to_string_lossy());
        crate::toolchain::store::remove_leftovers(toolchains, &prefix);
        let dir = tempfile::Builder::new().prefix(&prefix).tempdir_in(toolchains)?;
        let work = tempfile::tempdir()?;
        let new = Making { ceiling: self, root: dir.path(), work: work.path(), cxx_headers: self.cxx_headers()? };
        new.all(zig)?;
        new.prove()?;
        fs::set_mode(dir.path(), 0o755)?;
        fs::flush(dir.path())?;
        let made = dir.keep();
        fs_err::rename(&made, root).inspect_err(|_| {
            let _ = fs_err::remove_dir_all(&made);
        })?;
        ui.note(format!("toolchain  {} ready in {:.1} s", self.what(), started.elapsed().as_secs_f64()));
        Ok(())
    }

    /// Directories of libstdc++'s headers.
    fn cxx_headers(&self) -> Result<Vec<String>> {
        let said = self.compiler.call().env("PATH", STEP_PATH).args(["-E", "-v", "-x", "c++", "/dev/null"]).run()?;
        let said = said.stderr_text();
        let list = said.split_once("#include <...> search starts here:").map_or("", |(_, rest)| rest);
        let list = list.split("End of search list.").next().unwrap_or_default();
        let is_of_cxx = |path: &&str| Path::new(path).components().any(|part| part.as_os_str() == "c++");
        let found = list.lines().map(str::trim).filter(is_of_cxx);
        let found = found.map(|path| Ok(fs::utf8(&fs_err::canonicalize(path)?)?.to_owned()));
        let found = found.collect::<Result<Vec<_>>>()?;
        if found.is_empty() {
            return Err(Error::toolchain(format!("{} does not say where its headers are", self.compiler.describe())));
        }
        Ok(found)
    }
}

/// A directory that is being made.
struct Making<'a> {
    ceiling: &'a Ceiling,
    root: &'a Path,
    work: &'a Path,
    cxx_headers: Vec<String>,
}

impl Making<'_> {
    fn lib(&self) -> PathBuf {
        self.root.join("usr/lib")
    }

    fn all(&self, zig: &Path) -> Result<()> {
        let Ceiling { glibc, limits, archive, unwinder, .. } = self.ceiling;
        let lib = self.lib();
        fs_err::create_dir_all(&lib)?;
        // Wherever a distribution's compiler looks for libraries.
        for (link, to) in [("lib", "usr/lib"), ("lib64", "usr/lib"), ("usr/lib64", "lib")] {
            fs_err::os::unix::fs::symlink(to, self.root.join(link))?;
        }
        let members = glibc::write(&zig.join("zig"), &lib, *glibc, self.work)?;
        let math = exported(&lib.join("libm.so.6"))?;
        headers::write(zig, &self.root.join("usr/include"), *glibc, &math)?;
        let overlay = self.root.join("usr/include-c++/bits");
        fs_err::create_dir_all(&overlay)?;
        fs_err::write(overlay.join("c++config.h"), headers::configuration(*glibc))?;
        fs_err::write(self.root.join("link.specs"), SPECS)?;
        self.assemble(glibc::CRTI, &lib.join("crti.o"))?;
        self.assemble(glibc::CRTN, &lib.join("crtn.o"))?;
        self.pack("libc_nonshared.a", unpacked(&members)?)?;

        for (name, path) in &self.ceiling.libraries {
            let stub = self.library(name, &fs::Content::open(path)?, limits)?;
            if *name == "libstdc++.so.6" {
                let all = exported(path)?;
                let bytes = fs::Content::open(archive)?;
                let mut members = nonshared(bytes.bytes(), &all, &stub.names)?;
                members.extend(self.shims(&FOR_LIBSTDCXX)?);
                self.pack("libstdc++_nonshared.a", members)?;
            }
        }
        self.scripts(archive, unwinder.as_deref())?;
        self.programs()
    }

    /// What `-lstdc++` and `-lgcc_s` lead to, shared and static.
    fn scripts(&self, archive: &Path, unwinder: Option<&Path>) -> Result<()> {
        let lib = self.lib();
        let write = |name: &str, text: &str| fs_err::write(lib.join(name), text);
        write("libstdc++.so", "INPUT ( libstdc++.so.6 libstdc++_nonshared.a )\n")?;
        write("libgcc_s.so", "GROUP ( libgcc_s.so.1 -lgcc )\n")?;
        for (name, of, shims) in
            [("libstdc++", Some(archive), FOR_LIBSTDCXX.as_slice()), ("libgcc_eh", unwinder, FOR_UNWINDER.as_slice())]
        {
            let Some(of) = of else { continue };
            fs_err::os::unix::fs::symlink(of, lib.join(format!("{name}_static.a")))?;
            self.pack(&format!("{name}_shims.a"), self.shims(shims)?)?;
            write(&format!("{name}.a"), &format!("GROUP ( {name}_static.a {name}_shims.a )\n"))?;
        }
        for (name, _) in self.ceiling.libraries.iter().skip(super::NEEDED) {
            let (stem, _) = name.split_once(".so").unwrap_or((name, ""));
            fs_err::os::unix::fs::symlink(name, lib.join(format!("{stem}.so")))?;
        }
        Ok(())
    }

    /// The scripts by which compilers are called. They find the directory by their own name.
    fn programs(&self) -> Result<()> {
        let bin = self.root.join("bin");
        fs_err::create_dir_all(&bin)?;
        let compiler = &self.ceiling.compiler;
        let cxx = fs::utf8(&compiler.cxx)?;
        for (name, program, is_cxx) in [("g++", cxx.to_owned(), true), ("gcc", c_compiler(cxx), false)] {
            let own = std::iter::once(program).chain(compiler.args.iter().cloned()).map(|word| quoted(&word));
            // The directory is the shell's to put in; all else is as it stands.
            let escaped = |word: String| word.replace('\\', "\\\\").replace('"', "\\\"").replace('`', "\\`");
            let args = self.args("$root", is_cxx).into_iter().map(|word| format!("\"{}\"", escaped(word)));
            let words: Vec<String> = own.chain(args).collect();
            let path = bin.join(name);
            fs_err::write(&path, format!("#!/bin/sh\nroot=${{0%/bin/*}}\nexec {} \"$@\"\n", words.join(" ")))?;
            fs::set_mode(&path, 0o755)?;
        }
        Ok(())
    }

    /// What the compiler is told, before all else.
    fn args(&self, root: &str, is_cxx: bool) -> Vec<String> {
        let mut args = vec![
            format!("--sysroot={root}"),
            format!("-B{root}/usr/lib/"),
            format!("-L{root}/usr/lib"),
            format!("-specs={root}/link.specs"),
            format!("-ffile-prefix-map={root}=glibc"),
        ];
        if is_cxx {
            args.push("-nostdinc++".to_owned());
            let own = format!("{root}/usr/include-c++");
            for dir in std::iter::once(&own).chain(&self.cxx_headers) {
                args.extend(["-isystem".to_owned(), dir.clone()]);
            }
        }
        args
    }

    fn compiler(&self, is_cxx: bool) -> Result<Call> {
        let call = self.ceiling.compiler.call().env("PATH", STEP_PATH).dir(self.work);
        Ok(call.args(self.args(fs::utf8(self.root)?, is_cxx)))
    }

    fn assemble(&self, text: &str, to: &Path) -> Result<()> {
        let source = self.work.join("assembly.s");
        fs_err::write(&source, text)?;
        let call = self.ceiling.compiler.call().env("PATH", STEP_PATH).dir(self.work);
        // Without a directory in it: the file says what it was made from.
        call.args(["-c", "assembly.s", "-o", fs::utf8(to)?]).read().map(drop)
    }

    /// A library without code in the place of the compiler's.
    fn library(&self, name: &str, of: &fs::Content, limits: &super::Limits) -> Result<Stub> {
        let stub = Stub::of(of.bytes(), limits)?;
        let (object, versions) = (self.work.join("stub.o"), self.work.join("stub.map"));
        self.assemble(&stub.assembly, &object)?;
        fs_err::write(&versions, &stub.versions)?;
        let call = self.ceiling.compiler.call().env("PATH", STEP_PATH).dir(self.work);
        call.args(["-shared", "-nostdlib", "-Wl,--build-id=none", "stub.o", "-o", fs::utf8(&self.lib().join(name))?])
            .args([format!("-Wl,-soname,{name}"), format!("-Wl,--version-script,{}", fs::utf8(&versions)?)])
            .read()?;
        Ok(stub)
    }

    /// The objects of those shims that the glibc needs.
    fn shims(&self, of: &[Shim]) -> Result<Vec<(String, Vec<u8>)>> {
        let wanted = of.iter().filter(|shim| self.ceiling.glibc.minor < shim.since);
        let compiled = wanted.map(|shim| {
            let (source, object) = (format!("{}.c", shim.name), format!("{}.o", shim.name));
            fs_err::write(self.work.join(&source), shim.source)?;
            let call = self.compiler(false)?.args(["-x", "c", "-std=gnu11", "-O2", "-fPIC", "-g0", "-c"]);
            call.args([source.as_str(), "-o", object.as_str()]).read()?;
            let bytes = fs_err::read(self.work.join(&object))?;
            Ok((object, bytes))
        });
        compiled.collect()
    }

    /// Makes an archive anew: what it holds has plain names, in any directory.
    fn pack(&self, name: &str, members: Vec<(String, Vec<u8>)>) -> Result<()> {
        let dir = self.work.join(format!("{name}.d"));
        fs_err::create_dir_all(&dir)?;
        let path = self.lib().join(name);
        let mut call = Call::new(&self.ceiling.ar).dir(&dir).args(["rcsD", fs::utf8(&path)?]);
        for (index, (member, bytes)) in members.iter().enumerate() {
            let plain = member.rsplit('/').next().unwrap_or_default();
            let file = format!("{index:03}-{plain}");
            fs_err::write(dir.join(&file), bytes)?;
            call = call.arg(file);
        }
        call.read().map(drop)
    }

    /// Links all that is linked into others, and a program: nothing is missing, and nothing too new.
    fn prove(&self) -> Result<()> {
        let whole = self.work.join("whole.so");
        let program = self.work.join("program.cc");
        fs_err::write(&program, PROGRAM)?;
        let linked = self.work.join("linked");
        let all = ["-Wl,--whole-archive", "-lstdc++_nonshared", "-Wl,--no-whole-archive", "-Wl,-z,defs"];
        let calls = [
            (&whole, self.compiler(true)?.args(["-shared", "-o", fs::utf8(&whole)?]).args(all)),
            (&linked, self.compiler(true)?.args(["-std=c++17", "program.cc", "-o", fs::utf8(&linked)?])),
        ];
        let Ceiling { glibc, limits, compiler, .. } = self.ceiling;
        let refuse = || {
            Error::toolchain(format!("g++ {} cannot be used for glibc {glibc}", compiler.version))
                .hint("set CXX to another g++, or build with zig where host code calls no CUDA")
        };
        for (made, call) in calls {
            call.read().map_err(|error| {
                let error = error.details().iter().fold(refuse(), Error::detail);
                error.because(std::io::Error::other("a program cannot be linked"))
            })?;
            let facts = facts(&fs_err::read(made)?).map_err(|error| refuse().because(error))?;
            let above = facts.version_needs.values().flatten().find(|version| !limits.allow(version));
            if let Some(version) = above {
                return Err(refuse().detail(format!("what is linked needs {version}")));
            }
            if let Some(needed) = facts.glibc().filter(|needed| needed > glibc) {
                return Err(refuse().detail(format!("what is linked needs glibc {needed}")));
            }
        }
        Ok(())
    }
}

/// Members of an archive.
fn unpacked(archive: &[u8]) -> Result<Vec<(String, Vec<u8>)>> {
    let budget = Budget::of(archive);
    let unreadable =
        |error: crate::gpu::CodeError| Error::toolchain("an archive of zig's cannot be read").because(error);
    let members = archive_members(archive, &budget).map_err(unreadable)?;
    members.map(|member| member.map(|(name, bytes)| (name, bytes.to_vec())).map_err(unreadable)).collect()
}

/// Names that a library defines.
fn exported(path: &Path) -> Result<BTreeSet<String>> {
    let file = fs::Content::open(path)?;
    let facts = facts(file.bytes()).map_err(|error| Error::file(path, "cannot be read as ELF").because(error))?;
    Ok(facts.exports.into_iter().map(|export| export.name).collect())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
