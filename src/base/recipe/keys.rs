//! The keys of a recipe as their maintainers see them: what `simpack schema recipe` prints, from
//! which editors complete, and what the book's reference is generated from. The reader (`parse`) has the last word; a
//! test holds both to the same keys, and reads every example.
#![allow(dead_code, reason = "the schemas of these types are all that is used")]

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::form::KernelForm;
use super::host_structures::HeaderLanguage;
use super::model::{CondaProfile, CpuLevel, Fallback, WheelExperiment};
use crate::arch::{Capability, CudaVersion, GlibcVersion, Platform, VersionPolicy};
use crate::build_system::BuildDriver;
use crate::elf::edit::PathTag;

/// What only the maintainers of a simulator know. Names, pins and search paths are derived from it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", title = "simpack.toml")]
pub struct RecipeKeys {
    /// Version of the recipe's language; always in the first line.
    #[schemars(range(min = 1, max = 1), example = 1)]
    edition: u32,
    /// The simulator.
    simulator: Simulator,
    /// Where the source is: `path`, or `git` with `rev`, or `url` with `sha256`, or `pypi` with `version` and
    /// `sha256`. Without the table it is the recipe's directory.
    source: Option<Source>,
    /// Further sources by name, each fetched into the directory of its name: `source = "NAME"` of a build is that one.
    /// Beside them `[source]` may be left out, or hold `overlay` alone.
    sources: Option<BTreeMap<String, Source>>,
    /// What is built for.
    matrix: Option<Matrix>,
    /// How the host part is compiled.
    toolchain: Option<Toolchain>,
    /// Where the packages come from that builds need.
    dependencies: Option<Dependencies>,
    /// The parts of the simulator: each becomes a package. There must be a `core`.
    component: Components,
    /// Kernel groups by name: device code that ships together. The name is yours: lower-case letters, digits and `_`.
    kernels: Option<BTreeMap<String, KernelGroup>>,
    /// How the host part finds the libraries of the driver.
    driver: Option<Driver>,
    /// Levels of lints, and findings that are accepted.
    lint: Option<Lint>,
    /// Settings of package formats.
    package: Option<Package>,
    /// The simulator's own smoke test, which travels in core's `simpack.json`: one short run that prints JSON, and what
    /// of it must agree between the CPU and every GPU.
    smoke: Option<SmokeTest>,
    /// Upstream's own tests by name. A build runs them on the CPU on what it staged, without a network, before anything is packed;
    /// one that fails is a finding, and so is one that this machine cannot run.
    test: Option<BTreeMap<String, UpstreamTest>>,
}

/// The simulator.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Simulator {
    /// Name, with which the names of all packages begin: lower-case letters, digits, `-` and `_`.
    #[schemars(example = &"mysim")]
    name: String,
    /// Version, as PEP 440 writes it: `1.2.0`, `3.8`, `1.0b1`, `8.2.2.post1`.
    #[schemars(example = &"1.2.0")]
    version: String,
    /// Licence, as an SPDX expression.
    #[schemars(example = &"BSD-3-Clause")]
    license: String,
    /// One line about it.
    #[schemars(example = &"spiking networks on CPU and GPU")]
    summary: String,
    /// Address of its home page.
    #[schemars(example = &"https://mysim.example.org")]
    homepage: Option<String>,
    /// Licence texts that packages carry, relative to the source. Without the key: `LICENSE*`, `COPYING*`, `NOTICE*` at its
    /// top.
    #[schemars(example = ["LICENSE", "docs/NOTICE.txt"])]
    licence_files: Option<Vec<String>>,
}

