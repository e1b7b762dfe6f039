//! A tree for every rule of glibc's loader, built here and judged by the loader of this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use simpack::elf::resolve::{End, Outcome, Resolution, Rule};
use simpack::fs::Root;

use super::oracle::{LOADER, Setting, differences, loader};
use crate::patching::{compile, compiler};
use crate::support::{Ran, need, scratch, simpack, skip};

/// Trees of small libraries.
pub struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Self { dir: scratch() }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn at(&self, name: &str) -> String {
        self.path().join(name).to_str().unwrap().to_owned()
    }

    /// A library that needs others, named by their paths here; `flags` for the linker.
    pub fn library(&self, name: &str, needs: &[&str], flags: &[&str]) -> PathBuf {
        let file = name.rsplit('/').next().unwrap();
        let soname = format!("-Wl,-soname,{file}");
        self.build(name, "int here;", &[&["-shared", "-fPIC", "-nostdlib", &soname], flags].concat(), needs)
    }

    pub fn program(&self, name: &str, needs: &[&str], flags: &[&str]) -> PathBuf {
        self.build(name, "int main(void) { return 0; }", flags, needs)
    }

    pub fn build(&self, name: &str, source: &str, flags: &[&str], needs: &[&str]) -> PathBuf {
        let needs: Vec<String> = needs.iter().map(|need| self.at(need)).collect();
        let linker = ["-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined", "-Wl,--unresolved-symbols=ignore-all"];
        let flags: Vec<&str> = linker.iter().copied().chain(flags.iter().copied()).collect();
        let all: Vec<&str> = flags.into_iter().chain(needs.iter().map(String::as_str)).collect();
        compile(self.path(), name, source, &all)
    }

    pub fn copy(&self, from: &str, to: &str) {
        let to = self.path().join(to);
        fs_err::create_dir_all(to.parent().unwrap()).unwrap();
        fs_err::copy(self.path().join(from), to).unwrap();
    }

    /// simpack's answer, held against the loader's.
    #[track_caller]
    pub fn same(&self, file: &str, setting: &Setting) -> Resolution {
        let path = self.at(file);
        let program = !file.contains(".so");
        let ours = setting.ours(&loader(&Root::machine()), &path, &[]).unwrap();
        let found = differences(&setting.theirs(&path, program), &ours);
        assert!(found.is_empty(), "{file} {setting:?}: {found:#?}");
        ours
    }

    pub fn setting(&self) -> Setting {
        Setting::in_directory(self.path())
    }

    pub fn with_path(&self, path: &str) -> Setting {
        Setting { library_path: Some(path.to_owned()), ..self.setting() }
    }
}

/// The file that answers a name, below the bench.
fn winner(bench: &Bench, resolution: &Resolution, name: &str) -> String {
    let link =
        resolution.links.iter().find(|link| link.name == name).unwrap_or_else(|| panic!("nobody asks for {name}"));
    match &link.end {
        End::Found { object, .. } => {
            let path = &resolution.objects[*object].path;
            path.strip_prefix(&format!("{}/", bench.path().display())).unwrap_or(path).to_owned()
        }
        other => format!("{other:?}"),
    }
}

fn rule<'a>(resolution: &'a Resolution, name: &str) -> &'a Rule {
    resolution.links.iter().find(|link| link.name == name).unwrap().by.as_ref().unwrap()
}

macro_rules! bench {
    () => {{
        need!(compiler().is_some() && Path::new(LOADER).exists(), "no C compiler or no glibc on x86-64");
        Bench::new()
    }};
}

const OLD: &str = "-Wl,--disable-new-dtags";
const NEW: &str = "-Wl,--enable-new-dtags";

fn path(directories: &str) -> String {
    format!("-Wl,-rpath,{directories}")
}

#[test]
fn rpath_comes_before_the_environment_and_runpath_behind() {
    let bench = bench!();
    bench.library("own/liba.so", &[], &[]);
    bench.copy("own/liba.so", "env/liba.so");
    let own = path(&bench.at("own"));
    bench.program("old", &["own/liba.so"], &[OLD, &own]);
    bench.program("new", &["own/liba.so"], &[NEW, &own]);
    let setting = bench.with_path(&bench.at("env"));
    assert_eq!(winner(&bench, &bench.same("old", &setting), "liba.so"), "own/liba.so");
    let new = bench.same("new", &setting);
    assert_eq!(winner(&bench, &new, "liba.so"), "env/liba.so");
    // The loser is a candidate, with its rule.
    let link = new.links.iter().find(|link| link.name == "liba.so").unwrap();
    assert_eq!(link.candidates.len(), 2);
    assert_eq!(link.candidates[1].outcome, Outcome::Shadowed);
    assert!(matches!(link.candidates[1].rule, Rule::Runpath { .. }));
    assert_eq!(winner(&bench, &bench.same("new", &bench.setting()), "liba.so"), "own/liba.so");
}

