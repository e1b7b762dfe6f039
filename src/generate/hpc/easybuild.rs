//! Easyconfigs of EasyBuild, one for each CUDA release that it has: `cuda_compute_capabilities` says which device code is
//! compiled, and `eb --cuda-compute-capabilities` says otherwise.
//!
//! Core is built by EasyBuild's own support of CMake where it can be, all else by the scripts beside the easyconfig.

use serde::Serialize;

use super::spack;
use crate::arch::KernelTarget;
use crate::build_system::BuildDriver;
use crate::error::{Error, Result};
use crate::fs::Digest;
use crate::generate::{Build, FileSet, Model, Release, Templates};
use crate::manifest::EasyBuildToolchain;
use crate::recipe::{ComponentKind, Source};

#[derive(Serialize)]
struct Values<'a> {
    model: &'a Model,
    homepage: &'a str,
    /// CUDA release, and the version of EasyBuild's module; none without device code.
    cuda: Option<(String, &'a str)>,
    toolchain: &'a EasyBuildToolchain,
    /// The build that EasyBuild's own support does.
    main: Option<&'a Build>,
    /// Components that `host.sh` builds.
    others: Vec<ComponentKind>,
    /// Modules of the builds' tools, with their versions.
    tools: Vec<(&'static str, &'a str)>,
    source: SourceText<'a>,
    /// Scripts that are copied beside the source, with their digests.
    scripts: Vec<(&'static str, String)>,
    /// Capabilities of the recipe.
    capabilities: Vec<String>,
    /// PTX of the recipe.
    ptx: Vec<String>,
}

/// The source in EasyBuild's words.
#[derive(Default, Serialize)]
struct SourceText<'a> {
    /// Directory of the archive.
    place: Option<&'a str>,
    /// Name of the archive.
    file: String,
    /// SHA-256 of it.
    sha256: Option<&'a str>,
    /// Directory, name and commit of a git repository, of which the archive is made.
    git: Option<(&'a str, &'a str, &'a str)>,
}

/// All files.
pub(in crate::generate) fn files(model: &Model, templates: &Templates) -> Result<FileSet> {
    let homepage = model.homepage.as_deref().ok_or_else(|| {
        Error::recipe("EasyBuild asks of every easyconfig for a home page, and the recipe names none")
            .hint("add `homepage` to [simulator]")
    })?;
    let (main, others) = model.hooked();
    let mut files = FileSet::default();
    let own = [("host.sh", !others.is_empty()), ("kernels.sh", !model.groups.is_empty())];
    for (name, _) in own.into_iter().filter(|(_, is_used)| *is_used) {
        files.add(name, templates.fill(name, &serde_json::json!({ "model": model }))?);
    }
    let scripts: Vec<(&str, String)> = own
        .into_iter()
        .filter_map(|(name, _)| Some((name, Digest::of(files.get(name)?.as_bytes()).to_string())))
        .collect();
    let known = |release: &&Release| model.groups.is_empty() || model.easybuild.cuda(release.cuda).is_some();
    let releases: Vec<&Release> = model.releases.iter().filter(known).collect();
    // Without device code all releases give the same text.
    for release in releases.into_iter().take(if model.groups.is_empty() { 1 } else { usize::MAX }) {
        let toolchain = model
            .easybuild
            .toolchain(release.gxx)
            .ok_or_else(|| Error::recipe(format!("EasyBuild has no toolchain with g++ {} or older", release.gxx)))?;
        let module = model.easybuild.cuda(release.cuda).filter(|_| !model.groups.is_empty());
        let values = Values {
            model,
            homepage,
            cuda: module.map(|module| (release.cuda.to_string(), module)),
            toolchain,
            main,
            others: others.clone(),
            tools: tools(model, toolchain),
            source: source(model),
            scripts: scripts.clone(),
            capabilities: capabilities(&release.targets),
            ptx: spack::ptx(&release.targets),
        };
        let suffix = module.map(|module| format!("-CUDA-{module}")).unwrap_or_default();
        let name = format!("{}-{}-GCC-{}{suffix}.eb", model.name, model.version, toolchain.gcc);
        files.add(name, templates.fill("easybuild/simulator.eb", &values)?);
    }
    let is_there = files.iter().any(|(name, _)| name.ends_with(".eb"));
    match is_there {
        true => Ok(files),
        false => Err(Error::recipe("EasyBuild has a module for none of the recipe's CUDA releases")
            .hint("`manifests/easybuild.toml` lists what it has; `--data DIR` names a newer list")),
    }
}

/// CMake for whatever is built by it, and Ninja for what `host.sh` builds so.
fn tools<'a>(model: &Model, toolchain: &'a EasyBuildToolchain) -> Vec<(&'static str, &'a str)> {
    let (main, _) = model.hooked();
    let of_cmake = model.builds.iter().filter(|build| build.driver == BuildDriver::Cmake).count();
    let mut tools = Vec::new();
    if of_cmake > 0 {
        tools.push(("CMake", toolchain.cmake.as_str()));
    }
    if of_cmake > usize::from(main.is_some()) {
        tools.push(("Ninja", toolchain.ninja.as_str()));
    }
    tools
}

fn capabilities(targets: &[KernelTarget]) -> Vec<String> {
    let of_machine_code = targets.iter().filter(|target| !matches!(target, KernelTarget::Ptx(_)));
    of_machine_code.filter_map(|target| target.capability()).map(|capability| capability.to_string()).collect()
}

fn source(model: &Model) -> SourceText<'_> {
    let made = || format!("{}-{}.tar.gz", model.name, model.version);
    match (&model.source.of, model.archive()) {
        (_, Some((url, sha256))) => {
            let (place, file) = url.rsplit_once('/').unwrap_or(("", url));
            SourceText { place: Some(place), file: file.to_owned(), sha256: Some(sha256), git: None }
        }
        (Source::Git { url, rev }, None) => {
            let plain = url.strip_suffix(".git").unwrap_or(url);
            let (place, name) = plain.rsplit_once('/').unwrap_or(("", plain));
            SourceText { file: made(), git: Some((place, name, rev)), ..SourceText::default() }
        }
        _ => SourceText { file: made(), ..SourceText::default() },
    }
}
