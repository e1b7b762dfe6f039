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
