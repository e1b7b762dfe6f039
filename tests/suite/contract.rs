//! What core, runtime compilation and kernels promise, as `readelf` sees the packed files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use simpack::arch::GlibcVersion;
use simpack::fs::Digest;

use crate::support::{Prefix, Ran, files, need, volley};

fn readelf(args: &[&str], file: &Path) -> Option<String> {
    let path = which::which("readelf").ok()?;
    Some(Ran::of(Command::new(path).env("LC_ALL", "C").args(args).arg(file)).exit(0).stdout)
}

/// Values in brackets of one kind of dynamic entry.
fn dynamic(text: &str, tag: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.contains(&format!("({tag})")));
    lines.map(|line| line[line.find('[').unwrap() + 1..line.rfind(']').unwrap()].to_owned()).collect()
}

/// The highest GLIBC version that a file asks for.
pub fn glibc_floor(file: &Path) -> Option<GlibcVersion> {
    let text = readelf(&["-V", "-W"], file)?;
    let versions = text
        .split("GLIBC_")
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?.parse::<GlibcVersion>().ok());
    versions.max()
}

#[test]
fn libraries_have_their_names_paths_and_needs() {
    need!(which::which("readelf").is_ok(), "readelf is not here");
    let prefix = Prefix::of(&["volley-core", "volley-rtc"]);
    for (file, soname, origin) in [
        ("lib/libvolley.so.1.0.0", Some("libvolley.so.1"), "$ORIGIN"),
        ("lib/libvolley_rtc.so.1.0.0", Some("libvolley_rtc.so.1.0"), "$ORIGIN"),
        ("bin/volley", None, "$ORIGIN/../lib"),
    ] {
        let path = prefix.path().join(file);
        let text = readelf(&["-d", "-W"], &path).unwrap();
        assert_eq!(dynamic(&text, "SONAME"), Vec::from_iter(soname.map(str::to_owned)), "{file}");
        assert_eq!(dynamic(&text, "RPATH"), [""; 0], "{file}");
        let runpath = dynamic(&text, "RUNPATH");
        assert_eq!(runpath.len(), 1, "{file}: {runpath:?}");
        let entries: Vec<_> = runpath[0].split(':').collect();
        assert_eq!(entries[0], origin, "{file}");
        for entry in &entries {
            // Where the loader looks anyway must not come before LD_LIBRARY_PATH's neighbours, nor a stub.
            assert!(!["/lib", "/lib64", "/usr/lib", "/usr/lib64"].contains(entry), "{file}: {entry}");
            assert!(!entry.contains("stubs") && !entry.is_empty(), "{file}: {entry}");
        }
        let known =
            ["libvolley.so.1", "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"];
        for needed in dynamic(&text, "NEEDED") {
            assert!(known.contains(&needed.as_str()), "{file} needs {needed}");
        }
        assert!(!text.contains("(TEXTREL)"), "{file}");
        let stack = readelf(&["-l", "-W"], &path).unwrap();
        let stack =
            stack.lines().find(|line| line.contains("GNU_STACK")).unwrap_or_else(|| panic!("{file}: no GNU_STACK"));
        assert!(stack.contains("RW ") && !stack.contains("RWE"), "{file}: {stack}");
        let sections = readelf(&["-S", "-W"], &path).unwrap();
        for section in [".nv_fatbin", "__nv_relfatbin", ".debug_info"] {
            assert!(!sections.contains(section), "{file} has {section}");
        }
        let symbols = readelf(&["--dyn-syms", "-W"], &path).unwrap();
        assert!(!symbols.contains("__cudaRegister"), "{file}");
        let exported = symbols.lines().filter(|line| line.contains(" GLOBAL ") && !line.contains(" UND "));
        for line in exported.filter(|_| soname.is_some()) {
            assert!(line.split_whitespace().any(|word| word.starts_with("volley_")), "{file} exports {line}");
        }
        let floor = glibc_floor(&path).unwrap();
        assert!(floor <= GlibcVersion::new(2, 28) && floor >= GlibcVersion::new(2, 2), "{file} needs glibc {floor}");
    }
}

#[test]
fn every_cubin_is_for_its_capability_and_every_variant_differs() {
    need!(which::which("readelf").is_ok(), "readelf is not here");
    let volley = volley();
    let mut targets = BTreeSet::new();
    for row in volley.summary["packages"].as_array().unwrap() {
        let Some(target) = row["package"].as_str().unwrap().strip_prefix("volley-kernels-") else { continue };
        let root = volley.bundle(&format!("volley-kernels-{target}"));
        let mut by_unit: BTreeMap<String, BTreeSet<Digest>> = BTreeMap::new();
        for file in files(&root).iter().filter(|file| file.ends_with(".cubin") || file.ends_with(".ptx")) {
            let path = root.join(file);
            assert!(file.contains("/cuda13/") && file.contains(&format!("/{target}/")), "{file}");
            let unit = file.rsplit('/').next().unwrap().to_owned();
            by_unit.entry(unit).or_default().insert(Digest::of_file(&path).unwrap());
            let (kind, number) = target.split_once('_').unwrap();
            if kind == "compute" {
                let text = fs_err::read_to_string(&path).unwrap();
                assert!(text.contains(&format!(".target sm_{number}")), "{file}");
                continue;
            }
            let header = readelf(&["-h", "-W"], &path).unwrap();
            let field = |name: &str| {
                let line = header.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
                line.split_once(':').unwrap().1.trim().to_owned()
            };
            let machine = field("Machine");
            assert!(
                machine.contains("CUDA") || machine.contains("190") || machine.contains("0xbe"),
                "{file}: {machine}"
            );
            // Up to ELF ABI version 7 the capability is the low byte of e_flags, from 8 on the second.
            let flags = field("Flags");
            let flags =
                u32::from_str_radix(flags.split([',', ' ']).next().unwrap().trim_start_matches("0x"), 16).unwrap();
            let byte = if field("ABI Version") == "8" { flags >> 8 & 0xff } else { flags & 0xff };
            assert_eq!(byte.to_string(), number, "{file}: e_flags {flags:#x}");
        }
        assert_eq!(by_unit.len(), 2, "{target}: {by_unit:?}");
        assert!(by_unit.values().all(|digests| digests.len() == 3), "{target}: {by_unit:?}");
        targets.insert(target.to_owned());
    }
    assert_eq!(targets.len(), 9);
}
