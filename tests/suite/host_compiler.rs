//! `--host system`: the machine's own compiler, and the glibc that its binaries really need.

use std::path::Path;

use crate::contract::glibc_floor;
use crate::simulating::net;
use crate::support::{CacheView, Prefix, Ran, conda_index, need, package_file, scratch, simpack, unpack};

#[test]
fn the_machines_compiler_gives_packages_with_a_computed_glibc() {
    need!(["c++", "g++"].iter().any(|name| which::which(name).is_ok()), "no C++ compiler");
    need!(which::which("readelf").is_ok(), "readelf is not here");
    let (dir, view) = (scratch(), CacheView::new(&[]));
    let dist = dir.path().join("dist");
    let mut command = simpack(
        Path::new(env!("CARGO_MANIFEST_DIR")),
        &["build", "--host", "system", "--component", "core,rtc,dev", "--json", "--dist"],
    );
    command.arg(&dist).arg("--work").arg(dir.path().join("work")).env("SIMPACK_CACHE_DIR", view.root.path());
    let summary = Ran::of(&mut command).exit(0).json();
    let steps: Vec<_> = summary["steps"].as_array().unwrap().iter().map(|step| step["id"].as_str().unwrap()).collect();
    assert_eq!(steps, ["host core", "host source"], "no kernel is needed for these components");

    let prefix = dir.path().join("prefix");
    for (package, files) in [
        ("volley-core", &["lib/libvolley.so.1.0.0", "bin/volley"][..]),
        ("volley-rtc", &["lib/libvolley_rtc.so.1.0.0"]),
    ] {
        let archive = package_file(&dist.join("conda"), package);
        unpack(&archive, "pkg", &prefix);
        let floor = files.iter().filter_map(|file| glibc_floor(&prefix.join(file))).max().unwrap();
        let depends = conda_index(&archive)["depends"].to_string();
        assert!(depends.contains(&format!("\"__glibc >={floor}\"")), "{package}: {depends}, readelf says {floor}");
        // The machine's C++ library is not packed, so the package says where it comes from.
        assert!(depends.contains("libstdcxx >="), "{package}: {depends}");
    }
    let run = |program: &Path| {
        let mut command = std::process::Command::new(program);
        Ran::of(command.env_clear().args(["run", "--json", "--backend", "cpu"]).arg(net("balanced"))).exit(0).json()
    };
    let pinned = Prefix::of(&["volley-core"]);
    let (ours, theirs) = (run(&prefix.join("bin/volley")), run(&pinned.path().join("bin/volley")));
    assert_eq!(ours["digest"], theirs["digest"], "another compiler gives other spikes");
}
