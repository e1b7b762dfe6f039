//! Installed packages that compile: found by their manifests, whose word on files is checked file by file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::bundle::{self, Artifact, ArtifactKind, BundleManifest};
use crate::error::{Error, Result};
use crate::fs::{self, Digest, Root};
use crate::recipe::ComponentKind;
use crate::ui::Ui;

/// A package that leaves something to the user's machine.
pub(super) struct Installed {
    /// The prefix, without links.
    pub prefix: PathBuf,
    /// What it says of itself.
    pub manifest: BundleManifest,
    /// The simulator's other packages in the prefix that its programs read.
    pub beside: Vec<BundleManifest>,
}

/// The packages of some prefixes that compile; without any, of the active environments.
///
/// # Errors
/// No prefix is named and no environment is active, or one is not there.
pub(super) fn find(prefixes: &[PathBuf], ui: &Ui) -> Result<Vec<Installed>> {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut asked = prefixes.to_vec();
    if asked.is_empty() {
        asked.extend(["CONDA_PREFIX", "VIRTUAL_ENV"].into_iter().filter_map(named));
    }
    if asked.is_empty() {
        return Err(Error::usage("no environment is active").hint("name one: simpack compile --prefix ~/envs/sim"));
    }
    let root = Root::machine();
    let mut found = Vec::new();
    for environment in asked {
        let environment = fs_err::canonicalize(&environment)?;
        let environment = fs::utf8(&environment)?.trim_end_matches('/');
        let places = std::iter::once(environment.to_owned()).chain(bundle::wheel_prefixes(&root, environment));
        for place in places {
            let mut manifests = Vec::new();
            for bundle::FoundManifest { path, manifest } in bundle::manifests(&root, &place) {
                match manifest {
                    Ok(manifest) => manifests.push(manifest),
                    Err(error) => ui.warning(format!("{path}: {error}")),
                }
            }
            let prefix = fs_err::canonicalize(&place)?;
            let compiles = |one: &&BundleManifest| one.compile.is_some() || one.device_sources.is_some();
            found.extend(manifests.iter().filter(compiles).map(|manifest| Installed {
                prefix: prefix.clone(),
                manifest: manifest.clone(),
                beside: manifests.iter().filter(|other| is_read_with(manifest, other)).cloned().collect(),
            }));
        }
    }
    Ok(found)
}

/// Device code is nothing that programs compile with, and may be large; libraries that ship cut are linked.
fn is_read_with(one: &BundleManifest, other: &BundleManifest) -> bool {
    let is_host = other.component != ComponentKind::Kernels || other.is_slice();
    other.simulator == one.simulator && other.package != one.package && is_host
}

impl Installed {
    /// `neuron-rtc 9.0.2`
    pub fn name(&self) -> String {
        format!("{} {}", self.manifest.package, self.manifest.version)
    }

