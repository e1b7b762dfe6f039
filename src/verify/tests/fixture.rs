//! Bundles for tests: small trees whose libraries the system's compiler makes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tempfile::TempDir;

use crate::arch::{Platform, VersionPolicy};
use crate::bundle::{
    Artifact, ArtifactKind, Bundle, BundleManifest, Dependency, KERNELS_LIST, KERNELS_SCHEMA, KernelsList,
    MANIFEST_SCHEMA, Provenance,
};
use crate::data::Data;
use crate::elf;
use crate::fs::{self, Digest, EntryKind};
use crate::lint::Settings;
use crate::recipe::{ComponentKind, Used};
use crate::report::{Level, Report};
use crate::verify::{VerifyContext, verify};

/// A bundle under construction. `name` is the part after `volley-`.
pub(super) struct Tree {
    dir: TempDir,
    pub(super) manifest: BundleManifest,
}

/// A sealed bundle with the directory that holds it.
pub(super) struct Sealed {
    _dir: TempDir,
    pub(super) bundle: Bundle,
}

impl Tree {
    pub(super) fn new(component: ComponentKind, name: &str) -> Self {
        let policy = match component {
            ComponentKind::Rtc => VersionPolicy::MajorMinor,
            ComponentKind::Kernels => VersionPolicy::Capability,
            _ => VersionPolicy::Major,
        };
        let manifest = BundleManifest {
            waivers: Vec::new(),
            schema: MANIFEST_SCHEMA,
            package: format!("volley-{name}"),
            simulator: "volley".to_owned(),
            version: "1.2.0".parse().unwrap(),
            component,
            policy,
            platform: (component != ComponentKind::Kernels).then_some(Platform::Linux64),
            target: None,
            host: None,
            cuda: None,
            kernel_abi: None,
            exact: BTreeMap::new(),
            needs: BTreeMap::new(),
            embedded: Vec::new(),
            kernels: Vec::new(),
            glibc: None,
            smoke: None,
            compile: None,
            device_sources: None,
            as_wheel: false,
            uses: Vec::new(),
            dependencies: BTreeSet::new(),
            conditions: Vec::new(),
            exports: Vec::new(),
            license: None,
            licences: BTreeMap::new(),
            opens: Vec::new(),
            outside: Vec::new(),
            artifacts: Vec::new(),
            provenance: Provenance {
                simpack: "0".to_owned(),
                recipe: Digest::of(b""),
                plan: Digest::of(b""),
                tools: BTreeMap::new(),
                sources: BTreeMap::new(),
                source_date_epoch: 0,
            },
        };
        Self { dir: tempfile::tempdir().unwrap(), manifest }
    }

    pub(super) fn core() -> Self {
        Self::new(ComponentKind::Core, "core")
    }

