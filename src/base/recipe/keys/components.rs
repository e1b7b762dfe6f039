//! Keys of components and their builds.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use crate::arch::VersionPolicy;
use crate::build_system::BuildDriver;
use crate::recipe::ComponentKind;

/// The parts of the simulator.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Components {
    /// The host library and its programs, without device code.
    core: Component,
    /// Runtime compilation: what compiles device code on the user's machine.
    rtc: Option<Component>,
    /// Device code. Its files are placed from the kernel groups, so it takes no `files`.
    kernels: Option<Component>,
    /// Headers, CMake package, pkg-config.
    dev: Option<Component>,
    /// Static libraries.
    #[schemars(rename = "static")]
    archives: Option<Component>,
    /// A module for Python. A build of its own may install the whole simulator: what other components claim of that is
    /// left out.
    python: Option<Component>,
    /// Device sources.
    source: Option<Component>,
    /// The package that brings core and the selector. It holds no files, so it takes neither `build` nor `files`.
    meta: Option<Component>,
}

/// One part of the simulator.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Component {
    /// What the version of its package promises. Without the key: `major`, of kernels `capability`, of rtc
    /// and python `major.minor`.
    #[schemars(example = &"major")]
    policy: Option<VersionPolicy>,
    /// How it is built. A component without one takes its files from what the builds of others install.
    build: Option<Build>,
    /// Dimensions in which builds of it differ, by name: an MPI, a version of Python. Every combination is built, and
    /// ships as a build of one package. The value `none` is the default of its axis, else the first. Of core and python.
    #[schemars(example = BTreeMap::from([("python", ["3.12", "3.13"])]))]
    variants: Option<BTreeMap<String, Axis>>,
    /// Globs over the installed files that belong to it. A file that no component claims, or two claim, is a finding.
    /// Without the key: the usual places, such as `lib/libNAME.so.*` and `bin/*` of core, `include/**` and
    /// `lib/lib*.so` of dev. Modules for every Python lie in `site-packages`: a core or python of such modules and of
    /// files below `share` alone is the same for every platform.
    #[schemars(example = ["lib/libmysim.so.*", "bin/mysim"])]
    files: Option<Vec<String>>,
    /// Packages that it needs and simpack does not make: a library of the GPU vendor by its name in the vendor table,
    /// any other conda package after `conda:`, each with a range of versions or without. Builds that compile device code are given
    /// headers and libraries of the former by the pinned toolkit.
    #[schemars(example = ["nvrtc >=13.0,<14", "conda:numpy >=1.26"])]
    uses: Option<Vec<UseChoice>>,
    /// Names that its code passes to `dlopen`: `resolve` and `verify` look for them.
    #[schemars(example = ["libnvrtc.so.13"])]
    opens: Option<Vec<String>>,
    /// SONAMEs for libraries in `lib` whose build gives them none with a version: simpack sets each in the library, puts it into
    /// what needs that library, and makes the link by which others are linked. Its version is what `policy` pins. One or a list;
    /// of core and rtc.
    #[schemars(example = &"libmysim.so.1")]
    soname: Option<SonameChoice>,
    /// How `simpack compile` compiles what users write, on their machines; of rtc and source. Kernel groups of the form `cubin` need
    /// no such table: a component source that ships their sources is enough.
    compile: Option<CompileKeys>,
}

/// How a package compiles what its users write.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CompileKeys {
    /// A program of the component by its path below the prefix, and arguments. It is run in an empty directory, in the sandbox of a
    /// step. `{prefix}`, `{model}`, a copy of the user's files, `{name}`, the name of their directory, `{cxx}`, the user's C++
    /// compiler, and `{jobs}` are replaced.
    #[schemars(example = ["bin/mysim-compile", "{model}"])]
    command: Vec<String>,
    /// Further arguments where GPUs are compiled for. `{nvcc}`, `{nvcc-ccbin}`, the C++ compiler that it calls, `{cuda-root}`,
    /// `{cuda-architectures}`, the capabilities as CMake takes them, and `{cuda-gencode}`, as nvcc does, are replaced, too.
    #[schemars(example = ["--gpu", "cuda"])]
    cuda: Option<Vec<String>>,
    /// Globs over the user's files that the command is given.
    #[schemars(example = ["**/*.mod"])]
    inputs: Vec<String>,
    /// Globs over the files that it leaves in its directory: what is kept.
    #[schemars(example = ["lib*.so"])]
    outputs: Vec<String>,
    /// Paths below the prefix that it reads besides the files of the simulator's own packages.
    #[schemars(example = ["lib/python3.11"])]
    reads: Option<Vec<String>>,
    /// Variables of the call, with the placeholders of both; one with a placeholder of GPUs is set where GPUs are compiled for.
    #[schemars(example = BTreeMap::from([("CXX", "{cxx}")]))]
    env: Option<BTreeMap<String, String>>,
    /// Variables by which programs find what was compiled, which lies in `{compiled}`. Users are told to set them.
    #[schemars(example = BTreeMap::from([("MYSIM_MODELS", "{compiled}")]))]
    sets: Option<BTreeMap<String, String>>,
    /// The compilers that link what the component ships: versions of g++ by their first number. Any other is refused, with what the
    /// component's own objects say of the compiler that made them.
    #[schemars(example = &"g++ >=10,<15")]
    compiler: String,
    /// Seconds after which it is ended.
    #[schemars(range(min = 1, max = 86400), extend("default" = 3600), example = 600)]
    limit: Option<u32>,
}