/// Where the source is.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Source {
    /// Directory, relative to the recipe's.
    #[schemars(example = &"..")]
    path: Option<String>,
    /// Address of a git repository.
    #[schemars(example = &"https://git.example.org/mysim.git")]
    git: Option<String>,
    /// Commit of the repository: all 40 digits, because branches and tags move.
    #[schemars(example = &"0123456789abcdef0123456789abcdef01234567")]
    rev: Option<String>,
    /// Address of an archive; `{version}` is the simulator's.
    #[schemars(example = &"https://www.example.org/mysim-{version}.tar.gz")]
    url: Option<String>,
    /// Name of a project on the package index: its source distribution or wheel is the source.
    #[schemars(example = &"mysim")]
    pypi: Option<String>,
    /// Version of the project.
    #[schemars(example = &"1.2.0")]
    version: Option<String>,
    /// Digest of the archive: `sha256sum FILE` prints it.
    #[schemars(example = &"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")]
    sha256: Option<String>,
    /// Directory, relative to the recipe's, whose files are put over what was fetched: a build script, a licence text.
    #[schemars(example = &"files")]
    overlay: Option<String>,
    /// Patches (unified diffs, as `git diff` and `diff -ru` write them), relative to the recipe's directory, applied in
    /// order to what was fetched, before the overlay.
    #[schemars(example = ["patches/0001-find-cuda.patch"])]
    patches: Option<Vec<String>>,
}

/// What is built for.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Matrix {
    /// Platforms of the host part.
    #[schemars(extend("default" = ["linux-64"]), example = ["linux-64"])]
    platforms: Option<Vec<Platform>>,
    /// CUDA releases. A build makes packages for all of them; the host part is built once, for the first.
    #[schemars(example = ["13.0"])]
    cuda: Option<Vec<CudaVersion>>,
    /// Compute capabilities to compile machine code for. Each CUDA release takes those that it knows.
    #[schemars(example = ["7.5", "8.0", "9.0", "10.0f"])]
    capabilities: Option<Vec<Capability>>,
    /// Compute capabilities to compile PTX for: what reaches devices that are newer than the machine code.
    /// Without the key: the lowest of `capabilities`. An empty list makes no PTX.
    #[schemars(example = ["7.5"])]
    ptx: Option<Vec<Capability>>,
    /// Versions of Vulkan to compile shaders for, of form `spirv`: there is a package of each, and a device takes those of
    /// its own version and of lower ones.
    #[schemars(example = ["vulkan1.1", "vulkan1.3"])]
    environments: Option<Vec<String>>,
    /// What holds for one CUDA release of the list alone, by the release: `[matrix.release."11.8"]`.
    release: Option<BTreeMap<String, Release>>,
}

/// What holds for one CUDA release alone.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Release {
    /// Its capabilities, instead of those of the matrix.
    #[schemars(example = ["7.5", "8.0"])]
    capabilities: Option<Vec<Capability>>,
    /// Its PTX, instead of that of the matrix.
    #[schemars(example = ["7.5"])]
    ptx: Option<Vec<Capability>>,
    /// Where its nvcc comes from: `pinned`, `system` (`CUDA_HOME`, then `PATH`), or a directory that holds `bin/nvcc`.
    #[schemars(extend("default" = "pinned"), example = &"system")]
    toolchain: Option<String>,
    /// The host compiler that its nvcc calls. Without the key one is found that this nvcc accepts.
    #[schemars(example = &"g++-11")]
    cxx: Option<String>,
    /// What components that are built for each release open at run time, instead of what their own tables say.
    opens: Option<ReleaseOpens>,
}

/// Names that the code passes to `dlopen` where it is built for this release.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct ReleaseOpens {
    /// Of `rtc`.
    #[schemars(example = ["libnvrtc.so.11.2"])]
    rtc: Option<Vec<String>>,
    /// Of `kernels`, where they are plug-in libraries.
    #[schemars(example = ["libcurand.so.10"])]
    kernels: Option<Vec<String>>,
}

/// How the host part is compiled.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Toolchain {
    /// The host compiler: `"zig"`, `"system"`, or a table.
    #[schemars(extend("default" = "zig"), example = &"system")]
    host: Option<HostChoice>,
    /// The CUDA release that the host part is built for; the first of the matrix without it.
    cuda: Option<ToolchainCuda>,
}