    pub(super) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn uses(mut self, spec: &str) -> Self {
        let name = spec.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).unwrap_or(spec.len());
        let (package, versions) = (spec[..name].to_owned(), spec[name..].trim().to_owned());
        self.manifest.uses.push(Dependency::from(&Used {
            library: None,
            package,
            versions,
            provides: Vec::new(),
            wheel: None,
            headers_only: false,
        }));
        self
    }

    pub(super) fn opens(mut self, name: &str) -> Self {
        self.manifest.opens.push(name.to_owned());
        self
    }

    pub(super) fn file(self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        fs::write_atomic(&self.dir.path().join(path), bytes.as_ref()).unwrap();
        self
    }

    pub(super) fn mode(self, path: &str, mode: u32) -> Self {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(self.dir.path().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    pub(super) fn link(self, path: &str, to: &str) -> Self {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, path).unwrap();
        self
    }

    /// A shared library with its SONAME the same as the file's name; flags are gcc's.
    pub(super) fn library(self, path: &str, flags: &[&str]) -> Self {
        let soname = format!("-Wl,-soname,{}", path.rsplit('/').next().unwrap());
        let mut all = vec!["-shared", "-fPIC", &*soname, "-Wl,-z,noexecstack"];
        all.extend(flags);
        self.compiled(path, "int answer(void) { return 42; }", &all)
    }

    /// Whatever gcc makes of a source text.
    pub(super) fn compiled(self, path: &str, source: &str, flags: &[&str]) -> Self {
        let work = tempfile::tempdir().unwrap();
        let made = crate::elf_fixture::compile(work.path(), "made", source, flags);
        self.file(path, std::fs::read(made).unwrap())
    }

    /// Writes `kernels.json` into every directory of device code that has none, as staging does.
    fn lists(&self) {
        let (Some(tag), Some(target), Some(cuda)) =
            (&self.manifest.kernel_abi, self.manifest.target, self.manifest.cuda)
        else {
            return;
        };
        let mut dirs: BTreeMap<String, Vec<Artifact>> = BTreeMap::new();
        for entry in fs::walk(self.dir.path()).unwrap() {
            let is_code = [".cubin", ".ptx", ".fatbin"].iter().any(|end| entry.path.ends_with(end));
            if let EntryKind::File { size, executable } = entry.kind
                && is_code
            {
                let (dir, name) = entry.path.rsplit_once('/').unwrap();
                let sha256 = Digest::of_file(&self.dir.path().join(&entry.path)).unwrap();
                let kind = ArtifactKind::File { sha256, size, executable };
                dirs.entry(dir.to_owned()).or_default().push(Artifact { path: name.to_owned(), kind });
            }
        }
        for (dir, modules) in dirs {
            let list = KernelsList {
                schema: KERNELS_SCHEMA,
                kernel_abi: tag.clone(),
                target,
                cuda: Some(cuda),
                variant: dir.rsplit('/').nth(1).unwrap().to_owned(),
                modules,
                kernels: self.manifest.kernels.clone(),
                compilers: BTreeMap::new(),
            };
            let path = self.dir.path().join(dir).join(KERNELS_LIST);
            if !path.exists() {
                fs::write_atomic(&path, &serde_json::to_vec(&list).unwrap()).unwrap();
            }
        }
    }

    /// Completes the manifest as a build does.
    pub(super) fn seal(mut self) -> Sealed {
        self.lists();
        for entry in fs::walk(self.dir.path()).unwrap() {
            let file = self.dir.path().join(&entry.path);
            let kind = match entry.kind {
                EntryKind::Directory => continue,
                EntryKind::Link(to) => ArtifactKind::Link { to },
                EntryKind::File { size, executable } => {
                    let bytes = std::fs::read(&file).unwrap();
                    if let Ok(facts) = elf::facts(&bytes) {
                        self.manifest.glibc = self.manifest.glibc.max(facts.glibc());
                    }
                    ArtifactKind::File { sha256: Digest::of(&bytes), size, executable }
                }
            };
            self.manifest.artifacts.push(Artifact { path: entry.path, kind });
        }
        let text = serde_json::to_vec(&self.manifest).unwrap();
        fs::write_atomic(&self.dir.path().join(self.manifest.path()), &text).unwrap();
        Sealed { bundle: Bundle::new(self.dir.path().to_owned(), self.manifest), _dir: self.dir }
    }
}

pub(super) fn context() -> VerifyContext {
    VerifyContext::load(&Data::at("no such directory")).unwrap()
}

/// The report over bundles with every lint at its default.
pub(super) fn report(bundles: &[&Sealed], context: &VerifyContext) -> Report {
    let bundles: Vec<Bundle> = bundles.iter().map(|sealed| sealed.bundle.clone()).collect();
    verify(&bundles, context, &Settings::default())
}

/// `lint | subject | message` of all findings, for each of their subjects, sorted as if each were a finding of its own.
pub(super) fn said(report: &Report) -> Vec<String> {
    let mut each: Vec<_> =
        report.findings.iter().flat_map(|one| one.subjects().map(move |about| (one, about))).collect();
    each.sort_by_key(|(one, about)| (Reverse(one.level), &one.lint, about.to_owned(), &one.message));
    each.into_iter().map(|(one, about)| format!("{} | {about} | {}", one.lint, one.message)).collect()
}

/// Asserts that bundles give exactly these findings, all of them denied.
pub(super) fn denies(bundles: &[&Sealed], wanted: &[&str]) {
    let report = report(bundles, &context());
    assert_eq!(said(&report), wanted, "{:#?}", report.incomplete);
    assert!(report.findings.iter().all(|finding| finding.level == Level::Deny && finding.fix.is_some()));
}

/// Asserts that bundles are clean: no finding, nothing left out.
pub(super) fn passes(bundles: &[&Sealed]) {
    let report = report(bundles, &context());
    assert_eq!(said(&report), [""; 0]);
    assert_eq!(report.incomplete, []);
}