    /// Looks at everything that the manifest has a say in: names that become paths, and the files.
    ///
    /// # Errors
    /// The first thing that is not as a package of simpack has it.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: String| {
            Error::incomplete(self.prefix.join(self.manifest.path()), what)
                .hint("install the package again, from a channel that you trust")
        };
        if !is_name(&self.manifest.simulator) {
            return Err(wrong(format!("`{}` is not the name of a simulator", self.manifest.simulator)));
        }
        if let Some(compile) = &self.manifest.compile {
            if let Some(problem) = compile.problem() {
                return Err(wrong(problem));
            }
            let program = &compile.command[0];
            let is_program = |artifact: &Artifact| {
                artifact.path == *program && matches!(artifact.kind, ArtifactKind::File { executable: true, .. })
            };
            if !self.manifest.artifacts.iter().any(is_program) {
                return Err(wrong(format!("{program}, which it calls, is no program of the package")));
            }
        }
        if let Some(sources) = &self.manifest.device_sources {
            for group in &sources.groups {
                if let Some(variant) = group.variants.iter().find(|variant| !is_name(&variant.name)) {
                    return Err(wrong(format!("`{}` is not the name of a variant", variant.name)));
                }
                let paths = group.sources.iter().map(|source| format!("{}/{source}", sources.directory));
                for path in paths {
                    if !self.manifest.artifacts.iter().any(|artifact| artifact.path == path) {
                        return Err(wrong(format!("{path}, which it compiles, is no file of the package")));
                    }
                }
            }
        }
        for artifact in self.manifest.artifacts.iter().chain(self.beside.iter().flat_map(|other| &other.artifacts)) {
            if let Some(why) = self.differs(artifact)? {
                return Err(wrong(format!("{} {why}", artifact.path)));
            }
        }
        Ok(())
    }

    /// Why an installed file is not the package's, if so.
    fn differs(&self, artifact: &Artifact) -> Result<Option<&'static str>> {
        let path = self.prefix.join(&artifact.path);
        let ArtifactKind::File { sha256, size, .. } = &artifact.kind else { return Ok(None) };
        let Ok(real) = std::fs::canonicalize(&path) else { return Ok(Some("is not there")) };
        if !real.starts_with(&self.prefix) {
            return Ok(Some("leads out of the prefix"));
        }
        let file = fs::open(&real)?;
        let same = file.metadata()?.len() == *size && Digest::of_open(&file)? == *sha256;
        Ok((!same).then_some("is not as it was installed"))
    }

    /// What the package's programs see of the prefix: the files of the simulator's packages, as whole directories where
    /// nothing else is in them, and what it `reads` besides.
    ///
    /// # Errors
    /// A directory cannot be read, or what it reads leads out of the prefix.
    pub fn seen(&self) -> Result<BTreeSet<PathBuf>> {
        let all = self.manifest.artifacts.iter().chain(self.beside.iter().flat_map(|other| &other.artifacts));
        let own: BTreeSet<&str> = all.map(|artifact| artifact.path.as_str()).collect();
        let above: BTreeSet<&str> =
            own.iter().flat_map(|path| path.match_indices('/').map(|(end, _)| &path[..end])).collect();
        let mut seen = BTreeSet::new();
        if self.collect("", (&own, &above), &mut seen)? {
            seen = BTreeSet::from([self.prefix.clone()]);
        }
        for path in self.manifest.compile.iter().flat_map(|compile| &compile.reads) {
            let Ok(real) = std::fs::canonicalize(self.prefix.join(path)) else { continue };
            if !real.starts_with(&self.prefix) {
                return Err(Error::incomplete(
                    self.prefix.join(path),
                    "leads out of the prefix, and the package reads it",
                ));
            }
            seen.insert(real);
        }
        Ok(seen)
    }

    /// Adds what is the simulator's in a directory below the prefix; answers whether all of it is.
    fn collect(
        &self,
        dir: &str,
        (own, above): (&BTreeSet<&str>, &BTreeSet<&str>),
        seen: &mut BTreeSet<PathBuf>,
    ) -> Result<bool> {
        let (mut found, mut whole) = (BTreeSet::new(), true);
        for entry in fs_err::read_dir(self.prefix.join(dir))? {
            let entry = entry?;
            let name = entry.file_name();
            let path = Path::new(dir).join(&name);
            match path.to_str() {
                Some(path) if own.contains(path) => drop(found.insert(self.prefix.join(path))),
                Some(path) if above.contains(path) && entry.file_type()?.is_dir() => {
                    match self.collect(path, (own, above), &mut found)? {
                        true => drop(found.insert(self.prefix.join(path))),
                        false => whole = false,
                    }
                }
                _ => whole = false,
            }
        }
        match whole {
            true => {}
            false => seen.extend(found),
        }
        Ok(whole)
    }
}

/// Whether a text can be the name of a directory.
fn is_name(text: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.starts_with('.') && !text.is_empty() && text.bytes().all(letters)
}