/// The host compiler.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum HostChoice {
    /// Its name.
    Name(HostName),
    /// Its name and what is asked of it.
    Table(Host),
}

/// Which host compiler.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum HostName {
    /// The pinned compiler, which links against a glibc of your choice.
    Zig,
    /// The machine's own. The packages depend on the glibc that the code turns out to need.
    System,
}

/// The host compiler, and what is asked of it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Host {
    /// Which compiler.
    #[schemars(rename = "use", extend("default" = "zig"), example = &"zig")]
    kind: Option<HostName>,
    /// Lowest major version of the machine's g++.
    #[schemars(example = &">=12")]
    cxx: Option<String>,
    /// Newest glibc that the code may need. Of zig without the key 2.28. The machine's g++ is held to one, from 2.28 on, where the key
    /// says so: nvcc calls it, too, and the C++ library stays the system's.
    #[schemars(extend("default" = "2.28"), example = &"2.17")]
    glibc: Option<GlibcVersion>,
    /// The lowest processor that the host part is for. It sets no compiler flag: `verify --deep` holds the code to it.
    #[schemars(example = &"x86-64-v2")]
    cpu: Option<CpuLevel>,
}

/// A CUDA release for the host part.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct ToolchainCuda {
    /// The release, one of the matrix.
    #[schemars(example = &"13.0")]
    release: CudaVersion,
}

/// Where the packages come from that builds need.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Dependencies {
    /// conda channels, the first counts most: addresses, or directories relative to the recipe's. A package is taken
    /// from the first channel that has its name.
    #[schemars(example = ["https://conda.example.org/conda-forge", "channel"])]
    channels: Vec<String>,
}