#[test]
fn rpath_is_inherited_and_runpath_is_not() {
    let bench = bench!();
    bench.library("deep/libc1.so", &[], &[]);
    bench.library("mid/libb.so", &["deep/libc1.so"], &[]);
    bench.library("mid/librun.so", &["deep/libc1.so"], &[NEW, &path(&bench.at("nowhere"))]);
    let both = path(&format!("{}:{}", bench.at("mid"), bench.at("deep")));
    bench.program("old", &["mid/libb.so"], &[OLD, &both]);
    bench.program("new", &["mid/libb.so"], &[NEW, &both]);
    bench.program("mixed", &["mid/librun.so"], &[OLD, &both]);
    let setting = bench.setting();
    assert_eq!(winner(&bench, &bench.same("old", &setting), "libc1.so"), "deep/libc1.so");
    assert_eq!(winner(&bench, &bench.same("new", &setting), "libc1.so"), "Missing");
    // An object with RUNPATH looks at no RPATH at all, not even the program's.
    assert_eq!(winner(&bench, &bench.same("mixed", &setting), "libc1.so"), "Missing");
}

#[test]
fn the_chain_goes_through_an_object_with_runpath() {
    let bench = bench!();
    bench.library("d/libd.so", &[], &[]);
    bench.library("c/libc1.so", &["d/libd.so"], &[]);
    bench.library("b/libb.so", &["c/libc1.so"], &[NEW, &path(&bench.at("c"))]);
    bench.library("a/liba.so", &["b/libb.so"], &[OLD, &path(&format!("{}:{}", bench.at("b"), bench.at("d")))]);
    bench.program("main", &["a/liba.so"], &[NEW, &path(&bench.at("a"))]);
    let found = bench.same("main", &bench.setting());
    assert_eq!(winner(&bench, &found, "libd.so"), "d/libd.so");
    assert_eq!(
        *rule(&found, "libd.so"),
        Rule::Rpath { of: bench.at("a/liba.so"), entry: bench.at("b/../d").replace("b/../", "") }
    );
}

#[test]
fn tokens_stand_for_the_object_the_library_directory_and_the_platform() {
    let bench = bench!();
    let this = loader(&Root::machine());
    let (lib, platform) = (format!("x/{}/libl.so", this.lib), format!("x/{}/libp.so", this.cpu.platform));
    bench.library("lib/libo.so", &[], &[]);
    bench.library(&lib, &[], &[]);
    bench.library(&platform, &[], &[]);
    for (name, tags) in [("bin/old", OLD), ("bin/new", NEW)] {
        let entries = path("$ORIGIN/../lib:${ORIGIN}/../x/$LIB:$ORIGIN/../x/${PLATFORM}:$ORIGINAL");
        bench.program(name, &["lib/libo.so", &lib, &platform], &[tags, &entries]);
        let found = bench.same(name, &bench.setting());
        for file in ["libo.so", "libl.so", "libp.so"] {
            assert!(matches!(found.links.iter().find(|it| it.name == file).unwrap().end, End::Found { .. }), "{file}");
        }
        // A program is known by its real path, whatever link it is started by.
        let link = format!("far/{}", name.rsplit('/').next().unwrap());
        fs_err::create_dir_all(bench.path().join("far")).unwrap();
        fs_err::os::unix::fs::symlink(bench.at(name), bench.at(&link)).unwrap();
        bench.same(&link, &bench.setting());
    }
    // A library is known by the path it was opened by.
    bench.library("q/libq.so", &["lib/libo.so"], &[NEW, &path("$ORIGIN/../lib")]);
    fs_err::create_dir_all(bench.path().join("far/q")).unwrap();
    fs_err::os::unix::fs::symlink(bench.at("q/libq.so"), bench.at("far/q/libq.so")).unwrap();
    bench.program("user", &["q/libq.so"], &[NEW, &path(&bench.at("far/q"))]);
    assert_eq!(winner(&bench, &bench.same("user", &bench.setting()), "libo.so"), "Missing");
}

