//! Structures of kernel tables out of the host: by debug information of the host's compiler, and by a command of its own.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ran, copy_tree, package_file, scratch, simpack, skip, tool, unpack};

/// The sample of `simpack init`, whose shader needs no compiler.
struct Sample {
    dir: TempDir,
}

impl Sample {
    fn start() -> Self {
        let sample = Self { dir: scratch() };
        sample.run(&["init", "mysim", "--shape", "spirv"]).exit(0);
        sample
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("recipes/mysim").join(name)
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = simpack(self.dir.path(), args);
        if args[0] == "build" {
            // With a cache of its own, so that what is compiled can be told.
            command.env("SIMPACK_CACHE_DIR", self.dir.path().join("cache"));
        }
        Ran::of(&mut command)
    }

    /// Builds the shaders, and what says their structures.
    fn build(&self) -> Ran {
        self.run(&["build", "recipes/mysim", "--component", "kernels", "--json"])
    }

    fn table(&self, args: &[&str]) -> Ran {
        self.run(&[&["generate", "table", "recipes/mysim"], args].concat())
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let text = fs_err::read_to_string(self.path(file)).unwrap();
        assert!(text.contains(from), "{file}: {from}\n{text}");
        fs_err::write(self.path(file), text.replacen(from, to, 1)).unwrap();
    }

    /// The key of the step that asks the host.
    fn key(&self) -> String {
        let plan = self.run(&["plan", "recipes/mysim", "--json"]).exit(0).json();
        let mut steps = plan["steps"].as_array().unwrap().iter();
        steps.find(|step| step["id"] == "structures main").unwrap()["key"].as_str().unwrap().to_owned()
    }
}

fn compiled(summary: &Value) -> Vec<&str> {
    let steps = summary["steps"].as_array().unwrap().iter();
    steps.filter(|step| step["cached"] == false).map(|step| step["id"].as_str().unwrap()).collect()
}

#[test]
fn a_build_stops_where_host_and_table_differ_and_the_table_is_written_from_the_host() {
    let sample = Sample::start();
    let summary = sample.build().exit(0).json();
    assert_eq!(compiled(&summary), ["structures main", "shaders/step.wgsl vulkan1.1 (default)"]);
    sample.table(&["--check"]).exit(0);
    let table = fs_err::read_to_string(sample.path("shaders/table.toml")).unwrap();

    // Another file of the host is no reason to ask again.
    let key = sample.key();
    sample.edit("host/main.cc", "const unsigned steps = 100;", "const unsigned steps = 101;");
    assert_eq!(sample.key(), key);

    sample.edit("host/neuron.h", "std::uint32_t spikes;", "alignas(16) float weights[2][2];\n  std::uint32_t spikes;");
    assert_ne!(sample.key(), key);
    let said = sample.build().exit(8);
    let said = said.stdout + &said.stderr;
    assert!(said.contains("`Neuron.weights` of the core is not in the table"), "{said}");
    assert!(said.contains("simpack generate table"), "{said}");
    let checked = sample.table(&["--check"]).exit(8).stdout;
    assert!(checked.contains("+") && checked.contains("name = \"weights\""), "{checked}");
    assert_eq!(fs_err::read_to_string(sample.path("shaders/table.toml")).unwrap(), table, "--check writes nothing");

    let answer = sample.table(&["--json"]).exit(0).json();
    assert_eq!(
        (&answer["files"][0]["path"], &answer["files"][0]["status"]),
        (&"shaders/table.toml".into(), &"stale".into())
    );
    let written = fs_err::read_to_string(sample.path("shaders/table.toml")).unwrap();
    let expected = table.replace(
        "{ name = \"v\", type = \"i32\" }, { name = \"spikes\", type = \"u32\" }",
        "{ name = \"v\", type = \"i32\" }, { name = \"weights\", type = \"f32\", count = 4, offset = 16 }, { name = \"spikes\", type = \"u32\" }",
    );
    assert_eq!(written, expected.replace("# that of host/neuron.h\n", "# that of host/neuron.h\nsize = 48\n"));
    sample.table(&["--check"]).exit(0);
    // Host and table agree; the shader is behind, and verification says where.
    let said = sample.build().exit(1).stdout;
    assert!(said.contains("`weights` is not in the shader"), "{said}");

    // A field at another place, and one of another type.
    sample.edit("host/neuron.h", "alignas(16) ", "");
    let said = sample.build().exit(8);
    assert!((said.stdout + &said.stderr).contains("`Neuron.weights` is at 4 in the core, 16 in the table"));
    sample.table(&[]).exit(0);
    sample.edit("host/neuron.h", "float weights", "std::int32_t weights");
    let said = sample.build().exit(8);
    assert!((said.stdout + &said.stderr).contains("`Neuron.weights` is i32[4] in the core, f32[4] in the table"));
    let page = sample.run(&["generate", "docs", "recipes/mysim", "--output", "doc"]).exit(0);
    let page = fs_err::read_to_string(sample.dir.path().join("doc/kernels.md")).unwrap_or_else(|_| panic!("{page:?}"));
    assert!(page.contains("as `Neuron` of the host has them") && page.contains("| `weights` | 4 | 16 |"), "{page}");
}