/// The parts of the simulator.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Components {
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
struct Component {
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
struct CompileKeys {
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
enum SonameChoice {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

/// A package that a component needs.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum UseChoice {
    /// Its name and range.
    Text(String),
    /// And which libraries it brings, and what wheels have.
    Table(UsedPackage),
}

/// A package that a component needs, where its name does not say all of it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct UsedPackage {
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
enum WheelKey {
    /// A project of Python's package index.
    Project(String),
    /// `false`: nothing.
    None(bool),
}

/// The values of a dimension.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Axis {
    /// Their names alone. Values of the axis `python` are versions of Python, and need that Python.
    Names(Vec<String>),
    /// What each of them adds, by name.
    Values(BTreeMap<String, HostVariant>),
}

/// What a host variant adds to the build of its component.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct HostVariant {
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
struct Build {
    /// The build system.
    #[schemars(extend("default" = "cmake"), example = &"cmake")]
    driver: Option<BuildDriver>,
    /// Directory of its top file, relative to the source; of driver `wheel` that of the unpacked wheel.
    #[schemars(extend("default" = "."), example = &"core")]
    source: Option<String>,
    /// Options: cache entries of CMake, variables of make, the environment of a script; of driver `wheel` `python` alone, the
    /// version that a wheel for several is installed for. In texts `{kernel-abi}`,
    /// `{version}`, `{prefix}`, `{dependencies}`, `{jobs}`, `{cuda}`, `{cuda-architectures}`, `{cuda-gencode}`, `{target}` and `{variant}`
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
}

/// Files of a build that are installed.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Installed {
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
enum OptionValue {
    /// Text.
    Text(String),
    /// A number, taken as text.
    Number(i64),
    /// `ON` or `OFF` for CMake, `1` or `0` for others.
    Switch(bool),
}

/// Device code that ships together.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct KernelGroup {
    /// What it ships as. Groups of the form `spirv` may stand beside those of `cubin` or `library`; the others ship in one form.
    #[schemars(extend("default" = "cubin"), example = &"cubin")]
    form: Option<KernelForm>,
    /// Translation units, relative to the source; of form `cubin`, and of form `spirv` compute shaders in GLSL (`.comp`),
    /// HLSL (`.hlsl`) or WGSL (`.wgsl`).
    #[schemars(example = ["kernels/neuron.cu"])]
    sources: Option<Vec<String>>,
    /// The kernel table, relative to the recipe or the source; of all forms but `slice`.
    #[schemars(example = &"kernels/table.toml")]
    table: Option<String>,
    /// Globs over the installed files that are cut to one target; of form `slice`.
    #[schemars(example = ["lib/libmysim.so.*"])]
    files: Option<Vec<String>>,
    /// Whether what is cut ships without device code, too, for machines without a GPU; of form `slice`. With `false` the selector has no
    /// build for such machines, and core needs it only where libraries are cut.
    #[schemars(extend("default" = true), example = false)]
    cpu: Option<bool>,
    /// Flags of nvcc; of form `cubin`. Targets and outputs are simpack's own. Of form `spirv` those of the compiler of
    /// shaders: `-g`, `-Os`, and `-I` with a directory of the source; of shaders in WGSL `-ffp-contract=off`, which keeps products
    /// and sums apart.
    #[schemars(example = ["-O3", "-std=c++17"])]
    flags: Option<Vec<String>>,
    /// Axes of choices that change the device code, by name: every combination is built. Of all forms but
    /// `library`; the choices of a `slice` are empty tables.
    variants: Option<BTreeMap<String, BTreeMap<String, Additions>>>,
    /// Variants whose results are the same bits on every device, by their names; `default` of a group without axes. Each
    /// arithmetic operation on floats in their modules has to forbid that a device joins it with another (`precise` in GLSL
    /// and HLSL), and none may be left to the device. Of form `spirv`.
    #[schemars(example = ["fixed"])]
    exact: Option<Vec<String>>,
    /// What some capabilities add, by a range such as `<8.0`, `>=9.0` or `>=8.0,<9.0`; of form `cubin`.
    when: Option<BTreeMap<String, Additions>>,
    /// What writes the sources, which lie in the source tree all the same: a build runs it and refuses sources that are not
    /// what it writes today. Of the forms `cubin` and `spirv`.
    generator: Option<Generator>,
    /// Whether the build of core puts the modules into core: they are compiled first, and an option of that build which
    /// says `{shaders}` is given the directory in which they lie as `VARIANT/ENVIRONMENT/KERNEL.spv`. No package ships them. All
    /// groups of the form `spirv` say the same.
    #[schemars(extend("default" = false), example = &true)]
    embed: Option<bool>,
    /// Where the structures of the table come from. A build compares them with the host's own types, and stops where they
    /// differ; `simpack generate table` writes them. Of form `spirv`.
    structures: Option<Structures>,
}

/// The types of the host that structures of the kernel table are: out of `headers` of C or C++, or by a `command`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Structures {
    /// The types, as the host names them. In the table a structure has the last of its names, and so have the structures that it
    /// holds.
    #[schemars(example = ["Neuron", "mysim::Pool"])]
    types: Vec<String>,
    /// Headers that declare them, relative to the source: the host compiler says how they lie, by debug information.
    #[schemars(example = ["host/network.h"])]
    headers: Option<Vec<String>>,
    /// What the headers are written in.
    #[schemars(extend("default" = "c++"), example = &"c++")]
    language: Option<HeaderLanguage>,
    /// Flags of the compiler that change how headers are read: those of the build that the structures depend on.
    #[schemars(example = ["-Ihost", "-std=c++20"])]
    flags: Option<Vec<String>>,
    /// Program and arguments that print the structures as JSON (`simpack schema structures`), in the place of `headers`: a
    /// program of the machine by its name, or a file of the source by its path.
    #[schemars(example = ["go", "run", "./layouts"])]
    command: Option<Vec<String>>,
    /// Globs over all files that are read, relative to the source; left out, the headers alone.
    #[schemars(example = ["host/**/*.h"])]
    inputs: Option<Vec<String>>,
}

/// A command that writes the sources of a kernel group.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Generator {
    /// Program and arguments, called in a copy of the source that holds nothing but its `inputs`: a program of the machine
    /// by its name, or a file of the source by its path.
    #[schemars(example = ["python3", "shaders/generate.py"])]
    command: Vec<String>,
    /// Globs over all files that it reads, relative to the source.
    #[schemars(example = ["shaders/generate.py", "host/network.h"])]
    inputs: Vec<String>,
}

