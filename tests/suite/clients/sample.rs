//! A small made-up distribution: a recipe and staged bundles with text for files.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::LazyLock;

use simpack::arch::{CudaVersion, GlibcVersion, KernelTarget, Platform, Version, VersionPolicy, VersionRange};
use simpack::bundle::{
    Artifact, ArtifactKind, Bundle, BundleManifest, Dependency, MANIFEST_SCHEMA, Provenance, ToolVersion,
};
use simpack::data::Data;
use simpack::elf::edit::PathTag;
use simpack::error::Result;
use simpack::fs::{Digest, EntryKind, walk};
use simpack::gpu::{KernelSignature, Param};
use simpack::manifest::Manifests;
use simpack::pack::{PackContext, packages};
use simpack::package::conda::Conda;
use simpack::package::tar::Tar;
use simpack::package::{BuiltPackage, Format, FormatContext, Package, Rendered};
use simpack::recipe::{
    Component, ComponentKind, CondaProfile, DriverPolicy, Fallback, HostToolchain, KernelForm, KernelGroup,
    LintSettings, PackageSettings, Recipe, Source, Used, VariantChoice,
};

/// 2024-01-01 00:00:00 UTC.
pub const EPOCH: u64 = 1_704_067_200;

/// The targets of volley's first release.
pub const TARGETS: &[&str] =
    &["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120", "compute_75", "compute_120"];

pub fn manifests() -> Manifests {
    static KNOWN: LazyLock<Manifests> =
        LazyLock::new(|| Manifests::load(&Data::at("no such directory")).expect("the embedded manifests are right"));
    KNOWN.clone()
}

/// What a recipe's word for a package of conda becomes.
pub fn used(text: &str) -> Used {
    let (package, versions) = text.split_once(' ').unwrap_or((text, ""));
    let (package, versions) = (package.to_owned(), versions.to_owned());
    Used { library: None, package, versions, provides: Vec::new(), headers_only: false, wheel: None }
}

pub fn recipe(targets: &[&str], cuda: &str) -> Recipe {
    let component = |kind, policy, uses: &[&str]| Component {
        variants: Vec::new(),
        kind,
        policy,
        build: None,
        files: Vec::new(),
        uses: uses.iter().map(|&text| used(text)).collect(),
        opens: Vec::new(),
        sonames: Vec::new(),
        compile: None,
    };
    Recipe {
        licence_files: Vec::new(),
        name: "volley".to_owned(),
        version: version(),
        license: "BSD-3-Clause".to_owned(),
        summary: "spiking networks on CPU and GPU".to_owned(),
        homepage: Some("https://example.org/volley".to_owned()),
        dir: ".".into(),
        source: Source::Path(".".to_owned()),
        platform: Platform::Linux64,
        cuda_toolchain: simpack::recipe::CudaToolchain::Pinned,
        cuda_cxx: None,
        cuda: cuda.parse().unwrap(),
        targets: targets.iter().map(|text| text.parse().unwrap()).collect(),
        host: HostToolchain::System { min_cxx: Some(12), glibc: None },
        cpu: None,
        channels: Vec::new(),
        components: vec![
            component(ComponentKind::Core, VersionPolicy::Major, &[]),
            component(ComponentKind::Rtc, VersionPolicy::MajorMinor, &["cuda-nvrtc >=13.0,<14"]),
            component(ComponentKind::Kernels, VersionPolicy::Capability, &[]),
            component(ComponentKind::Dev, VersionPolicy::Major, &[]),
            component(ComponentKind::Source, VersionPolicy::Major, &[]),
        ],
        groups: vec![KernelGroup {
            name: "network".to_owned(),
            sources: vec!["kernels/neuron.cu".to_owned()],
            table: vec![KernelSignature::new("step", vec![Param { offset: 0, size: 8 }])],
            form: KernelForm::Cubin,
            files: Vec::new(),
            gpu_only: false,
            flags: Vec::new(),
            exact: BTreeSet::new(),
            variants: vec![VariantChoice {
                name: "default".to_owned(),
                choice: BTreeMap::new(),
                define: Vec::new(),
                flags: Vec::new(),
            }],
            when: Vec::new(),
            generator: None,
            embed: false,
            names: BTreeMap::new(),
            structures: Vec::new(),
            host_structures: None,
        }],
        driver: DriverPolicy { profiles: Vec::new(), directories: Vec::new(), tag: PathTag::Runpath },
        lint: LintSettings::default(),
        package: PackageSettings {
            channel: "volley".to_owned(),
            build_number: 0,
            fallback: Fallback::Ptx,
            profile: CondaProfile::Channel,
            maintainers: Vec::new(),
            nix_maintainers: Vec::new(),
            wheel_experiments: Vec::new(),
        },
        smoke: None,
        tests: Vec::new(),
        places: simpack::recipe::Places::default(),
    }
}