#[test]
fn a_new_table_gets_its_structures_from_the_host_with_those_in_them() {
    let sample = Sample::start();
    let header = "#pragma once\n#include <array>\n#include \"inner.h\"\nnamespace net {\nenum class Phase : unsigned short { rest, fire };\n\
                  struct Neuron { std::array<int, 1> v; unsigned spikes; Phase phase; bool on; Inhib inhib[2]; };\n}\n";
    fs_err::write(sample.path("host/neuron.h"), header).unwrap();
    fs_err::write(sample.path("host/inner.h"), "namespace net {\nstruct Inhib { float ff; double fb; };\n}\n").unwrap();
    let table = fs_err::read_to_string(sample.path("shaders/table.toml")).unwrap();
    let start = table.find("[[struct]]").unwrap();
    let end = table.find("[[kernel]]").unwrap();
    fs_err::write(sample.path("shaders/table.toml"), table[..start].to_owned() + &table[end..]).unwrap();
    sample.edit("simpack.toml", "types = [\"Neuron\"]", "types = [\"net::Neuron\"]");

    // A build needs the table; what writes it does not.
    let said = sample.build().exit(3);
    assert!((said.stdout + &said.stderr).contains("`Neuron` is no struct of the kernel table `shaders/table.toml`"));
    // A header that nobody declares is not there.
    let said = sample.table(&[]).exit(5);
    assert!(said.stderr.contains("add \"host/inner.h\" to `inputs` of the structures of the kernel group"), "{said:?}");
    sample.edit(
        "simpack.toml",
        "headers = [\"host/neuron.h\"]",
        "headers = [\"host/neuron.h\"]\ninputs = [\"host/*.h\"]",
    );
    sample.table(&[]).exit(0);
    let written = fs_err::read_to_string(sample.path("shaders/table.toml")).unwrap();
    let expected = "[[struct]]\nname = \"Inhib\"\nfields = [\n  { name = \"ff\", type = \"f32\" },\n  { name = \"fb\", type = \"f64\" },\n]\n\n\
                    [[struct]]\nname = \"Neuron\"\nfields = [\n  { name = \"v\", type = \"i32\" },\n  { name = \"spikes\", type = \"u32\" },\n  \
                    { name = \"phase\", type = \"u16\" },\n  { name = \"on\", type = \"u8\" },\n  \
                    { name = \"inhib\", type = \"struct\", of = \"Inhib\", count = 2 },\n]\n";
    assert!(written.contains(expected), "{written}");
    sample.table(&["--check"]).exit(0);

    // The compiler that the recipe asks for says the same; the recipe's is the machine's, this one is pinned.
    sample.edit("simpack.toml", "host = { use = \"system\" }", "host = \"zig\"");
    sample.table(&["--check"]).exit(0);

    // What no shader has is named; so is a type that is not there.
    sample.edit("host/inner.h", "float ff;", "unsigned ff : 3;");
    let said = sample.table(&[]).exit(5).stderr;
    assert!(said.contains("`Inhib.ff` is a bit-field, which no shader has"), "{said}");
    sample.edit("simpack.toml", "net::Neuron", "net::Neuronn");
    let said = sample.table(&[]).exit(5).stderr;
    assert!(said.contains("types of [kernels.main.structures]") && said.contains("Neuronn"), "{said}");
}

/// A program in Rust that prints its own structures by `offset_of!`.
const LAYOUTS: &str = r##"
use core::mem::{offset_of, size_of};

#[repr(C)]
pub struct Inhib { pub ff: f32, pub fb: [f32; 2] }
#[repr(C)]
pub struct Neuron { pub v: i32, pub spikes: u32, pub inhib: Inhib, pub on: bool }