/// What a variant or a range of capabilities adds to the flags of a group.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Additions {
    /// Names for the preprocessor, without `-D`.
    #[schemars(example = ["ACCUMULATE_FIXED", "WIDTH=4"])]
    define: Option<Vec<String>>,
    /// Flags of the compiler, as those of the group.
    #[schemars(example = ["-maxrregcount=64"])]
    flags: Option<Vec<String>>,
}

/// How the host part finds the libraries of the driver.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Driver {
    /// Driver profiles, whose directories enter the search path of the libraries.
    #[schemars(extend("default" = ["conventional"]), example = ["conventional", "container", "wsl", "nixos"])]
    profiles: Option<Vec<String>>,
    /// The ELF tag of the search path.
    #[schemars(extend("default" = "runpath"), example = &"runpath")]
    tag: Option<PathTag>,
}

/// Levels of lints, and findings that are accepted.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Lint {
    /// Ids of lints that do not report.
    #[schemars(example = ["ptx-below-sass"])]
    allow: Option<Vec<String>>,
    /// Ids of lints that report for your information.
    #[schemars(example = ["ptx-below-sass"])]
    note: Option<Vec<String>>,
    /// Ids of lints that warn.
    #[schemars(example = ["build-path-leak"])]
    warn: Option<Vec<String>>,
    /// Ids of lints that stop the build.
    #[schemars(example = ["build-path-leak"])]
    deny: Option<Vec<String>>,
    /// Findings that are accepted.
    waivers: Option<Vec<WaiverKeys>>,
}

/// A finding that is accepted, and why.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct WaiverKeys {
    /// Id of the lint.
    #[schemars(example = &"soname-policy")]
    id: String,
    /// Glob over the finding's subject, as the report shows it.
    #[schemars(example = &"mysim-core: lib/libold.so*")]
    subject: String,
    /// Why it is accepted. Reports repeat it.
    #[schemars(example = &"renamed in 2.0")]
    reason: String,
}

/// Settings of package formats.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Package {
    /// conda packages.
    conda: Option<Conda>,
    /// The package that `simpack generate nix` writes.
    nix: Option<NixKeys>,
    /// Wheels.
    wheel: Option<WheelKeys>,
}

/// The package of nix.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct NixKeys {
    /// Who looks after it, by the names of nixpkgs' maintainers.
    #[schemars(example = ["somebody"])]
    maintainers: Option<Vec<String>>,
}

/// Wheels.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct WheelKeys {
    /// What wheels do beyond what is agreed upon, and what may change with any release.
    #[schemars(example = ["variants"])]
    experimental: Option<Vec<WheelExperiment>>,
}

/// conda packages.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Conda {
    /// Name of the channel. Without the key: the simulator's name.
    #[schemars(example = &"mysim")]
    channel: Option<String>,
    /// Build number that is added to each package's own: raise it to replace packages of the same version.
    #[schemars(range(min = 0, max = 9999), extend("default" = 0), example = 1)]
    build_number: Option<u64>,
    /// What conda brings to a machine with a driver where it does not know the GPU's capability: the PTX of the lowest
    /// capability, the kernels of all targets (by the package `NAME-kernels-all`), or nothing, for the CPU. Libraries that
    /// ship cut exclude each other, so that `all` is refused for them. Of shaders no package manager knows which a device
    /// takes: without the key it brings those of the lowest environment, with `all` those of all, with `cpu` none.
    #[schemars(extend("default" = "ptx"), example = &"all")]
    fallback: Option<Fallback>,
    /// Whose conventions the recipe of `simpack generate conda` follows: those of a channel of one's own, with pinned
    /// compilers and the driver's directories in search paths, or conda-forge's, which pins compilers itself and leaves
    /// the driver to the loader.
    #[schemars(extend("default" = "channel"), example = &"conda-forge")]
    profile: Option<CondaProfile>,
    /// Accounts that look after generated recipes.
    #[schemars(example = ["somebody"])]
    maintainers: Option<Vec<String>>,
}