/// SONAMEs.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum SonameChoice {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

/// A package that a component needs.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum UseChoice {
    /// Its name and range.
    Text(String),
    /// And which libraries it brings, and what wheels have.
    Table(UsedPackage),
}

/// A package that a component needs, where its name does not say all of it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct UsedPackage {
    /// The package, after `conda:`, with a range of versions or without.
    #[schemars(example = &"conda:xorg-libx11 >=1.8")]
    package: String,
    /// Libraries that it brings, by the names that files need them under.
    #[schemars(example = ["libX11.so.6"])]
    provides: Option<Vec<String>>,
    /// What stands for it where packages are wheels: the name of a project in Python's package index, in the same versions,
    /// or `false` where systems have it. Without, the packages cannot be made as wheels.
    #[schemars(example = &"numpy")]
    wheel: Option<WheelKey>,
}

/// What stands for a package where packages are wheels.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum WheelKey {
    /// A project of Python's package index.
    Project(String),
    /// `false`: nothing.
    None(bool),
}

/// The values of a dimension.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Axis {
    /// Their names alone. Values of the axis `python` are versions of Python, and need that Python.
    Names(Vec<String>),
    /// What each of them adds, by name.
    Values(BTreeMap<String, HostVariant>),
}

/// What a host variant adds to the build of its component.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct HostVariant {
    /// Options, which go before those of the build. In the options of either, the name of an axis in braces stands for
    /// the chosen value: `{python}`.
    #[schemars(example = BTreeMap::from([("MYSIM_WITH_MPI", true)]))]
    options: Option<BTreeMap<String, OptionValue>>,
    /// What it needs of others, beside what the build needs in any case.
    #[schemars(example = ["openmpi >=4"])]
    needs: Option<Vec<String>>,
}

/// How a component is built.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Build {
    /// The build system.
    #[schemars(extend("default" = "cmake"), example = &"cmake")]
    driver: Option<BuildDriver>,
    /// Directory of its top file, relative to the source; of driver `wheel` that of the unpacked wheel.
    #[schemars(extend("default" = "."), example = &"core")]
    source: Option<String>,
    /// Options: cache entries of CMake, options of Meson, variables of make, the environment of a script; of driver `wheel` `python` alone, the
    /// version that a wheel for several is installed for. In texts `{kernel-abi}`,
    /// `{version}`, `{prefix}`, `{dependencies}`, `{against}`, `{jobs}`, `{cuda}`, `{cuda-architectures}`, `{cuda-gencode}`, `{target}` and `{variant}`
    /// are replaced; `{source}` by the copy of the source that is built, `{work}` by the directory of the step, `{cxx}` by the host
    /// compiler; of the build of core `{shaders}` by the directory of the shaders that it embeds (`embed` of a kernel group); and of
    /// builds that compile device code `{cuda-root}` by the CUDA toolkit, `{nvcc}` by its compiler, `{nvcc-ccbin}` by
    /// the host compiler that this calls.
    #[schemars(example = BTreeMap::from([("MYSIM_KERNEL_ABI", "{kernel-abi}")]))]
    options: Option<BTreeMap<String, OptionValue>>,
    /// Globs over the files that the build reads, relative to its directory. It sees no others, and is done again when
    /// one of these changes. Without it the build reads all of a fetched source, and of a directory what that does not leave
    /// out: hidden files, what its own `.gitignore` files ignore, `dist`, directories with a `CACHEDIR.TAG`, the recipe.
    #[schemars(example = ["CMakeLists.txt", "include/**", "src/**"])]
    inputs: Option<Vec<String>>,
    /// Targets of make; of driver `script` the script's file name.
    #[schemars(example = ["install"])]
    targets: Option<Vec<String>>,
    /// What is installed of what was built, for a build without an install target of its own, which is not called then.
    install: Option<Vec<Installed>>,
    /// What the build needs of others: packages of the channels, each with a range of versions or without and a glob over
    /// the build string or without; or, after `system:`, libraries of the machine by their names in pkg-config. Packages are
    /// locked, and the build is given them in one directory: `{dependencies}`.
    #[schemars(example = ["hdf5 >=1.10,<2", "hdf5 * mpi_openmpi_*", "system:libpng >=1.6"])]
    needs: Option<Vec<String>>,
    /// Components of this recipe that it is built against: it begins when their builds have ended, and is given what these
    /// installed in one directory, `{against}`, in which build systems look as they do in `{dependencies}`.
    #[schemars(example = ["core"])]
    against: Option<Vec<ComponentKind>>,
}

/// Files of a build that are installed.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Installed {
    /// Glob over the files that the build left: below the build directory of CMake, below the source of others.
    #[schemars(example = &"bin/mysim*")]
    from: String,
    /// Path below the prefix; with a slash at its end the directory that all that match go into.
    #[schemars(example = &"bin/")]
    to: String,
}

/// The value of an option.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum OptionValue {
    /// Text.
    Text(String),
    /// A number, taken as text.
    Number(i64),
    /// `ON` or `OFF` for CMake, `1` or `0` for others.
    Switch(bool),
}