fn main() {
    println!("{{ \"schema\": 1, \"structures\": [");
    println!("{{ \"name\": \"Neuron\", \"size\": {}, \"fields\": [", size_of::<Neuron>());
    for (name, kind, offset) in [
        ("v", "\"type\": \"i32\"", offset_of!(Neuron, v)),
        ("spikes", "\"type\": \"u32\"", offset_of!(Neuron, spikes)),
        ("inhib", "\"of\": \"Inhib\"", offset_of!(Neuron, inhib)),
    ] {
        println!("{{ \"name\": \"{name}\", {kind}, \"offset\": {offset} }},");
    }
    println!("{{ \"name\": \"on\", \"type\": \"u8\", \"offset\": {} }} ] }},", offset_of!(Neuron, on));
    println!("{{ \"name\": \"Inhib\", \"size\": {}, \"fields\": [", size_of::<Inhib>());
    println!("{{ \"name\": \"ff\", \"type\": \"f32\", \"offset\": {} }},", offset_of!(Inhib, ff));
    println!("{{ \"name\": \"fb\", \"type\": \"f32\", \"count\": 2, \"offset\": {} }} ] }} ] }}", offset_of!(Inhib, fb));
}
"##;

#[test]
fn a_command_of_the_host_prints_its_structures() {
    if tool("cargo").is_none() {
        skip("cargo is not here");
        return;
    }
    let sample = Sample::start();
    fs_err::create_dir_all(sample.path("layouts/src")).unwrap();
    fs_err::write(sample.path("layouts/src/main.rs"), LAYOUTS).unwrap();
    let manifest = "[package]\nname = \"layouts\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    fs_err::write(sample.path("layouts/Cargo.toml"), manifest).unwrap();
    let command = "command = [\"cargo\", \"run\", \"--quiet\", \"--offline\", \"--manifest-path\", \"layouts/Cargo.toml\"]\n\
                   inputs = [\"layouts/Cargo.toml\", \"layouts/src/**\"]";
    sample.edit("simpack.toml", "headers = [\"host/neuron.h\"]", command);
    let said = sample.build().exit(8);
    assert!((said.stdout + &said.stderr).contains("`Neuron.inhib` of the core is not in the table"));
    sample.table(&[]).exit(0);
    let written = fs_err::read_to_string(sample.path("shaders/table.toml")).unwrap();
    assert!(
        written.contains("{ name = \"inhib\", type = \"struct\", of = \"Inhib\" }, { name = \"on\", type = \"u8\" }"),
        "{written}"
    );
    sample.table(&["--check"]).exit(0);

    for (from, to, expected) in [
        ("\\\"schema\\\": 1", "\\\"schema\\\": 7", "structures of schema 7, and 1 is known"),
        ("\\\"schema\\\": 7", "schema: 1", "no structures as JSON: key must be a string"),
        ("schema: 1", "\\\"schema\\\": 1", ""),
        ("offset_of!(Neuron, on)", "offset_of!(Neuron, on) - 1", "`Neuron.on` lies over `inhib`"),
        ("offset_of!(Neuron, on) - 1", "offset_of!(Neuron, on)", ""),
        ("\\\"name\\\": \\\"Neuron\\\"", "\\\"name\\\": \\\"Neurone\\\"", "there is no structure `Neuron`"),
    ] {
        sample.edit("layouts/src/main.rs", from, to);
        if !expected.is_empty() {
            let said = sample.table(&["--check"]).exit(5).stderr;
            assert!(said.contains(expected), "{said}");
        }
    }
}

/// Push constants that are a structure of the host: the table has its fields from there, and the tag is over their names.
#[test]
fn push_constants_are_a_structure_of_the_host() {
    let sample = Sample::start();
    let tag = || {
        let said = sample.run(&["check", "recipes/mysim"]).exit(0).stdout;
        said.lines().find(|line| line.contains("kernel ABI")).map(str::to_owned).expect(&said)
    };
    let before = tag();
    let push = "struct Push { std::uint32_t count; std::int32_t drive; };\n";
    sample.edit("host/neuron.h", "struct Neuron", &format!("{push}struct Neuron"));
    sample.edit("simpack.toml", "types = [\"Neuron\"]", "types = [\"Neuron\", \"Push\"]");
    let params = "params = [{ name = \"count\", type = \"u32\" }, { name = \"drive\", type = \"i32\" }]";
    sample.edit("shaders/table.toml", params, "push-constants = \"Push\"");
    sample.table(&[]).exit(0);
    let written = fs_err::read_to_string(sample.path("shaders/table.toml")).unwrap();
    let expected = "[[struct]]\nname = \"Push\"\nfields = [\n  { name = \"count\", type = \"u32\" },\n  { name = \"drive\", type = \"i32\" },\n]\n";
    assert!(written.contains(expected), "{written}");
    assert_ne!(tag(), before, "the names of fields are a part of it");
    sample.build().exit(0);
    sample.run(&["generate", "docs", "recipes/mysim", "--output", "doc"]).exit(0);
    let page = fs_err::read_to_string(sample.dir.path().join("doc/kernels.md")).unwrap();
    assert!(
        page.contains("Push constants: structure `Push`.") && page.contains("as `Push` of the host has them"),
        "{page}"
    );

    // Two fields of one size change places: nothing but their names tells.
    let of_host = tag();
    sample.edit("host/neuron.h", push, "struct Push { std::int32_t drive; std::uint32_t count; };\n");
    let said = sample.build().exit(8);
    let said = said.stdout + &said.stderr;
    assert!(said.contains("`Push.drive` is at 0 in the core, 4 in the table"), "{said}");
    sample.table(&[]).exit(0);
    assert_ne!(tag(), of_host);
    let said = sample.build().exit(1).stdout;
    assert!(said.contains("push constants of `step`: `drive` is at 0 in the core, 4 in the shader"), "{said}");
    sample.edit(
        "shaders/step.wgsl",
        "struct Push { count: u32, drive: i32 }",
        "struct Push { drive: i32, count: u32 }",
    );
    sample.build().exit(0);
}

