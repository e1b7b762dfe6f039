//! musl's rules against musl's loader, which lists as `ldd`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use simpack::elf::resolve::{End, Environment, Loader, NeedKind, Process};
use simpack::fs::Root;

use super::rules::Bench;
use crate::patching::compiler;
use crate::support::{Ran, need};

const LOADER: &str = "/lib/ld-musl-x86_64.so.1";

fn same(bench: &Bench, file: &str, library_path: Option<&str>) {
    let tree = Root::machine();
    let mut loader = Loader::glibc(62, &["/lib", "/usr/local/lib", "/usr/lib"]);
    assert!(loader.find(&tree, LOADER));
    let environment = Environment {
        library_path: library_path.map(str::to_owned),
        directory: bench.path().to_str().unwrap().to_owned(),
        ..Environment::default()
    };
    let ours = Process::start(&tree, &loader, &environment, &bench.at(file)).unwrap().finish();
    let mut command = Command::new(LOADER);
    command.arg("--list").arg(bench.at(file)).env_clear().current_dir(bench.path());
    command.envs(library_path.iter().map(|path| ("LD_LIBRARY_PATH", path)));
    let ran = Ran::of(&mut command);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    let theirs: BTreeSet<String> = said
        .lines()
        .filter_map(|line| {
            if let Some(rest) = line.strip_prefix("Error loading shared library ") {
                return Some(format!("{} failed", rest.split(':').next()?));
            }
            let (name, rest) = line.trim().split_once(" => ")?;
            Some(format!("{name} => {}", rest.split(" (0x").next()?))
        })
        .filter(|line| !line.ends_with(LOADER) && !line.contains("=> ldd"))
        .collect();
    let ours: BTreeSet<String> = ours
        .links
        .iter()
        .filter(|link| link.kind == NeedKind::Needed)
        .filter_map(|link| match &link.end {
            End::Found { object, new: true } => Some(format!("{} => {}", link.name, ours.objects[*object].path)),
            End::Found { .. } => None,
            _ => Some(format!("{} failed", link.name)),
        })
        .collect();
    assert_eq!(ours, theirs, "{file} {library_path:?}: {said}");
}

#[test]
fn the_rules_of_musl() {
    need!(compiler().is_some() && Path::new(LOADER).exists(), "no musl here");
    let bench = Bench::new();
    let flags = ["-specs", "/usr/lib/x86_64-linux-musl/musl-gcc.specs"];
    need!(Path::new(flags[1]).exists(), "no musl-gcc here");
    let path = |tags: &str, dirs: &str| [tags.to_owned(), format!("-Wl,-rpath,{dirs}")];
    let (old, new) = ("-Wl,--disable-new-dtags", "-Wl,--enable-new-dtags");
    bench.library("deep/libdeep.so", &[], &[]);
    bench.library("mid/libmid.so", &["deep/libdeep.so"], &[]);
    bench.copy("deep/libdeep.so", "env/libdeep.so");
    bench.library("own/libown.so", &["deep/libdeep.so"], &[new, "-Wl,-rpath,$ORIGIN/../deep"]);
    bench.library("own/libbad.so", &["deep/libdeep.so"], &[new, "-Wl,-rpath,$LIB:$ORIGIN/../deep"]);
    for (name, tags) in [("old", old), ("new", new)] {
        let [tags, dirs] = path(tags, &format!("{}:$ORIGIN/deep", bench.at("mid")));
        let all = [&flags[..], &[&tags, &dirs]].concat();
        bench.program(name, &["mid/libmid.so"], &all);
        for library_path in [None, Some(bench.at("env")), Some(format!("\n{}:", bench.at("env")))] {
            same(&bench, name, library_path.as_deref());
        }
    }
    for name in ["own", "bad"] {
        let library = format!("own/lib{name}.so");
        let [tags, dirs] = path(new, &bench.at("own"));
        bench.program(&format!("by-{name}"), &[&library], &[&flags[..], &[&tags, &dirs]].concat());
        same(&bench, &format!("by-{name}"), None);
        same(&bench, &format!("by-{name}"), Some("env"));
    }
    // The same file by two names is one library.
    fs_err::os::unix::fs::symlink("libdeep.so", bench.path().join("deep/libtwo.so")).unwrap();
    bench.library("stub/libtwo.so", &[], &[]);
    let [tags, dirs] = path(new, &bench.at("deep"));
    bench.program("two", &["deep/libdeep.so", "stub/libtwo.so"], &[&flags[..], &[&tags, &dirs]].concat());
    same(&bench, "two", None);
}

/// The path file below another root stands in the place of the built-in directories.
#[test]
fn the_path_file_of_musl() {
    need!(compiler().is_some() && Path::new(LOADER).exists(), "no musl here");
    let bench = Bench::new();
    let flags = ["-specs", "/usr/lib/x86_64-linux-musl/musl-gcc.specs"];
    need!(Path::new(flags[1]).exists(), "no musl-gcc here");
    bench.library("root/one/liba.so", &[], &[]);
    for to in ["two/liba.so", "lib/liba.so", "two/libb.so", "lib/libc-only.so"] {
        bench.copy("root/one/liba.so", &format!("root/{to}"));
    }
    bench.library("root/two/libb.so", &[], &[]);
    bench.library("root/lib/libd.so", &[], &[]);
    let needs = ["root/one/liba.so", "root/two/libb.so", "root/lib/libd.so"];
    bench.program("root/bin/main", &needs, &flags);
    let root = bench.path().join("root");
    fs_err::copy(LOADER, root.join("lib/ld-musl-x86_64.so.1")).unwrap();
    fs_err::create_dir_all(root.join("etc")).unwrap();
    for text in ["/two:/one\n/lib\n", "\n/one:\n:/two", "", "/none"] {
        fs_err::write(root.join("etc/ld-musl-x86_64.path"), text).unwrap();
        let tree = Root::at(&root).unwrap();
        let mut loader = Loader::glibc(62, &[]);
        assert!(loader.find(&tree, LOADER));
        let environment = Environment { directory: "/".to_owned(), ..Environment::default() };
        let ours = Process::start(&tree, &loader, &environment, "/bin/main").unwrap().finish();
        let mut command = Command::new(LOADER);
        command.args(["--list", "/bin/main"]).env_clear();
        super::oracle::enter(&mut command, &root);
        let ran = Ran::of(&mut command);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        let wins = |name: &str| {
            let link = ours.links.iter().find(|link| link.name == name).unwrap();
            match &link.end {
                End::Found { object, .. } => ours.objects[*object].path.clone(),
                _ => "nothing".to_owned(),
            }
        };
        for name in ["liba.so", "libb.so", "libd.so"] {
            let line = said.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {said}"));
            let theirs = line.split(" => ").nth(1).map_or("nothing", |rest| rest.split(" (0x").next().unwrap());
            assert_eq!(wins(name), theirs, "{text:?}: {said}");
        }
    }
}