fn version() -> Version {
    Version::new(1, 0, 0)
}

/// The same for a recipe without dev, whose link name leads into another package.
pub fn bundles_without_dev(recipe: &Recipe, dir: &Path) -> Vec<Bundle> {
    let mut with_dev = recipe.clone();
    let dev = Component { kind: ComponentKind::Dev, ..recipe.components[0].clone() };
    with_dev.components.push(dev);
    let mut bundles = bundles(&with_dev, dir);
    bundles.retain(|bundle| bundle.manifest.component != ComponentKind::Dev);
    bundles
}

/// Stages all bundles of `recipe` below `dir`.
pub fn bundles(recipe: &Recipe, dir: &Path) -> Vec<Bundle> {
    let mut bundles = vec![
        stage(recipe, dir, ComponentKind::Core, None, |root| {
            write(root, "bin/volley", "#!/bin/sh\necho volley 1.0.0\n", 0o755);
            write(root, "lib/libvolley.so.1.0.0", &"core ".repeat(2000), 0o755);
            symlink("libvolley.so.1.0.0", root.join("lib/libvolley.so.1")).unwrap();
        }),
        stage(recipe, dir, ComponentKind::Rtc, None, |root| {
            write(root, "lib/libvolley_rtc.so.1.0.0", "rtc", 0o755);
            symlink("libvolley_rtc.so.1.0.0", root.join("lib/libvolley_rtc.so.1.0")).unwrap();
        }),
        stage(recipe, dir, ComponentKind::Dev, None, |root| {
            write(root, "include/volley.h", "int volley(void);\n", 0o644);
            symlink("libvolley.so.1", root.join("lib/libvolley.so")).unwrap();
        }),
        stage(recipe, dir, ComponentKind::Source, None, |root| {
            write(root, "share/volley/kernels/neuron.cu", "__global__ void step(long *) {}\n", 0o644);
        }),
    ];
    for &target in &recipe.targets {
        bundles.push(stage(recipe, dir, ComponentKind::Kernels, Some(target), |root| {
            let path = format!("lib/volley/kernels/cuda{}/default/{target}/neuron.cubin", recipe.cuda.major);
            write(root, &path, &format!("code for {target}"), 0o644);
        }));
    }
    bundles
}