/// The recipe whose shaders need no compiler and whose host needs no headers of Vulkan, with debug information in core.
fn with_debug_information() -> (TempDir, impl Fn(&[&str]) -> Ran) {
    let dir = scratch();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/webgpu"), &dir.path().join("recipe"));
    let makefile = dir.path().join("recipe/Makefile");
    let text = fs_err::read_to_string(&makefile).unwrap();
    assert!(text.contains(" -s ") && text.contains("-O2"));
    fs_err::write(&makefile, text.replace(" -s ", " ").replace("-O2", "-O2 -g $(LATE)")).unwrap();
    let path = dir.path().to_owned();
    (dir, move |args: &[&str]| Ran::of(&mut simpack(&path, args)))
}

/// What a part of core was compiled with, debug information tells: `verify` holds it against what the modules read.
#[test]
fn core_that_was_compiled_with_other_structures_is_found_by_its_debug_information() {
    let (dir, run) = with_debug_information();
    let path = |below: &str| dir.path().join(below);
    let found = |ran: &Ran| -> Vec<Value> {
        let all = ran.json()["findings"].as_array().unwrap().clone();
        all.into_iter().filter(|one| one["lint"] == "core-layout").collect()
    };
    run(&["build", "recipe"]).exit(0);
    assert_eq!(found(&run(&["verify", "dist/conda", "--json"]).exit(0)), [Value::Null; 0]);

    // Installed, and then core is compiled again: by a header that has changed, for the table that has not.
    for package in ["ringed-core", "ringed-shaders-vulkan1.1", "ringed-shaders-webgpu"] {
        unpack(&package_file(&path("dist/conda"), package), "pkg", &path("prefix"));
    }
    let header = fs_err::read_to_string(path("recipe/host/ring.h")).unwrap();
    let (from, to) = ("int32_t arriving;\n    uint32_t fired;", "uint32_t fired;\n    int32_t arriving;");
    assert!(header.contains(from));
    fs_err::write(path("recipe/host/ring.h"), header.replace(from, to)).unwrap();
    let compile = |flags: &[&str]| {
        let mut command = std::process::Command::new("g++");
        command.args(["-std=c++17", "-DABI=\"k0\"", "recipe/host/main.cc", "-o", "prefix/bin/ringed"]).args(flags);
        Ran::of(command.current_dir(dir.path())).exit(0);
    };
    compile(&["-g"]);
    let said = found(&run(&["verify", "prefix", "--json"]).exit(1));
    let [one] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(one["message"], "`Cell`: `fired` is at 4 in the core, 8 in the shader");
    assert_eq!(one["subject"], "ringed-core: bin/ringed");
    let evidence: Vec<&str> = one["evidence"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert!(evidence[0].starts_with("read by 8 of 8 modules, the first is ringed-shaders-"), "{evidence:?}");
    assert_eq!(evidence[1], "compiled so in recipe/host/main.cc");
    // Another alignment moves nothing that a name says: the size tells.
    fs_err::write(path("recipe/host/ring.h"), header.replace("struct Cell {", "struct alignas(8) Cell {")).unwrap();
    compile(&["-g", "-gz=zlib"]);
    let said = found(&run(&["verify", "prefix", "--json"]).exit(1));
    assert_eq!(said[0]["message"], "`Cell`: has 24 bytes in the core, 20 in the shader");
    // What no shader can have, and what says nothing.
    fs_err::write(path("recipe/host/ring.h"), header.replace("uint32_t fired;", "uint32_t fired : 1;")).unwrap();
    compile(&["-g"]);
    let said = found(&run(&["verify", "prefix", "--json"]).exit(1));
    assert_eq!(said[0]["message"], "`Cell`, as core was compiled: `Cell.fired` is a bit-field, which no shader has");
    compile(&["-g", "-s"]);
    assert_eq!(
        found(&run(&["verify", "prefix", "--json"]).exit(1)),
        [Value::Null; 0],
        "others say that it was changed"
    );

    // A flag that core alone is compiled with: headers and table agree, and the build stops all the same.
    let late = format!("#ifdef LATE\n{}\n#else\n{header}\n#endif\n", header.replace(from, to));
    fs_err::write(path("recipe/host/ring.h"), late.replace("#pragma once\n", "")).unwrap();
    let recipe = fs_err::read_to_string(path("recipe/simpack.toml")).unwrap();
    let options = "options = { LATE = \"-DLATE\", ";
    fs_err::write(path("recipe/simpack.toml"), recipe.replace("options = { ", options)).unwrap();
    let said = run(&["build", "recipe"]).exit(1).stdout;
    assert!(said.contains("core-layout") && said.contains("`fired` is at 4 in the core, 8 in the shader"), "{said}");
}

/// What a build could not do is said by `check`, at its place.
#[test]
fn mistakes_about_structures_show_their_place() {
    let sample = Sample::start();
    let recipe = fs_err::read_to_string(sample.path("simpack.toml")).unwrap();
    let from = "types = [\"Neuron\"]\nheaders = [\"host/neuron.h\"]\n";
    let mut said = String::new();
    for to in [
        "types = [\"Neurom\"]\nheaders = [\"host/neuron.h\"]\n",
        "types = [\"Neuron\", \"other::Neuron\", \"Pair<float>\"]\nheaders = [\"host/neuron.h\"]\n",
        "types = [\"Neuron\"]\nheaders = [\"host/neurons.h\"]\n",
        "types = [\"Neuron\"]\nheaders = [\"host/neuron.h\"]\ninputs = [\"host/*.hh\"]\n",
        "types = []\nheaders = [\"host/neuron.h\"]\nlanguage = \"c+\"\nflags = [\"-o\", \"-I/usr/include\", \"-O2\"]\n",
        "types = [\"Neuron\"]\nheader = [\"host/neuron.h\"]\n",
        "types = [\"Neuron\"]\nheaders = [\"host/neuron.h\"]\ncommand = [\"go\"]\ninputs = [\"x\"]\n",
        "types = [\"Neuron\"]\ncommand = []\nlanguage = \"c\"\n",
    ] {
        fs_err::write(sample.path("simpack.toml"), recipe.replace(from, to)).unwrap();
        said += &sample.run(&["check", "recipes/mysim"]).exit(3).stdout;
    }
    insta::assert_snapshot!(said);
    // Fields and structures that lie as nothing can.
    fs_err::write(sample.path("simpack.toml"), &recipe).unwrap();
    let table = fs_err::read_to_string(sample.path("shaders/table.toml")).unwrap();
    let fields = "fields = [{ name = \"v\", type = \"i32\" }, { name = \"spikes\", type = \"u32\" }]";
    let mut said = String::new();
    for push in ["params = []\npush-constants = \"Neuron\"", "push-constants = \"Neurom\"", "push-constants = 3"] {
        let params = "params = [{ name = \"count\", type = \"u32\" }, { name = \"drive\", type = \"i32\" }]";
        fs_err::write(sample.path("shaders/table.toml"), table.replace(params, push)).unwrap();
        said += &sample.run(&["check", "recipes/mysim"]).exit(3).stdout;
    }
    for to in [
        "fields = [{ name = \"v\", type = \"i32\" }, { name = \"spikes\", type = \"u32\", offset = 2 }]",
        "fields = [{ name = \"v\", type = \"i32\" }, { name = \"spikes\", type = \"u32\", offset = 6 }]",
        "size = 10\nfields = [{ name = \"v\", type = \"i32\" }, { name = \"spikes\", type = \"u32\" }]",
        "size = 4\nfields = [{ name = \"v\", type = \"f16\", count = 3 }]",
    ] {
        fs_err::write(sample.path("shaders/table.toml"), table.replace(fields, to)).unwrap();
        said += &sample.run(&["check", "recipes/mysim"]).exit(3).stdout;
    }
    insta::assert_snapshot!("of_tables", said);
}