#[test]
fn every_searched_directory_has_its_subdirectories_for_the_processor() {
    let bench = bench!();
    bench.library("lib/libz9.so", &[], &[]);
    bench.library("lib/liby9.so", &[], &[]);
    for level in 2..=4 {
        bench.copy("lib/libz9.so", &format!("lib/glibc-hwcaps/x86-64-v{level}/libz9.so"));
    }
    bench.copy("lib/liby9.so", "lib/tls/liby9.so");
    bench.copy("lib/liby9.so", "lib/tls/x86_64/x86_64/liby9.so");
    bench.copy("lib/libz9.so", "env/x86_64/libz9.so");
    bench.program("main", &["lib/libz9.so", "lib/liby9.so"], &[NEW, &path(&bench.at("lib"))]);
    bench.same("main", &bench.setting());
    bench.same("main", &bench.with_path(&bench.at("env")));
    // Another processor is an input, not a question to this one.
    let mut other = loader(&Root::machine());
    other.cpu = simpack::elf::resolve::Cpu::x86_64(3);
    let found = bench.setting().ours(&other, &bench.at("main"), &[]).unwrap();
    assert_eq!(winner(&bench, &found, "libz9.so"), "lib/glibc-hwcaps/x86-64-v3/libz9.so");
}

#[test]
fn files_for_other_machines_are_passed_over_and_files_that_are_none_end_the_process() {
    let bench = bench!();
    bench.library("good/liba.so", &[], &[]);
    let bytes = fs_err::read(bench.path().join("good/liba.so")).unwrap();
    let changed = |name: &str, at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        fs_err::create_dir_all(bench.path().join(name)).unwrap();
        fs_err::write(bench.path().join(name).join("liba.so"), bytes).unwrap();
    };
    changed("arm", 18, 183);
    changed("small", 4, 1);
    changed("big", 5, 2);
    changed("abi", 7, 9);
    changed("padding", 12, 1);
    changed("object", 16, 1);
    for (name, text) in
        [("script", "/* GNU ld script: long enough to hold the header of an ELF file */ INPUT(x)"), ("short", "x")]
    {
        fs_err::create_dir_all(bench.path().join(name)).unwrap();
        fs_err::write(bench.path().join(name).join("liba.so"), text).unwrap();
    }
    fs_err::create_dir_all(bench.path().join("folder/liba.so")).unwrap();
    bench.program("main", &["good/liba.so"], &[NEW, &path(&bench.at("good"))]);
    for name in ["arm", "small", "big", "abi", "padding", "object", "script", "short", "folder"] {
        let found = bench.same("main", &bench.with_path(&format!("{}:{}", bench.at(name), bench.at("good"))));
        let skipped = matches!(name, "arm" | "small");
        let passed = winner(&bench, &found, "liba.so") == "good/liba.so";
        assert_eq!(passed, skipped, "{name}: {:#?}", found.links);
    }
}

#[test]
fn loaded_already_by_soname_by_inode_and_by_path() {
    let bench = bench!();
    bench.library("lib/liba.so", &[], &[]);
    bench.library("lib/libother.so", &[], &["-Wl,-soname,libsame.so"]);
    bench.library("lib/libuser.so", &["lib/liba.so"], &[]);
    for (link, target) in [("lib/libalias.so", "liba.so"), ("lib/libsame.so", "liba.so")] {
        fs_err::os::unix::fs::symlink(target, bench.path().join(link)).unwrap();
    }
    // The same library by two names, and a name that the SONAME of another answers.
    let names = ["-Wl,-soname,libx.so"];
    bench.library("stub/libalias.so", &[], &[]);
    bench.library("stub/libnamed.so", &[], &[]);
    bench.build(
        "lib/libx.so",
        "int here;",
        &[&["-shared", "-fPIC", "-nostdlib"], &names[..]].concat(),
        &["stub/libalias.so"],
    );
    bench.program(
        "main",
        &["lib/liba.so", "lib/libother.so", "lib/libx.so", "lib/libuser.so"],
        &[OLD, &path(&bench.at("lib"))],
    );
    let found = bench.same("main", &bench.setting());
    let files = found.objects.iter().filter(|object| object.path.ends_with("liba.so")).count();
    assert_eq!(files, 1, "{:#?}", found.objects);
    // A path as NEEDED: nothing is searched.
    bench.build("lib/libpath.so", "int here;", &["-shared", "-fPIC", "-nostdlib"], &[]);
    bench.program("direct", &["lib/libpath.so", "lib/liba.so"], &[NEW, &path(&bench.at("nothing"))]);
    let found = bench.same("direct", &bench.setting());
    let link = found.links.iter().find(|link| link.name.contains('/')).expect("a name with slashes");
    assert_eq!(link.by, Some(Rule::Path));
    // Preloaded twins answer for the SONAME.
    bench.copy("lib/liba.so", "twin/liba.so");
    for preload in [
        bench.at("twin/liba.so"),
        format!("{} libnothing.so", bench.at("twin/liba.so")),
        "liba.so:libuser.so".to_owned(),
    ] {
        let setting = Setting { preload: Some(preload), ..bench.setting() };
        bench.same("main", &setting);
    }
}