fn write(root: &Path, path: &str, text: &str, mode: u32) {
    let path = root.join(path);
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(&path, text).unwrap();
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn stage(
    recipe: &Recipe,
    dir: &Path,
    component: ComponentKind,
    target: Option<KernelTarget>,
    fill: impl FnOnce(&Path),
) -> Bundle {
    let package = match target {
        Some(target) => format!("{}-kernels-{target}", recipe.name),
        None => format!("{}-{component}", recipe.name),
    };
    let root = dir.join(format!("{package}-cuda{}", recipe.cuda));
    if root.exists() {
        fs_err::remove_dir_all(&root).unwrap();
    }
    fs_err::create_dir_all(root.join("lib")).unwrap();
    fill(&root);
    let host = !matches!(component, ComponentKind::Kernels | ComponentKind::Source);
    let declared = recipe.component(component).unwrap();
    let kernels = component == ComponentKind::Kernels;
    let code = matches!(component, ComponentKind::Core | ComponentKind::Rtc);
    let manifest = BundleManifest {
        waivers: Vec::new(),
        host: None,
        schema: MANIFEST_SCHEMA,
        package,
        simulator: recipe.name.clone(),
        version: recipe.version,
        component,
        policy: declared.policy,
        platform: host.then_some(recipe.platform),
        target,
        cuda: (!host || component == ComponentKind::Rtc).then_some(recipe.cuda),
        kernel_abi: (kernels || component == ComponentKind::Core).then(|| recipe.kernel_abi_tag()).flatten(),
        kernels: if kernels { recipe.kernels() } else { Vec::new() },
        exact: BTreeMap::new(),
        needs: BTreeMap::new(),
        embedded: Vec::new(),
        glibc: code.then_some(GlibcVersion::new(2, 28)),
        uses: declared.uses.iter().map(Dependency::from).collect(),
        dependencies: BTreeSet::new(),
        conditions: Vec::new(),
        exports: Vec::new(),
        license: None,
        licences: BTreeMap::new(),
        opens: Vec::new(),
        outside: Vec::new(),
        artifacts: artifacts(&root),
        smoke: None,
        compile: None,
        device_sources: None,
        as_wheel: false,
        provenance: Provenance {
            simpack: "0.1.0".to_owned(),
            recipe: Digest::of(b"recipe"),
            plan: Digest::of(b"plan"),
            tools: BTreeMap::from([("nvcc".to_owned(), ToolVersion { version: "13.0.88".to_owned(), sha256: None })]),
            sources: BTreeMap::new(),
            source_date_epoch: EPOCH,
        },
    };
    Bundle::new(root, manifest)
}

fn artifacts(root: &Path) -> Vec<Artifact> {
    let entries = walk(root).unwrap().into_iter();
    let artifacts = entries.filter_map(|entry| {
        let kind = match entry.kind {
            EntryKind::Directory => return None,
            EntryKind::Link(to) => ArtifactKind::Link { to },
            EntryKind::File { size, executable } => {
                let sha256 = Digest::of_file(&root.join(&entry.path)).unwrap();
                ArtifactKind::File { sha256, size, executable }
            }
        };
        Some(Artifact { path: entry.path, kind })
    });
    artifacts.collect()
}

/// All packages of one distribution over several releases: the host part is the first one's, and each release has an rtc
/// of its own.
pub fn matrix(dir: &Path, releases: &[(&[&str], &str)]) -> Vec<Package> {
    let mut of_release = releases.iter().map(|(targets, cuda)| recipe(targets, cuda));
    let first = of_release.next().expect("a release");
    let mut staged = bundles(&first, dir);
    for mut other in of_release {
        other.components[1].uses = vec![used(&format!("cuda-nvrtc >={},<{}", other.cuda, other.cuda.major + 1))];
        let of_it = bundles(&other, dir).into_iter();
        staged.extend(
            of_it.filter(|bundle| bundle.manifest.cuda.is_some() && bundle.manifest.component != ComponentKind::Source),
        );
    }
    packages(&first, &staged, &surroundings(&manifests())).expect("packages follow")
}

/// Gives a staged file other bytes, in the tree and in the manifest.
pub fn replace(bundle: &mut Bundle, path: &str, bytes: &[u8]) {
    fs_err::write(bundle.root.join(path), bytes).unwrap();
    bundle.manifest.artifacts = artifacts(&bundle.root);
}

/// All packages of the made-up distribution, staged below `dir`.
pub fn specs(dir: &Path, targets: &[&str], cuda: &str) -> Vec<Package> {
    let recipe = recipe(targets, cuda);
    let bundles = bundles(&recipe, dir);
    packages(&recipe, &bundles, &surroundings(&manifests())).expect("packages follow")
}

/// Packages in conda's words.
pub fn rendered(packages: &[Package]) -> Vec<Rendered<'_>> {
    Conda.render(packages, &manifests().vendor).expect("conda has words for them")
}

/// Packages as files of a channel with its index.
pub fn write_conda(packages: &[Package], channel: &Path, jobs: NonZeroUsize) -> Result<Vec<BuiltPackage>> {
    write_format(&Conda, packages, channel, jobs)
}

/// Packages as plain archives.
pub fn write_tars(packages: &[Package], dir: &Path, jobs: NonZeroUsize) -> Result<Vec<BuiltPackage>> {
    write_format(&Tar, packages, dir, jobs)
}

/// Packages in a format.
pub fn write_format(
    format: &dyn Format,
    packages: &[Package],
    dir: &Path,
    jobs: NonZeroUsize,
) -> Result<Vec<BuiltPackage>> {
    let (recipe, manifests) = (recipe(TARGETS, "13.0"), manifests());
    let context =
        FormatContext { recipe: &recipe, manifests: &manifests, earlier: None, now: jiff::Timestamp::UNIX_EPOCH };
    format.write(packages, &context, dir, jobs)
}

pub fn surroundings(manifests: &Manifests) -> PackContext<'_> {
    let libstdcxx = Dependency::of_conda("libstdcxx", VersionRange::at_least(Version::from(12u32)).into());
    PackContext {
        manifests,
        outside: BTreeMap::from([(("volley-core".to_owned(), None, None), [libstdcxx].into_iter().collect())]),
        compiled_by: BTreeMap::new(),
        licences: BTreeMap::from([("LICENSE".to_owned(), "Redistribution and use ...\n".to_owned())]),
        vendors: BTreeMap::new(),
    }
}

pub fn cuda(text: &str) -> CudaVersion {
    text.parse().unwrap()
}
