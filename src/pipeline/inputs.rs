//! What a plan is made of: finds the recipe, resolves it, identifies the tools, digests the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::request::{BuildRequest, CudaSource};
use super::tools::{Tools, identify};
use crate::bundle::ToolVersion;
use crate::data::{Data, DataOrigin};
use crate::engine::{HeaderStore, Toolset, build_headers};
use crate::error::{Error, Result};
use crate::fs;
use crate::lastrun::below;
use crate::lock::{LockedPackage, Update};
use crate::manifest::Manifests;
use crate::package::parse_epoch;
use crate::plan::{DATA, KeyPart, PlanInputs};
use crate::project::{
    Choice, Dependencies, Hygiene, Located, LockState, SYMBOLS_DIR, dependencies, examine, locate, scan, source_root,
};
use crate::recipe::{Component, ComponentKind, HostVariant, Need, Recipe, RecipeMatrix};
use crate::toolchain::{Store, SystemLibrary};
use crate::ui::Ui;

/// Everything that decides what a build gives, found and looked at.
pub(crate) struct BuildInputs {
    pub recipes: RecipeMatrix,
    pub manifests: Manifests,
    pub store: Store,
    pub tools: Tools,
    /// Libraries of the machine that builds need.
    pub system: Vec<SystemLibrary>,
    /// What builds of each host variant, and those without, are given of others, as it enters provenance.
    pub given: BTreeMap<Option<HostVariant>, BTreeMap<String, ToolVersion>>,
    /// Root of the source tree on disk.
    pub source: PathBuf,
    /// Stands in for every time stamp, in seconds since 1970.
    pub epoch: u64,
    /// What the plan is made of.
    pub plan_inputs: PlanInputs,
    /// Which headers compilations read.
    pub headers: HeaderStore,
    /// What the source and the recipe choose by themselves.
    pub hygiene: Hygiene,
    /// The lock beside the recipe, as it holds.
    pub lock: LockState,
    /// Recipe's directory as the user would name it.
    pub shown: String,
    /// Files and directories that all this follows from; none when it follows from more.
    pub looked_at: Option<Vec<PathBuf>>,
}

/// Time stamp of packages when `SOURCE_DATE_EPOCH` is not set: 2020-01-01, after the zip format's
/// first day, and nobody mistakes it for the time of the build.
const EPOCH: u64 = 1_577_836_800;

impl BuildInputs {
    pub(crate) fn find(request: &BuildRequest, ui: &Ui) -> Result<Self> {
        let epoch = match (request.source_date_epoch, std::env::var_os("SOURCE_DATE_EPOCH")) {
            (Some(epoch), _) => epoch,
            // What is no text is no number: refused like any other nonsense.
            (None, Some(text)) => parse_epoch(&text.to_string_lossy())?,
            (None, None) => EPOCH,
        };
        let data = Data::here();
        let manifests = Manifests::load(&data)?;
        let store = Store::open(fs::cache_dir()?)?;
        let located = locate(&request.recipe(), &data, &manifests, &store, ui)?;
        let choice = match request.locked {
            true => Choice::Nobody,
            false => Choice::Channels { store: &store, offline: request.offline, ui },
        };
        let lock = LockState::of(&located, &manifests, store.pins(), &Update::Nothing, choice)?;
        if request.locked {
            refuse_choices(&lock, request)?;
            lock.must_hold()?;
        }
        let pins = lock.pins()?;
        let store = store.pins_from(pins);
        let Located { recipes, shown, fetched, file, looked_at, .. } = located;
        let recipe = recipes.own();
        let tools = identify(&recipes, request.cuda_source, &manifests, &store)?;
        let system = system_libraries(recipe, recipe.leaves_out_python(&request.components))?;
        let source = source_root(recipe, fetched)?;
        // Records of releases and the lock are no input of a build.
        let symbols = recipe.dir.join(SYMBOLS_DIR);
        let scanned = scan(recipe, &source, &[&request.dist, &request.work, &symbols, &lock.path])?;
        let looked_at = tools.looked_at().map(|mut all| {
            all.extend([file, lock.path.clone(), symbols.clone()]);
            all.extend(below(&symbols).unwrap_or_default());
            all.extend(looked_at.paths());
            all.extend(scanned.looked_at);
            all.extend(system.iter().map(|library| library.described_in.clone()));
            all
        });
        let (sources, left_out, empty_directories) = (scanned.files, scanned.left_out, scanned.empty);
        let hygiene = examine(recipe, &source, &sources)?;
        let headers = build_headers(request.store()?)?;
        let mut versions = tools.versions(&recipes);
        if let Some(DataOrigin { sha256, .. }) = data.origin()? {
            let version = "the user's manifests and templates".to_owned();
            let data = ToolVersion { version, sha256: Some(sha256) };
            versions.values_mut().for_each(|tools| drop(tools.insert(DATA.to_owned(), data.clone())));
        }
        let given = given(&lock, recipe, &system);
        let to_all = given.get(&None).cloned().unwrap_or_default();
        versions.values_mut().for_each(|tools| tools.extend(to_all.clone()));
        let plan_inputs = PlanInputs {
            sources,
            left_out,
            empty_directories,
            tools: versions,
            source_date_epoch: epoch,
            cuda_builds: hygiene.cuda_builds.clone(),
            dependencies: packages(&lock),
            system: system.iter().map(|library| (library.module.clone(), library.version.clone())).collect(),
        };
        Ok(Self {
            recipes,
            manifests,
            store,
            tools,
            system,
            given,
            source,
            epoch,
            plan_inputs,
            headers,
            hygiene,
            lock,
            shown,
            looked_at,
        })
    }