#[test]
fn relative_empty_and_repeated_entries() {
    let bench = bench!();
    bench.library("one/liba.so", &[], &[]);
    bench.library("two/libb.so", &[], &[]);
    bench.library("libc9.so", &[], &[]);
    bench.program("main", &["one/liba.so", "two/libb.so", "libc9.so"], &[NEW, &path("one:two//:one:")]);
    bench.program("bare", &["one/liba.so", "two/libb.so", "libc9.so"], &[]);
    let found = bench.same("main", &bench.setting());
    assert!(found.paths.iter().any(|entry| entry.relative), "{:?}", found.paths);
    for text in ["one:two:", "one;two", ":one", "one::two/", ".:./one:two/.", "$ORIGIN/one:$ORIGIN/two", "/:one"] {
        bench.same("bare", &bench.with_path(text));
    }
    let elsewhere = Setting { directory: "/".into(), ..bench.setting() };
    assert_eq!(winner(&bench, &bench.same("main", &elsewhere), "liba.so"), "Missing");
}

#[test]
fn an_object_may_forbid_default_directories() {
    let bench = bench!();
    bench.library("lib/libn.so", &[], &["-Wl,-z,nodefaultlib", "-lz", "-lm"]);
    bench.program("main", &["lib/libn.so"], &[OLD, &path(&bench.at("lib"))]);
    bench.program("forbids", &["lib/libn.so"], &["-Wl,-z,nodefaultlib", OLD, &path(&bench.at("lib"))]);
    bench.same("main", &bench.setting());
    let found = bench.same("forbids", &bench.setting());
    let libc = found.links.iter().find(|link| link.name == "libc.so.6").unwrap();
    assert_eq!(libc.end, End::Missing);
    assert!(libc.candidates.iter().any(|candidate| candidate.outcome == Outcome::NoDefault), "{libc:#?}");
}

#[test]
fn versions_that_the_winner_lacks() {
    let bench = bench!();
    let map = |nodes: &str| fs_err::write(bench.path().join("map"), nodes).unwrap();
    let script = format!("-Wl,--version-script={}", bench.at("map"));
    let flags = ["-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libv.so", script.as_str()];
    map("V_1 { global: one; }; V_2 { global: two; } V_1;");
    bench.build("new/libv.so", "int one(void) { return 1; } int two(void) { return 2; }", &flags, &[]);
    map("V_1 { global: one; local: *; };");
    bench.build("old/libv.so", "int one(void) { return 1; }", &flags, &[]);
    let source = "int two(void); int main(void) { return two(); }";
    bench.build("main", source, &[NEW, &path(&bench.at("new"))], &["new/libv.so"]);
    assert!(bench.same("main", &bench.setting()).missing_versions.is_empty());
    let setting = bench.with_path(&bench.at("old"));
    let found = setting.ours(&loader(&Root::machine()), &bench.at("main"), &[]).unwrap();
    assert_eq!(found.missing_versions.iter().map(|lack| lack.version.as_str()).collect::<Vec<_>>(), ["V_2"]);
    let mut command = Command::new(bench.at("main"));
    let ran = Ran::of(command.env("LD_LIBRARY_PATH", bench.at("old")));
    assert!(ran.stderr.contains("version `V_2' not found"), "{}", ran.stderr);
}