/// The simulator's own smoke test.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct SmokeTest {
    /// Program, relative to the prefix, and arguments of every run.
    #[schemars(example = ["bin/mysim", "run", "share/mysim/small.toml", "--json"])]
    command: Vec<String>,
    /// Further arguments for the CPU.
    #[schemars(example = ["--backend", "cpu"])]
    cpu: Option<Vec<String>>,
    /// Further arguments for one CUDA device and one target, which must run exactly that or fail. `{device}` and
    /// `{target}` are replaced.
    #[schemars(example = ["--backend", "cuda", "--device", "{device}", "--code", "{target}"])]
    cuda: Option<Vec<String>>,
    /// Further arguments for one Vulkan device, one target and one variant of the shaders, which must run exactly that or
    /// fail. `{device}`, `{target}` and `{variant}` are replaced; without `{variant}` it is one run a device.
    #[schemars(example = ["--device", "{device}", "--code", "{target}", "--variant", "{variant}"])]
    vulkan: Option<Vec<String>>,
    /// JSON pointers into what it prints: the same value everywhere. `equal` or `near` must be there.
    #[schemars(example = ["/digest"])]
    equal: Option<Vec<String>>,
    /// JSON pointers to numbers, each with the significant digits that must agree with the CPU's.
    #[schemars(example = BTreeMap::from([("/rate", 6)]))]
    near: Option<BTreeMap<String, u32>>,
    /// JSON pointer to a text that ends in the target that ran.
    #[schemars(example = &"/device_code")]
    code: Option<String>,
    /// JSON pointer to the seconds that the simulator itself measured.
    #[schemars(example = &"/run_seconds")]
    seconds: Option<String>,
    /// Seconds after which a run is ended.
    #[schemars(range(min = 1, max = 3600), extend("default" = 60), example = 120)]
    limit: Option<u32>,
}

/// One of upstream's own tests.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct UpstreamTest {
    /// Program and arguments: a path below the prefix, or the name of a program of the machine. `{prefix}`, `{source}` and `{work}`,
    /// an empty directory in which it is run, are replaced.
    #[schemars(example = ["python3.11", "-m", "mysim.tests"])]
    command: Vec<String>,
    /// Variables, with the same placeholders; nothing else of the environment is there.
    #[schemars(example = BTreeMap::from([("PYTHONPATH", "{prefix}/lib/python3.11/site-packages")]))]
    env: Option<BTreeMap<String, String>>,
    /// Texts that it prints when it passes, for programs that end with 0 whatever they find.
    #[schemars(example = ["all tests passed"])]
    prints: Option<Vec<String>>,
    /// Seconds after which it is ended.
    #[schemars(range(min = 1, max = 86400), extend("default" = 600), example = 120)]
    limit: Option<u32>,
}

/// The schema of a file in TOML, which has no null: a key that may be absent is absent.
pub fn toml_schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = generator.root_schema_for::<T>();
    if let Some(map) = schema.as_object_mut() {
        map.values_mut().for_each(without_null);
    }
    schema
}

fn without_null(value: &mut serde_json::Value) {
    use serde_json::Value;
    let is_null = |kind: &Value| kind == "null" || kind.get("type").is_some_and(|kind| kind == "null");
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Object(map) => {
            for key in ["type", "anyOf"] {
                let Some(Value::Array(kinds)) = map.get_mut(key) else { continue };
                kinds.retain(|kind| !is_null(kind));
                if let [only] = kinds.as_mut_slice() {
                    let only = only.take();
                    match (map.remove(key), only) {
                        (_, Value::Object(reference)) => map.extend(reference),
                        (_, kind) => _ = map.insert(key.to_owned(), kind),
                    }
                }
            }
            map.values_mut().for_each(without_null);
        }
        _ => {}
    }
}
