//! The recipe as a whole: volley's resolves, broken ones show everything at once, nothing panics.

use std::path::Path;
use std::sync::LazyLock;

use super::*;
use crate::arch::{Capability, CudaVersion, GlibcVersion};
use crate::data::Data;
use crate::manifest::Manifests;

pub(super) const VOLLEY: &str = include_str!("../../../recipes/volley/simpack.toml");

const TABLE: &str = r#"
edition = 1
[[kernel]]
name = "neuron_update"
source = "neuron.cu"
params = [{ name = "v", type = "ptr" }, { name = "count", type = "u32" }]
[[kernel]]
name = "synapse_deliver"
source = "synapse.cu"
params = [{ name = "ring", type = "ptr" }]
"#;

fn manifests() -> &'static Manifests {
    static LOADED: LazyLock<Manifests> = LazyLock::new(|| Manifests::load(&Data::at("no such directory")).unwrap());
    &LOADED
}

fn files(table: &str) -> RecipeMemory {
    let files = [("kernels/neuron.cu", ""), ("kernels/synapse.cu", ""), ("kernels/table.toml", table)];
    RecipeMemory::new(files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())))
}

pub(super) fn load_with(text: &str, selection: &Selection) -> Result<Recipe, String> {
    let dir = Path::new("recipes/volley");
    load(text, "recipes/volley/simpack.toml", dir, &files(TABLE), manifests(), selection)
        .map_err(|mistakes| render_all(&mistakes))
}