/// What is opened is searched on behalf of the caller, but does not inherit the caller's RPATH.
#[test]
fn opened_libraries_and_their_needs() {
    let bench = bench!();
    bench.library("deep/libdeep.so", &[], &[]);
    bench.library("open/libopen.so", &["deep/libdeep.so"], &[]);
    let source = "#include <dlfcn.h>\n#include <stdio.h>\n\
        int main(int n, char **a) { return dlopen(a[1], RTLD_NOW) ? 0 : (puts(dlerror()), 1); }";
    let both = format!("{}:{}", bench.at("open"), bench.at("deep"));
    bench.build("old", source, &[OLD, &path(&both)], &[]);
    bench.build("new", source, &[NEW, &path(&both)], &[]);
    // A library that calls: its RUNPATH or RPATH finds what it opens, and not what that needs.
    let calls = "#include <dlfcn.h>\nint go(const char *n) { return dlopen(n, RTLD_NOW) ? 0 : 1; }";
    let shared = ["-shared", "-fPIC"];
    bench.build("call/libold.so", calls, &[&shared[..], &[OLD, &path(&both)]].concat(), &[]);
    bench.build("call/libnew.so", calls, &[&shared[..], &[NEW, &path(&both)]].concat(), &[]);
    let through = "int go(const char *); int main(int n, char **a) { return go(a[1]); }";
    for name in ["old", "new"] {
        let library = format!("call/lib{name}.so");
        bench.build(&format!("by-{name}"), through, &[NEW, &path(&bench.at("call"))], &[&library]);
    }
    let this = loader(&Root::machine());
    for (program, name, from) in [
        ("old", "libopen.so", 0),
        ("new", "libopen.so", 0),
        ("by-old", "libopen.so", 2),
        ("by-new", "libopen.so", 2),
        ("by-new", "libdeep.so", 2),
        ("old", "libnone.so", 0),
    ] {
        let setting = bench.setting();
        let (tree, environment) =
            (Root::machine(), simpack::elf::resolve::Environment { directory: "/".into(), ..Default::default() });
        let mut process =
            simpack::elf::resolve::Process::start(&tree, &this, &environment, &bench.at(program)).unwrap();
        let link = process.open(&simpack::elf::resolve::Open { from, name: name.to_owned() });
        let ours = process.finish();
        let works = ours.links[link..].iter().all(|link| matches!(link.end, End::Found { .. }));
        let ran = Ran::of(Command::new(bench.at(program)).arg(name).current_dir(&setting.directory));
        assert_eq!(ran.code == Some(0), works, "{program} {name}: {:#?}\n{}", &ours.links[link..], ran.stdout);
    }
}

#[test]
fn filters_and_auxiliary_filters() {
    let bench = bench!();
    bench.library("lib/libreal.so", &[], &[]);
    let own = path(&bench.at("lib"));
    bench.library("lib/libfilter.so", &[], &["-Wl,-F,libreal.so", OLD, &own]);
    bench.library("lib/libaux.so", &[], &["-Wl,-f,libabsent.so", "-Wl,-f,libreal.so", OLD, &own]);
    bench.program("one", &["lib/libfilter.so"], &[OLD, &own]);
    let found = bench.same("one", &bench.setting());
    assert_eq!(winner(&bench, &found, "libreal.so"), "lib/libreal.so");
}

/// A cache in each format that `ldconfig` writes, below a root of its own.
#[test]
fn the_cache_in_every_format() {
    let bench = bench!();
    let ldconfig = ["/sbin/ldconfig", "/usr/sbin/ldconfig"].into_iter().find(|path| Path::new(path).exists());
    need!(ldconfig.is_some(), "no ldconfig");
    let libc = loader(&Root::machine())
        .directories
        .iter()
        .map(|dir| format!("{dir}/libc.so.6"))
        .find(|path| Path::new(path).exists());
    let root = bench.path().join("root");
    for (from, to) in [(LOADER.to_owned(), LOADER.to_owned()), (libc.clone().unwrap(), libc.unwrap())] {
        let to = root.join(&to[1..]);
        fs_err::create_dir_all(to.parent().unwrap()).unwrap();
        fs_err::copy(from, to).unwrap();
    }
    bench.library("root/opt/a/libzz.so.1", &[], &[]);
    bench.library("root/opt/b/libzz.so.10", &[], &[]);
    bench.copy("root/opt/a/libzz.so.1", "root/opt/b/libzz.so.1");
    bench.copy("root/opt/a/libzz.so.1", "root/opt/a/glibc-hwcaps/x86-64-v2/libzz.so.1");
    bench.copy("root/opt/a/libzz.so.1", "root/opt/b/glibc-hwcaps/x86-64-v3/libzz.so.1");
    bench.program("root/bin/main", &["root/opt/a/libzz.so.1", "root/opt/b/libzz.so.10"], &[]);
    fs_err::create_dir_all(root.join("etc")).unwrap();
    fs_err::write(root.join("etc/ld.so.conf"), "/opt/b\n/opt/a\n").unwrap();
    let setting = Setting { root: Some(root.clone()), ..bench.setting() };
    for format in ["old", "compat", "new", "none"] {
        let _ = fs_err::remove_file(root.join("etc/ld.so.cache"));
        if format != "none" {
            let mut command = Command::new(ldconfig.unwrap());
            Ran::of(command.args(["-r", root.to_str().unwrap(), "-c", format, "-X"])).exit(0);
        }
        let tree = Root::at(&root).unwrap();
        let this = loader(&tree);
        let ours = setting.ours(&this, "/bin/main", &[]).unwrap();
        let found = differences(&setting.theirs("/bin/main", true), &ours);
        assert!(found.is_empty(), "{format}: {found:#?}\n{:#?}", ours.links);
        println!(
            "{format}: {:?} finds {}",
            this.cache.map(|cache| cache.format()),
            winner(&bench, &ours, "libzz.so.1")
        );
    }
}

