//! A distribution as the clients of wheels, images and packages of Debian install it for one machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::formats::{dpkg, dpkg_root, named};
use crate::support::{Ran, files, python, scratch, skip, tool};
use crate::wheels::{CLIENTS, Environment};

/// What is installed.
pub struct Distribution<'a> {
    /// Directory of the build.
    pub dist: &'a Path,
    /// Simulator.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
}

impl Distribution<'_> {
    /// The simulator with these extras by pip and by uv; `check` gets the prefix below `site-packages` and the
    /// directory of programs.
    pub fn by_wheels(&self, extras: &str, check: &dyn Fn(&Path, &Path)) {
        if python().is_none() {
            return;
        }
        for client in CLIENTS {
            let environment = Environment::new(client).unwrap();
            environment.install(&self.dist.join("wheel"), &[&format!("{}[{extras}]", self.name)]).exit(0);
            check(&environment.site_packages().join(self.name), &environment.path().join("bin"));
        }
    }

    /// Both refuse these extras, and say which wheel it is about.
    pub fn refused_by_wheels(&self, extras: &str, wheel: &str) {
        if python().is_none() {
            return;
        }
        for client in CLIENTS {
            let environment = Environment::new(client).unwrap();
            let ran = environment.install(&self.dist.join("wheel"), &[&format!("{}[{extras}]", self.name)]);
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(ran.code != Some(0) && said.contains(wheel), "{client:?}: {said}");
        }
    }

    /// The image for a target by umoci; `check` gets its prefix.
    pub fn by_image(&self, target: &str, check: &dyn Fn(&Path)) {
        let Some(umoci) = tool("umoci") else { return };
        let dir = scratch();
        let image = format!("{}:{}-{target}", self.dist.join("oci").display(), self.version);
        let bundle = dir.path().join("bundle");
        Ran::of(Command::new(&umoci).args(["unpack", "--rootless", "--image", &image]).arg(&bundle)).exit(0);
        check(&bundle.join("rootfs/opt").join(self.name));
    }

    /// Packages by the beginnings of their names, installed by dpkg; `check` gets the prefix. Each of `others` is refused
    /// after that, and nothing of it stays.
    pub fn by_dpkg(&self, packages: &[&str], others: &[&str], check: &dyn Fn(&Path)) {
        // SAFETY: it has no preconditions.
        if which::which("dpkg").is_err() || unsafe { libc::geteuid() } != 0 {
            return skip("dpkg installs for root alone");
        }
        let dir = scratch();
        let root = dpkg_root(dir.path());
        let place = self.dist.join("deb");
        let all = files(&place);
        let file = |start: &&str| -> PathBuf { place.join(named(&all, start)) };
        dpkg(&root, &["-i"], &packages.iter().map(file).collect::<Vec<_>>()).exit(0);
        check(&root.join("usr"));
        let before = files(&root.join("usr"));
        for other in others {
            let ran = dpkg(&root, &["-i"], &[file(other)]);
            assert!(ran.code != Some(0) && ran.stderr.contains("conflict"), "{other}: {ran:?}");
            assert_eq!(files(&root.join("usr")), before, "{other}");
        }
        assert_eq!(dpkg(&root, &["--verify"], &[]).exit(0).stdout, "", "dpkg's own digests");
    }
}