    /// The packages that builds are given; what is not here yet is fetched.
    pub(super) fn fetch_dependencies(
        &self,
        offline: bool,
        ui: &Ui,
    ) -> Result<BTreeMap<Option<HostVariant>, Dependencies>> {
        dependencies(self.recipes.own(), &self.lock.settled.lock, &self.store, offline, ui)
    }

    /// Directories of the CUDA toolkits that are here, of the recipe's releases in their order.
    pub(super) fn toolkits(&self) -> Vec<PathBuf> {
        self.recipes.iter().filter_map(|recipe| self.tools.toolkit(recipe.cuda, &self.store)).collect()
    }

    /// The programs themselves; what is pinned and not here yet is fetched.
    pub(super) fn fetch_tools(&self, offline: bool, ui: &Ui) -> Result<Toolset> {
        self.tools.fetch(&self.recipes, &self.store, self.epoch, offline, ui)
    }
}

/// Libraries of the machine that builds of a recipe need, all or without those that the module for Python needs alone.
fn system_libraries(recipe: &Recipe, without_python: bool) -> Result<Vec<SystemLibrary>> {
    let of = |is_wanted: &dyn Fn(ComponentKind) -> bool| -> BTreeSet<Need> {
        let components = recipe.components.iter().filter(|component| is_wanted(component.kind));
        let needs = components.flat_map(Component::builds).flat_map(|build| build.spec.needs);
        needs.filter(|need| !need.is_of_channel()).collect()
    };
    let of_others = of(&|kind| kind != ComponentKind::Python);
    let wanted = if without_python { of_others.clone() } else { of(&|_| true) };
    let find = |need: &Need| {
        SystemLibrary::find(need.name(), need.versions()).map_err(|error| match of_others.contains(need) {
            true => error,
            false => error.hint(format!(
                "or build the others without the module for Python: `simpack build --component {}`",
                others(recipe)
            )),
        })
    };
    wanted.iter().map(find).collect()
}

/// All components but that for Python, as an option names them.
fn others(recipe: &Recipe) -> String {
    let is_other = |kind: &ComponentKind| match kind {
        ComponentKind::Python => false,
        ComponentKind::Kernels => recipe.ships_kernels(),
        _ => true,
    };
    let kinds = recipe.components.iter().map(|component| component.kind).filter(is_other);
    kinds.map(|kind| kind.to_string()).collect::<Vec<_>>().join(",")
}

/// What builds are given of others, as it enters plans and provenance beside the tools.
fn given(
    lock: &LockState,
    recipe: &Recipe,
    system: &[SystemLibrary],
) -> BTreeMap<Option<HostVariant>, BTreeMap<String, ToolVersion>> {
    let package = |package: &LockedPackage| {
        let version = format!("{} {}", package.version, package.build);
        (format!("package {}", package.name), ToolVersion { version, sha256: Some(package.sha256) })
    };
    let library = |library: &SystemLibrary| {
        (format!("system {}", library.module), ToolVersion { version: library.version.clone(), sha256: None })
    };
    let of = |(host, needs): (Option<HostVariant>, BTreeSet<Need>)| {
        let locked = lock.settled.lock.given_to(host.as_ref());
        let packages = locked.into_iter().flat_map(|dependencies| &dependencies.packages).map(package);
        let is_needed =
            |library: &&SystemLibrary| needs.iter().any(|need| !need.is_of_channel() && need.name() == library.module);
        let given = packages.chain(system.iter().filter(is_needed).map(library)).collect();
        (host, given)
    };
    recipe.needs().into_iter().map(of).collect()
}

/// The packages of channels, as they enter keys.
fn packages(lock: &LockState) -> BTreeMap<Option<HostVariant>, Vec<KeyPart>> {
    let part = |package: &LockedPackage| {
        let text = format!("{} {} sha256 {}", package.version, package.build, package.sha256);
        KeyPart::new(format!("package {}", package.name), text)
    };
    let given = lock.settled.lock.given();
    given.map(|(host, locked)| (host.cloned(), locked.packages.iter().map(part).collect())).collect()
}

/// Paths of this machine whose names must not reach a package.
pub(crate) fn machine_paths(inputs: &BuildInputs, work: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for path in [inputs.source.as_path(), work, &fs::cache_dir()?] {
        if let Ok(path) = fs_err::canonicalize(path) {
            paths.push(fs::utf8(&path)?.to_owned());
        }
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Refuses what the command line chooses beside the lock.
fn refuse_choices(state: &LockState, request: &BuildRequest) -> Result<()> {
    let lock = &state.settled.lock;
    let hint = "leave `--locked` out for a build with other compilers than the recipe's";
    if request.cuda_source == CudaSource::System {
        return Err(Error::usage("`--locked` and `--toolchain system` exclude each other")
            .detail("no lock can hold the machine's own nvcc")
            .hint(hint));
    }
    if let Some(cuda) = request.cuda.filter(|cuda| !lock.cuda.contains(cuda)) {
        return Err(Error::usage(format!("CUDA {cuda} is not in {}", state.path.display())).hint(hint));
    }
    match (request.host, &lock.host) {
        (Some(asked), Some(locked)) if asked != locked.kind() => {
            Err(Error::usage(format!("{} has another host compiler than `--host`", state.path.display())).hint(hint))
        }
        _ => Ok(()),
    }
}