fn joined(items: impl IntoIterator<Item = impl ToString>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn volley_resolves() {
    let recipe = load_with(VOLLEY, &Selection::default()).unwrap();
    assert_eq!(joined(&recipe.targets), "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 compute_75 compute_120");
    assert_eq!(joined(recipe.components.iter().map(|component| component.kind)), "core rtc kernels dev source meta");
    assert_eq!(recipe.component(ComponentKind::Rtc).unwrap().uses[0].to_string(), "cuda-nvrtc >=13.0,<14");
    let group = &recipe.groups[0];
    assert_eq!(joined(group.variants.iter().map(|variant| &variant.name)), "fixed float none");
    assert!(group.when[0].applies("7.5".parse().unwrap()) && !group.when[0].applies("8.0".parse().unwrap()));
    assert_eq!(
        recipe.driver.directories,
        [
            "/usr/local/nvidia/lib64",
            "/usr/local/nvidia/lib",
            "/.singularity.d/libs",
            "/usr/lib/wsl/lib",
            "/run/opengl-driver/lib"
        ]
    );
    assert_eq!(joined(recipe.kernels().iter().map(|kernel| &kernel.name)), "neuron_update synapse_deliver");
}

/// The mistakes of a recipe, all of them, as `simpack check` shows them.
fn shown(text: &str) -> String {
    load_with(text, &Selection::default()).expect_err("the recipe is broken")
}

#[test]
fn a_recipe_with_many_mistakes_shows_all_at_once() {
    insta::assert_snapshot!(shown(
        r#"
edition = 2
colour = "red"

[simulator]
name = "Volley"
version = "1.0-beta1"
licence = "BSD-3-Clause"
summary = ""

[source]
git = "somewhere"
path = "."

[matrix]
platforms = ["linux-65"]
cuda = ["13.0", 12.8]
capabilities = ["8.0", "9.2", "7.0", "8.0a", "10.1", "8.0", "nine"]
ptx = ["9.0b"]

[toolchain]
host = { use = "zig", cxx = "12", glibc = "2.29" }
cuda = { release = "13.7" }

[component.core]
policy = "capability"
build = { driver = "cmaek", source = "../core", options = { TAG = "{kernel_abi}", LIST = [1] } }
files = ["/usr/lib/*.so", "lib/[a", 3]

[component.rtc]
policy = "major"
uses = ["nvrct >=13.0,<14", "nvrtc >=13.0,<14", "nvrtc newest", "cuda"]

[component.kernels]
policy = "major"
files = ["lib/**"]

[component.docs]

[kernels.Network]
sources = ["kernels/neurons.cu", "kernels/synapse.cu"]
table = "kernels/tabel.toml"
form = "cubins"
flags = ["-O3", "-arch=sm_90"]
[kernels.Network.variants.accumulate]
fixed = { defines = ["ACCUMULATE_FIXED"] }
float = { define = ["-DACCUMULATE_FLOAT"] }
"no-ne" = {}
[kernels.Network.when."<=8.0"]
define = ["NO_ASYNC_COPY"]

[driver]
profiles = ["conventional", "nxos", "none"]
tag = "run-path"

[lint]
allow = ["needed", { id = "a", subject = "b", reason = "c" }]
deny = ["needed"]
waivers = [{ id = "core-code", subject = "lib/*" }]

[package.conda]
channel = 5
build-number = -1
"#
    ));
}

#[test]
fn mistakes_that_need_the_manifests_show_all_at_once() {
    insta::assert_snapshot!(shown(
        &VOLLEY
            .replace(r#""7.5", "8.0""#, r#""7.0", "8.0a", "9.2", "10.1""#)
            .replace(r#"policy = "major.minor""#, r#"policy = "major""#)
            .replace(r#"glibc = "2.28""#, r#"glibc = "2.29""#)
            .replace(r#""wsl", "nixos""#, r#""wls", "none""#)
            .replace("kernels/neuron.cu", "kernels/neurom.cu")
    ));
}

#[test]
fn mistakes_of_a_kernel_table_are_shown_in_its_file() {
    let table = r#"
edition = 1
[[kernel]]
name = "neuron_update"
source = "neurn.cu"
params = [
  { name = "v", type = "pointer" },
  { name = "count", type = "u32", size = 4 },
  { name = "p", type = "struct", size = 10, align = 4 },
  { name = "q", type = "struct", size = 8, align = 3 },
  { name = "r", type = "struct" },
]
[[kernel]]
name = "neuron_update"
source = "neuron.cu"
params = [{ name = "a", type = "ptr" }, { name = "a", type = "ptr" }]
[[kernel]]
name = "synapse deliver"
param = []
"#;
    let dir = Path::new("recipes/volley");
    let path = "recipes/volley/simpack.toml";
    let mistakes = load(VOLLEY, path, dir, &files(table), manifests(), &Selection::default()).unwrap_err();
    insta::assert_snapshot!(render_all(&mistakes));
}

/// Parameters of a kernel of CUDA are no fields of a structure that a shader reads.
#[test]
fn push_constants_are_of_shaders_alone() {
    let table = r#"
edition = 1
[[struct]]
name = "Step"
fields = [{ name = "count", type = "u32" }]
[[kernel]]
name = "neuron_update"
push-constants = "Step"
"#;
    let (dir, path) = (Path::new("recipes/volley"), "recipes/volley/simpack.toml");
    let mistakes = load(VOLLEY, path, dir, &files(table), manifests(), &Selection::default()).unwrap_err();
    let said = render_all(&mistakes);
    assert!(said.contains("`neuron_update` has `push-constants`, which shaders alone have\n --> recipes/volley/kernels/table.toml:8:18"), "{said}");
}

#[test]
fn text_that_is_no_toml_shows_where() {
    insta::assert_snapshot!(shown("edition = 1\n[simulator\nname = \"a\"\nname = \"b\"\n[matrix]\ncuda = [\"13.0\"\n"));
    insta::assert_snapshot!(shown(""));
    insta::assert_snapshot!(shown("edition = 1\nedition = 1\n[a]\n[a]\nb = 1__0\nc = \"\\q\"\n"));
}

/// Forms that cannot be built, or not together, are refused where they stand.
#[test]
fn forms_are_checked() {
    let group = VOLLEY.find("[kernels.network]").unwrap();
    let rest = &VOLLEY[group..];
    let driver = group + rest.find("[driver]").unwrap();
    let with = |kernels: &str| format!("{}{kernels}\n{}", &VOLLEY[..group], &VOLLEY[driver..]);
    let build =
        "[component.kernels.build]\ndriver = \"make\"\nsource = \"kernels\"\noptions = { TARGET = \"{target}\" }\n";
    let library = "[kernels.network]\nform = \"library\"\ntable = \"kernels/table.toml\"\n";
    let recipe = load_with(&with(&format!("{build}{library}")), &Selection::default()).unwrap();
    assert_eq!(recipe.form_of(recipe.targets[0]), Some(KernelForm::Library));
    assert!(recipe.kernel_abi_tag().is_some() && !recipe.is_sliced());
    let spirv = library.replace("library", "spirv") + "sources = [\"kernels/neuron.cu\", \"kernels/synapse.cu\"]\n";
    let slice = "[kernels.whole]\nform = \"slice\"\nfiles = [\"lib/*\"]\n";
    insta::assert_snapshot!(
        [
            shown(&with(&spirv)),
            shown(&with(library)),
            shown(&with(&format!("{build}{slice}"))),
            shown(&with(&format!("{build}{library}flags = [\"-O3\"]\n"))),
            shown(&with(&format!("{build}{library}{slice}"))),
            shown(&with(&format!("{}{library}", build.replace("make", "copy")))),
            shown(&VOLLEY.replace("{kernel-abi}", "{target}")),
        ]
        .join("\n")
    );
}

/// Libraries that ship cut exclude each other, so that nothing can bring all of them where nobody knows the GPU.
#[test]
fn all_kernels_are_no_fallback_for_what_ships_cut() {
    let group = VOLLEY.find("[kernels.network]").unwrap();
    let driver = group + VOLLEY[group..].find("[driver]").unwrap();
    let slice = "[kernels.whole]\nform = \"slice\"\nfiles = [\"lib/libvolley.so.*\"]\n";
    let cut = format!("{}{slice}\n{}", &VOLLEY[..group], &VOLLEY[driver..]);
    let refusal = "libraries that ship cut exclude each other";
    for (text, fallback, refused) in
        [(&cut, "all", true), (&cut, "ptx", false), (&cut, "cpu", false), (&VOLLEY.to_owned(), "all", false)]
    {
        let with = text.replace("[package.conda]", &format!("[package.conda]\nfallback = \"{fallback}\""));
        assert_ne!(&with, text);
        let mistakes = load_with(&with, &Selection::default()).err().unwrap_or_default();
        assert_eq!(mistakes.contains(refusal), refused, "{fallback}: {mistakes}");
    }
}

/// Near the mistakes above, and right.
#[test]
fn look_alikes_are_no_mistakes() {
    let right = [
        VOLLEY.replace(r#"policy = "major.minor""#, r#"policy = "major""#).replace("nvrtc >=13.0,<14", "cudart"),
        VOLLEY.replace("nvrtc >=13.0,<14", "conda:nvrct >=1"),
        VOLLEY.replace("\"{kernel-abi}\"", "\"${kernel_abi} $<CONFIG> {version}\""),
        VOLLEY.replace(r#""7.5", "8.0""#, r#""7.5", "9.0a", "10.0f""#),
        VOLLEY.replace(r#"{ use = "zig", glibc = "2.28" }"#, r#""system""#),
        VOLLEY.replace(r#"{ use = "zig", glibc = "2.28" }"#, r#"{ cxx = ">=12" }"#),
        VOLLEY.replace("\"<8.0\"", "\">=7.5, <8.0\""),
        VOLLEY.replace(r#"["conventional", "container", "wsl", "nixos"]"#, r#"["none"]"#),
        VOLLEY.replace("[source]\npath = \".\"", ""),
        VOLLEY.replace("-O3", "-Xptxas=-O3"),
    ];
    for text in right {
        if let Err(mistakes) = load_with(&text, &Selection::default()) {
            panic!("{mistakes}");
        }
    }
}

#[test]
fn everything_that_can_be_derived_has_a_default() {
    let text = r#"
edition = 1
[simulator]
name = "sim"
version = "0.1.0"
license = "MIT"
summary = "s"
[matrix]
cuda = ["13.0"]
capabilities = ["9.0", "8.0", "9.0a"]
[component.core]
[component.rtc]
uses = ["nvrtc"]
[kernels.all]
sources = ["kernels/neuron.cu", "kernels/synapse.cu"]
table = "kernels/table.toml"
"#;
    let recipe = load_with(text, &Selection::default()).unwrap();
    insta::assert_json_snapshot!(recipe);
}

#[test]
fn the_command_line_may_choose_otherwise() {
    let old = CudaVersion::new(11, 8);
    let selection = Selection { cuda: Some(old), ..Selection::default() };
    insta::assert_snapshot!(load_with(VOLLEY, &selection).unwrap_err());
    let chosen = Selection {
        cuda: Some(old),
        capabilities: Some(vec![Capability::new(8, 0), Capability::new(7, 0)]),
        ptx: Some(Vec::new()),
        environments: None,
        host: Some(HostKind::System),
        writes_structures: false,
    };
    let recipe = load_with(VOLLEY, &chosen).unwrap();
    assert_eq!(joined(&recipe.targets), "sm_70 sm_80");
    assert_eq!(recipe.host, HostToolchain::System { min_cxx: None, glibc: None });
    let unknown = Selection { cuda: Some(CudaVersion::new(14, 0)), ..Selection::default() };
    insta::assert_snapshot!(load_with(VOLLEY, &unknown).unwrap_err());
    let wrong = Selection { capabilities: Some(vec!["9.2".parse().unwrap()]), ..Selection::default() };
    insta::assert_snapshot!(load_with(VOLLEY, &wrong).unwrap_err());
}

/// What is wrong whatever the release is told once; what is wrong for one of them beside it.
#[test]
fn mistakes_that_several_releases_share_are_told_once() {
    let text = VOLLEY.replace("cuda = [\"13.0\"]", "cuda = [\"13.0\", \"11.8\", \"99.0\"]");
    let text = text.replace("\"7.5\", \"8.0\"", "\"9.2\", \"8.0\"").replace("\"runpath\"", "\"rpaht\"");
    let text = text.replace("nvrtc", "nvrtx").replace("\"conventional\"", "\"conventinal\"");
    let release = "[matrix.release.\"11.8\"]\ncapabilities = [\"10.0\"]\n\n[toolchain]\n";
    let text = text.replacen("[toolchain]\n", release, 1);
    let files = files(TABLE);
    let selection = Selection::default();
    let loaded = load_matrix(&text, "simpack.toml", Path::new("."), &files, manifests(), &selection);
    insta::assert_snapshot!(render_all(&loaded.unwrap_err()));
}

/// What is built for each release may open other libraries for each; core is built once.
#[test]
fn what_is_opened_may_follow_from_the_release() {
    let load = |opens: &str| {
        let text = VOLLEY.replace("cuda = [\"13.0\"]", "cuda = [\"13.0\", \"11.8\"]");
        let release = format!("[matrix.release.\"11.8\"]\ncapabilities = [\"8.0\"]\nopens = {opens}\n\n[toolchain]\n");
        let text = text.replacen("[toolchain]\n", &release, 1);
        load_matrix(&text, "simpack.toml", Path::new("."), &files(TABLE), manifests(), &Selection::default())
    };
    let matrix = load("{ rtc = [\"libnvrtc.so.11.2\"] }").unwrap();
    let opens: Vec<_> =
        matrix.iter().map(|recipe| recipe.component(ComponentKind::Rtc).unwrap().opens.clone()).collect();
    assert_eq!(opens, [["libnvrtc.so.13"], ["libnvrtc.so.11.2"]]);
    insta::assert_snapshot!(render_all(&load("{ core = [\"libcuda.so.1\"], rtc = [\"nvrtc\"] }").unwrap_err()));
}

/// Choosing the compiler that the recipe names changes nothing; another one has no settings in the recipe.
#[test]
fn a_chosen_host_compiler_keeps_the_recipes_settings() {
    let load = |written: &str, host: Option<HostKind>| {
        let text = VOLLEY.replace(r#"{ use = "zig", glibc = "2.28" }"#, written);
        load_with(&text, &Selection { host, ..Selection::default() }).unwrap().host
    };
    let (zig, system) = (r#"{ use = "zig", glibc = "2.17" }"#, r#"{ cxx = ">=12" }"#);
    let zig_for = |minor| HostToolchain::Zig { glibc: GlibcVersion::new(2, minor) };
    for host in [None, Some(HostKind::Zig)] {
        assert_eq!(load(zig, host), zig_for(17));
    }
    for host in [None, Some(HostKind::System)] {
        assert_eq!(load(system, host), HostToolchain::System { min_cxx: Some(12), glibc: None });
    }
    assert_eq!(load(system, Some(HostKind::Zig)), zig_for(28));
    let held = r#"{ use = "system", glibc = "2.31", cxx = ">=12" }"#;
    let to = HostToolchain::System { min_cxx: Some(12), glibc: Some(GlibcVersion::new(2, 31)) };
    assert_eq!(load(held, Some(HostKind::System)), to);
    assert_eq!((to.pinned(), to.glibc_ceiling()), (Some("zig"), Some(GlibcVersion::new(2, 31))));
    assert_eq!(to.to_string(), "the machine's compiler, g++ 12 or newer, for glibc 2.31");
    assert_eq!(load(zig, Some(HostKind::System)), HostToolchain::System { min_cxx: None, glibc: None });
}

#[test]
fn the_lowest_processor_is_said_or_not() {
    let load = |cpu: &str| {
        let text = VOLLEY.replace("glibc = \"2.28\" }", &format!("glibc = \"2.28\"{cpu} }}"));
        load_with(&text, &Selection::default())
    };
    assert_eq!(load("").unwrap().cpu, None);
    assert_eq!(load(", cpu = \"x86-64-v3\"").unwrap().cpu, Some(CpuLevel::V3));
    let wrong = load(", cpu = \"x86-64-v9\"").unwrap_err();
    assert!(wrong.contains("`x86-64-v9`") && wrong.contains("x86-64-v2"), "{wrong}");
}

#[test]
fn a_smoke_test_is_read_and_its_mistakes_are_shown() {
    let smoke = load_with(VOLLEY, &Selection::default()).unwrap().smoke.unwrap();
    assert_eq!(
        (smoke.command[0].as_str(), smoke.limit, smoke.code.as_deref()),
        ("bin/volley", 60, Some("/device_code"))
    );
    assert!(smoke.cuda.contains(&"{target}".to_owned()));
    let start = VOLLEY.split("[smoke]").next().unwrap();
    let said = |table: &str| load_with(&format!("{start}\n[smoke]\n{table}"), &Selection::default()).unwrap_err();
    let run = "command = [\"bin/volley\"]\n";
    for (table, words) in [
        ("equal = [\"/a\"]", "[smoke] lacks `command`"),
        ("command = []\nequal = [\"/a\"]", "command names no program"),
        ("command = [\"/bin/sh\"]\nequal = [\"/a\"]", "it lies in the prefix"),
        (run, "[smoke] compares nothing"),
        (&format!("{run}equal = [\"digest\"]"), "`digest` is not a JSON pointer"),
        (&format!("{run}near = {{ \"/rate\" = 0 }}"), "the number of digits must be from 1 to 17"),
        (&format!("{run}equal = [\"/a\"]\ncpu = [\"{{device}}\"]"), "unknown placeholder `{device}` in cpu"),
        (&format!("{run}equal = [\"/a\"]\ncuda = [\"{{gpu}}\"]"), "unknown placeholder `{gpu}` in cuda"),
        (&format!("{run}equals = [\"/a\"]"), "unknown key `equals` in [smoke]"),
    ] {
        assert!(said(table).contains(words), "{table}: {}", said(table));
    }
}

#[test]
fn options_that_the_loader_obeys_are_mistakes() {
    let said = |options: &str| {
        let cmake = "driver = \"cmake\"\nsource = \".\"\noptions = { VOLLEY_KERNEL_ABI = \"{kernel-abi}\", VOLLEY_INSTALL_KERNELS = false }";
        let script = format!("driver = \"script\"\ntargets = [\"build.sh\"]\noptions = {{ {options} }}");
        assert!(VOLLEY.contains(cmake));
        load_with(&VOLLEY.replace(cmake, &script), &Selection::default())
    };
    assert!(said("LD = \"ld.lld\", LDFLAGS = \"-s\", FLAG = true").is_ok());
    for name in ["LD_PRELOAD", "LD_AUDIT", "GLIBC_TUNABLES", "GCONV_PATH", "MALLOC_CONF", "BASH_ENV"] {
        let shown = said(&format!("{name} = \"lib.so\"")).unwrap_err();
        assert!(shown.contains(&format!("option `{name}` would be obeyed by the loader")), "{shown}");
        assert!(shown.contains("^^^^^^^^"), "{shown}");
    }
}

#[test]
fn what_compiles_on_users_machines_is_read_and_mistakes_show_their_place() {
    let with = |table: &str| {
        let table = format!("[component.rtc.compile]\n{table}\n\n[component.kernels]");
        load_with(&VOLLEY.replace("[component.kernels]", &table), &Selection::default())
    };
    let sound = "command = [\"lib/libvolley_rtc.so.1.0.0\", \"{model}\"]\ninputs = [\"*.c\"]\noutputs = [\"*.so\"]\n";
    let recipe = with(&format!("{sound}compiler = \"g++ >=10\"\nenv = {{ CUDACXX = \"{{nvcc}}\" }}")).unwrap();
    let compile = recipe.component(ComponentKind::Rtc).unwrap().compile.clone().unwrap();
    assert_eq!((compile.problem(), compile.limit, compile.compiler.to_string()), (None, 3600, "g++ >=10".to_owned()));
    for (table, said) in [
        (sound.to_owned(), "compile of a component lacks `compiler`"),
        (format!("{sound}compiler = \"gcc\""), "`gcc` is not a range of compilers"),
        (sound.replace("{model}", "{nvcc}") + "compiler = \"g++ >=9\"", "unknown placeholder `{nvcc}`"),
        (sound.replace("lib/libvolley_rtc", "../rtc") + "compiler = \"g++ >=9\"", "leaves its directory with `..`"),
        (
            sound.replace("lib/libvolley_rtc", "bin/rtc") + "compiler = \"g++ >=9\"",
            "component `rtc` does not hold `bin/rtc",
        ),
        (sound.replace("*.so", "/tmp/*") + "compiler = \"g++ >=9\"", "pattern `/tmp/*` is absolute"),
        (
            format!("{sound}compiler = \"g++ >=9\"\nsets = {{ LD_PRELOAD = \"x\" }}"),
            "variable `LD_PRELOAD` cannot be set",
        ),
    ] {
        let shown = with(&table).unwrap_err();
        assert!(shown.contains(said) && shown.contains('^'), "{said}: {shown}");
    }
}

#[test]
fn what_builds_need_is_read_and_mistakes_show_their_place() {
    let with = |needs: &str, dependencies: &str| {
        let build = format!("[component.core.build]\nneeds = {needs}");
        let text = VOLLEY.replace("[component.core.build]", &build);
        let text = text.replace("[component.rtc]", &format!("{dependencies}\n[component.rtc]"));
        load_with(&text, &Selection::default())
    };
    let channels = "[dependencies]\nchannels = [\"https://conda.example.org/forge/\", \"kernels\"]\n";
    let recipe = with("[\"hdf5 >=1.10\", \"system:libpng\"]", channels).unwrap();
    assert_eq!(recipe.channels, ["https://conda.example.org/forge", "kernels"]);
    assert_eq!(joined(recipe.needs()[&None].clone()), "hdf5 >=1.10 system:libpng");
    assert!(with("[\"system:libpng\"]", "").is_ok());
    let wrong = |needs: &str, dependencies: &str| with(needs, dependencies).unwrap_err();
    insta::assert_snapshot!(
        [
            wrong("[\"hdf5 >=1.10\"]", ""),
            wrong("[\"hdf5\", \"hdf5\"]", "[dependencies]\nchannels = [\"kernel\", \"ftp://x\", \"/srv/channel\"]\n"),
            wrong("[\"system:libpng\"]", channels),
            wrong("[\"HDF5\", \"hdf5 newest\", \"system:hdf5 !=1\"]", "[dependencies]\nchanels = []\n"),
        ]
        .concat()
    );
    let placeholder = VOLLEY.replace("VOLLEY_KERNEL_ABI = \"{kernel-abi}\"", "VOLLEY_X = \"{dependencies}/lib\"");
    let wrong = load_with(&placeholder, &Selection::default()).unwrap_err();
    assert!(wrong.contains("`{dependencies}` stands for packages of a channel"), "{wrong}");
}

#[test]
fn host_variants_are_read_and_mistakes_show_their_place() {
    let with = |tables: &str| {
        let text = VOLLEY.replace("[component.rtc]", &format!("{tables}\n[component.rtc]"));
        load_with(&text, &Selection::default())
    };
    let channel = "[dependencies]\nchannels = [\"kernels\"]\n";
    let mpi =
        "[component.core.variants.mpi]\nopenmpi = { needs = [\"openmpi >=4\"] }\nnone = { options = { X = false } }\n";
    let python = "[component.python.build]\noptions = { DIR = \"lib/python{python}\" }\n\
                  [component.python.variants]\npython = [\"3.12\", \"3.9\"]\n";
    let recipe = with(&format!("{channel}{mpi}{python}")).unwrap();
    let words = |kind| joined(recipe.variants_of(kind).iter().map(HostVariant::word));
    // What does without comes first, else the order is the recipe's.
    assert_eq!(words(ComponentKind::Core), "nompi mpi_openmpi");
    assert_eq!(words(ComponentKind::Dev), "nompi mpi_openmpi");
    assert_eq!(words(ComponentKind::Python), "py312 py39");
    assert_eq!(words(ComponentKind::Kernels) + &words(ComponentKind::Meta), "");
    let needs = recipe.needs().into_iter().filter_map(|(host, needs)| Some(format!("{}: {}", host?, joined(needs))));
    let expected = ["mpi=none: ", "mpi=openmpi: openmpi >=4", "python=3.12: python 3.12.*", "python=3.9: python 3.9.*"];
    assert_eq!(needs.collect::<Vec<_>>(), expected);
    let wrong = |tables: &str| with(tables).unwrap_err();
    insta::assert_snapshot!(
        [
            wrong(&format!(
                "{channel}[component.core.variants]\nMPI = [\"a\"]\nmpi = []\nblas = [\"mkl\", \"mkl\", \"Open\"]\n"
            )),
            wrong("[component.python.build]\n[component.python.variants]\npython = [\"3\", \"3.12\"]\n"),
            wrong(&format!("{channel}{mpi}[component.python]\n[component.dev.variants]\n")),
            wrong("[component.core.variants.mpi]\nopenmpi = { needs = [\"openmpi\"], option = 1 }\n"),
        ]
        .concat()
    );
}

#[test]
fn a_recipe_without_device_code_names_no_release() {
    let text = "edition = 1\n[simulator]\nname = \"plain\"\nversion = \"1.0\"\nlicense = \"MIT\"\nsummary = \"s\"\n[component.core]\n";
    assert!(load_with(text, &Selection::default()).is_ok());
    for more in
        ["[component.rtc]\n", "[matrix]\nptx = [\"9.0\"]\n", "[component.core.build]\noptions = { C = \"{cuda}\" }\n"]
    {
        let wrong = load_with(&format!("{text}{more}"), &Selection::default()).unwrap_err();
        assert!(wrong.contains("no CUDA release is named"), "{wrong}");
    }
}

#[test]
fn variants_are_every_combination_in_a_fixed_order() {
    let text = VOLLEY.replace(
        "[kernels.network.when",
        "[kernels.network.variants.atomics]\non = { define = [\"ATOMICS\"] }\noff = { flags = [\"-O1\"] }\n[kernels.network.when",
    );
    let recipe = load_with(&text, &Selection::default()).unwrap();
    let variants = &recipe.groups[0].variants;
    let names = joined(variants.iter().map(|variant| &variant.name));
    assert_eq!(names, "fixed-off fixed-on float-off float-on none-off none-on");
    assert_eq!(variants[1].define, ["ACCUMULATE_FIXED", "ATOMICS"]);
    assert_eq!(variants[1].choice["atomics"], "on");
}

/// The recipe that ships, with its own files.
#[test]
fn the_embedded_recipe_fits_its_files() {
    let files = Data::at("no such directory").embedded_files("recipes/volley");
    let files = RecipeMemory::new(files.into_iter().map(|(path, bytes)| (path, bytes.to_vec())));
    let recipe = load(VOLLEY, "simpack.toml", Path::new("."), &files, manifests(), &Selection::default());
    let recipe = recipe.map_err(|mistakes| render_all(&mistakes)).unwrap();
    assert!(recipe.kernel_abi_tag().is_some());
}

mod never_panics {
    use proptest::prelude::*;

    use super::*;

    /// Changes volley's recipe at some places, so that most of it stays a recipe.
    fn edited(edits: &[(usize, String)], text: &str) -> String {
        let mut letters: Vec<char> = text.chars().collect();
        for (place, insert) in edits {
            let at = place % letters.len();
            let end = (at + insert.chars().count()).min(letters.len());
            letters.splice(at..end, insert.chars());
        }
        letters.into_iter().collect()
    }

    /// Answers what the user would see.
    fn no_panic(text: &str, table: &str) -> String {
        let (dir, manifests) = (Path::new("."), manifests());
        if let Err(mistakes) = load(text, "simpack.toml", dir, &files(table), manifests, &Selection::default()) {
            assert!(!mistakes.is_empty());
            for mistake in &mistakes {
                mistake.record();
            }
            return render_all(&mistakes);
        }
        String::new()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn on_any_text(text in "\\PC{0,200}|[\\[\\]{}=\"'.,#a-z0-9\\n \u{e9}\u{1f600}-]{0,300}") {
            no_panic(&text, &text);
        }

        #[test]
        fn on_edited_recipes(edits in prop::collection::vec((any::<usize>(), "[\\[\\]{}=\"\\n0-9a-z.\u{e9}-]{1,6}"), 1..6)) {
            no_panic(&edited(&edits, VOLLEY), &edited(&edits, TABLE));
        }
    }

    /// Every value in the place of every other.
    #[test]
    fn on_wrong_types() {
        let values = [
            "1",
            "-1",
            "1.5",
            "true",
            "\"\"",
            "\"\u{e9}\"",
            "[]",
            "[[]]",
            "{}",
            "{ a = 1 }",
            "1979-05-27",
            "99999999999999999999",
            "\"..\"",
            "\"/\"",
            "[\"\", 1, {}]",
            "inf",
        ];
        let lines: Vec<String> = VOLLEY.lines().map(str::to_owned).collect();
        for (index, line) in lines.iter().enumerate() {
            let Some((key, _)) = line.split_once(" = ") else { continue };
            for value in values {
                let mut lines = lines.clone();
                lines[index] = format!("{key} = {value}");
                let seen = no_panic(&lines.join("\n"), TABLE);
                assert!(!seen.contains("does not know why"), "{}", lines[index]);
            }
        }
    }
}