/// A program with raised rights, really started: the loader ignores the environment, and `$ORIGIN` of the
/// program. The set-group-ID bit raises them, so that the files need not belong to somebody else.
#[test]
fn a_program_with_raised_rights() {
    let bench = bench!();
    for place in ["own", "env", "origin"] {
        bench.library(&format!("{place}/libsame.so"), &[], &[]);
    }
    bench.library("env/libfirst.so", &[], &[]);
    let source = "#include <stdio.h>\n#include <sys/auxv.h>\n\
        int main(void) { char line[4096]; FILE *maps = fopen(\"/proc/self/maps\", \"r\");\
        printf(\"AT_SECURE %lu\\n\", getauxval(AT_SECURE));\
        while (fgets(line, sizeof line, maps)) fputs(line, stdout); return 0; }";
    let directories = path(&format!("$ORIGIN/origin:{}", bench.at("own")));
    let program = bench.build("main", source, &[NEW, &directories], &["own/libsame.so"]);
    // A group that the caller may give and does not act as: any for root, else one of the caller's others.
    let groups = Ran::of(Command::new("id").arg("-G")).stdout;
    let (own, root) = (Ran::of(Command::new("id").arg("-g")).stdout, Ran::of(Command::new("id").arg("-u")).stdout);
    let others = groups.split_whitespace().filter(|group| *group != own.trim());
    let Some(group) = others.chain((root.trim() == "0").then_some("65534")).next() else {
        return skip("the caller is in one group only");
    };
    let group: u32 = group.parse().unwrap();
    std::os::unix::fs::chown(&program, None, Some(group)).unwrap();
    let mode = |bits| std::os::unix::fs::PermissionsExt::from_mode(bits);
    let run = |bits: u32| {
        fs_err::set_permissions(&program, mode(bits)).unwrap();
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", bench.at("env")).env("LD_PRELOAD", bench.at("env/libfirst.so"));
        let said = Ran::of(&mut command).exit(0).stdout;
        let secure = said.starts_with("AT_SECURE 1");
        let mapped = |name: &&str| said.lines().any(|line| line.ends_with(&bench.at(name)));
        let all = ["own/libsame.so", "env/libsame.so", "origin/libsame.so", "env/libfirst.so"];
        (secure, all.into_iter().filter(mapped).collect::<Vec<_>>())
    };
    let ours = || {
        let library_path = format!("LD_LIBRARY_PATH={}", bench.at("env"));
        let preload = format!("LD_PRELOAD={}", bench.at("env/libfirst.so"));
        let args = ["resolve", "main", "--json", "--env", &library_path, "--env", &preload];
        let json = Ran::of(&mut simpack(bench.path(), &args)).json();
        let file = &json["files"][0];
        let objects: Vec<String> =
            file["objects"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap().to_owned()).collect();
        let all = ["own/libsame.so", "env/libsame.so", "origin/libsame.so", "env/libfirst.so"];
        let came: Vec<_> = all.into_iter().filter(|name| objects.contains(&bench.at(name))).collect();
        (file["environment"]["secure"] == true, came)
    };
    let plain = run(0o755);
    assert_eq!(plain, (false, vec!["env/libsame.so", "env/libfirst.so"]));
    assert_eq!(ours(), plain);
    let raised = run(0o2755);
    need!(raised.0, "the bit has no effect here: a file system without it, or a process that may not gain rights");
    assert_eq!(raised, (true, vec!["own/libsame.so"]));
    assert_eq!(ours(), raised);
}
