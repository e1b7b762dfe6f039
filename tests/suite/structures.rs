//! Structures of kernel tables out of the host: by debug information of the host's compiler, and by a command of its own.

use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ran, scratch, simpack, skip, tool};

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
