//! Debug information of real compilers, against what their own `offsetof` and `sizeof` say.

use std::path::Path;
use std::process::Command;

use super::*;
use crate::layout::{Scalar, StructuresDump};

/// Compilers that are here: of C++ all that can be had, because each writes debug information in its own way.
fn compilers(names: &[&str]) -> Vec<String> {
    let is_there = |name: &&&str| Command::new(**name).arg("--version").output().is_ok();
    let found: Vec<String> = names.iter().filter(is_there).map(|name| (*name).to_owned()).collect();
    if found.is_empty() {
        crate::skip::skip(&format!("none of {names:?} is here"));
    }
    found
}

fn compile(compiler: &str, flags: &[&str], (file, text): (&str, &str), dir: &Path) -> Result<Vec<u8>, String> {
    fs_err::write(dir.join(file), text).unwrap();
    let args = ["-g", "-fno-eliminate-unused-debug-types", "-c", file, "-o", "unit.o"];
    let output = Command::new(compiler).args(args).args(flags).current_dir(dir).output().unwrap();
    match output.status.success() {
        true => Ok(fs_err::read(dir.join("unit.o")).unwrap()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// A unit with the anchors of some types behind a text.
fn with_anchors(text: &str, types: &[&str]) -> String {
    let anchors = types.iter().enumerate().map(|(number, name)| format!("{name} *{};\n", anchor(number)));
    text.to_owned() + &anchors.collect::<String>()
}

const HEADER: &str = r#"
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace model {
enum class Phase : std::uint16_t { rest, fire };
enum Kind { input, output };
using Weight = const float;
typedef float Vec4 __attribute__((vector_size(16)));

template <typename T, int N> struct Pair { T values[N]; T last; };

struct Inhib {
    float feed_forward;
    double feedback[2];
    static constexpr int levels = 3;
    float mean() const { return feed_forward; }
};

class Layer {
public:
    Layer();  // a constructor elsewhere
    bool on;
    Phase phase;
    Kind kind;
    Weight weights[3][4];
    volatile std::int64_t cycle;
    signed char small;
    unsigned char byte;
    char letter;
    std::uint16_t word;
    Vec4 position;
    alignas(32) float apart;
    Inhib inhib[2];
    std::array<std::uint32_t, 5> library;
    Pair<int, 3> pair;
    struct { std::uint8_t red, green; } color;
    struct { std::int16_t x, y; };
    const Layer *next;
    unsigned long long large;
};
} // namespace model
using Alias = model::Inhib;
"#;

/// A program that prints the same by `offsetof`.
const PRINTS: &str = r#"
#define FIELD(S, F, T, N) "{ \"name\": \"" #F "\", " T ", \"count\": %d, \"offset\": %zu }", N, offsetof(S, F)
using model::Layer;
using model::Inhib;
using Pair = model::Pair<int, 3>;
int main() {
    std::printf("{ \"schema\": 1, \"structures\": [\n");
    std::printf("{ \"name\": \"Inhib\", \"size\": %zu, \"fields\": [", sizeof(Inhib));
    std::printf(FIELD(Inhib, feed_forward, "\"type\": \"f32\"", 1)); std::printf(",");
    std::printf(FIELD(Inhib, feedback, "\"type\": \"f64\"", 2)); std::printf("] },\n");
    std::printf("{ \"name\": \"Pair_int_3\", \"size\": %zu, \"fields\": [", sizeof(Pair));
    std::printf(FIELD(Pair, values, "\"type\": \"i32\"", 3)); std::printf(",");
    std::printf(FIELD(Pair, last, "\"type\": \"i32\"", 1)); std::printf("] },\n");
    std::printf("{ \"name\": \"Layer_color\", \"size\": 2, \"fields\": [");
    std::printf("{ \"name\": \"red\", \"type\": \"u8\", \"offset\": 0 }, { \"name\": \"green\", \"type\": \"u8\", \"offset\": 1 }] },\n");
    std::printf("{ \"name\": \"Layer\", \"size\": %zu, \"fields\": [", sizeof(Layer));
#define NEXT(F, T, N) std::printf(FIELD(Layer, F, T, N)); std::printf(",\n")
    NEXT(on, "\"type\": \"u8\"", 1);
    NEXT(phase, "\"type\": \"u16\"", 1);
    NEXT(kind, "\"type\": \"u32\"", 1);
    NEXT(weights, "\"type\": \"f32\"", 12);
    NEXT(cycle, "\"type\": \"i64\"", 1);
    NEXT(small, "\"type\": \"i8\"", 1);
    NEXT(byte, "\"type\": \"u8\"", 1);
    NEXT(letter, "\"type\": \"i8\"", 1);
    NEXT(word, "\"type\": \"u16\"", 1);
    NEXT(position, "\"type\": \"f32\"", 4);
    NEXT(apart, "\"type\": \"f32\"", 1);
    NEXT(inhib, "\"of\": \"Inhib\"", 2);
    NEXT(library, "\"type\": \"u32\"", 5);
    NEXT(pair, "\"of\": \"Pair_int_3\"", 1);
    NEXT(color, "\"of\": \"Layer_color\"", 1);
    NEXT(x, "\"type\": \"i16\"", 1);
    NEXT(y, "\"type\": \"i16\"", 1);
    NEXT(next, "\"type\": \"ptr\"", 1);
    std::printf(FIELD(Layer, large, "\"type\": \"u64\"", 1));
    std::printf("] } ] }\n");
}
"#;

#[test]
fn structures_lie_as_the_compilers_own_offsets_say() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in compilers(&["g++", "clang++"]) {
        fs_err::write(dir.path().join("prints.cc"), HEADER.to_owned() + PRINTS).unwrap();
        let args = ["-w", "-std=c++17", "prints.cc", "-o", "prints"];
        assert!(Command::new(&compiler).args(args).current_dir(dir.path()).status().unwrap().success());
        let printed = Command::new(dir.path().join("prints")).output().unwrap().stdout;
        let mut expected = StructuresDump::read(&printed).unwrap();
        expected.sort_by(|a, b| a.name.cmp(&b.name));
        for dwarf in ["-gdwarf-2", "-gdwarf-4", "-gdwarf-5"] {
            let text = with_anchors(HEADER, &["model::Layer"]);
            let object = compile(&compiler, &[dwarf, "-std=c++17"], ("unit.cc", &text), dir.path()).unwrap();
            let mut found = dwarf_structures(&object, &["Layer"]).unwrap();
            assert_eq!(
                found.last().map(|last| last.name.as_str()),
                Some("Layer"),
                "what holds others stands behind them"
            );
            found.sort_by(|a, b| a.name.cmp(&b.name));
            assert_eq!(found, expected, "{compiler} {dwarf}");
        }
        // By an alias, and by two names; what was linked reads the same.
        let text = with_anchors(HEADER, &["Alias", "model::Inhib"]);
        let object = compile(&compiler, &["-std=c++17"], ("unit.cc", &text), dir.path()).unwrap();
        let found = dwarf_structures(&object, &["Alias", "Inhib"]).unwrap();
        assert_eq!((found[0].name.as_str(), found[1].name.as_str()), ("Alias", "Inhib"));
        assert_eq!(found[0].fields, found[1].fields);
        let linked = ["-shared", "unit.o", "-o", "unit.so"];
        assert!(Command::new(&compiler).args(linked).current_dir(dir.path()).status().unwrap().success());
        assert_eq!(
            dwarf_structures(&fs_err::read(dir.path().join("unit.so")).unwrap(), &["Alias", "Inhib"]).unwrap(),
            found
        );
        assert!(matches!(
            dwarf_structures(&object, &["Alias", "Inhib", "Third"]),
            Err(LayoutError::Missing { name, .. }) if name == "Third"
        ));
    }
}

#[test]
fn structures_of_c_are_read() {
    let text = "#include <stdint.h>\ntypedef struct { _Float16 half[2]; _Bool on; enum { A, B } kind; struct Inner *next; } Cell;\n\
                struct Inner { int32_t a; union { int b; }; };\n";
    let dir = tempfile::tempdir().unwrap();
    for compiler in compilers(&["gcc", "clang"]) {
        let object = compile(&compiler, &[], ("unit.c", &with_anchors(text, &["Cell"])), dir.path()).unwrap();
        let found = dwarf_structures(&object, &["Cell"]).unwrap();
        let fields: Vec<_> =
            found[0].fields.iter().map(|it| (it.name.as_str(), it.kind.to_string(), it.count)).collect();
        let word = |name: &str| name.to_owned();
        assert_eq!(
            fields,
            [("half", word("f16"), 2), ("on", word("u8"), 1), ("kind", word("u32"), 1), ("next", word("ptr"), 1)]
        );
        assert_eq!(found[0].fields[0].kind, super::super::FieldType::Scalar(Scalar::F16));
        let object = compile(&compiler, &[], ("unit.c", &with_anchors(text, &["struct Inner"])), dir.path()).unwrap();
        let said = dwarf_structures(&object, &["Inner"]).unwrap_err().to_string();
        assert_eq!(said, "`Inner.(without a name)` is a union, of which no shader knows what is in it");
    }
}

#[test]
fn what_no_shader_can_have_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let cases = [
        ("struct S { int a : 3; };", "`S.a` is a bit-field, which no shader has"),
        ("struct S { union { int a; float b; } u; };", "`S.u` is a union, of which no shader knows what is in it"),
        ("union S { int a; float b; };", "`S` is a union, of which no shader knows what is in it"),
        (
            "struct B { int a; }; struct S : B { int b; };",
            "`S` has a base class: only what lies as in C is the same in a shader",
        ),
        ("struct S { virtual ~S() {} int a; }; S s;", "`S` has virtual functions: the host's pointer to them is in it"),
        ("struct S { int &a; };", "`S.a` has a type that no shader has: a reference, or a pointer to a member"),
        ("struct S { long double a; };", "`S.a` is a `long double`, which no shader has"),
        ("struct S { __int128 a; };", "`S.a` is a `__int128`, which no shader has"),
        (
            "struct S { int n; float a[]; };",
            "`S.a` is an array without a fixed length: bind it by itself, as an array without an end",
        ),
        (
            "struct __attribute__((packed)) S { char a; int b; };",
            "`S.b` is at 1, no multiple of 4: no device reads what is packed",
        ),
        ("struct S {};", "`S` has no fields"),
        ("using S = int;", "`S` is no structure"),
        ("struct S { float a; struct { int b : 2; } c; };", "`S_c.b` is a bit-field, which no shader has"),
        (
            "namespace a { struct P { int x; }; } namespace b { struct P { float x; }; } struct S { a::P one; b::P two; };",
            "`P` is the name of two structures: give one of them another in the host",
        ),
    ];
    for compiler in compilers(&["g++", "clang++"]) {
        let text = with_anchors("struct S { virtual ~S(); int a; };\n", &["S"]);
        let object = compile(&compiler, &["-w"], ("unit.cc", &text), dir.path()).unwrap();
        assert!(dwarf_structures(&object, &["S"]).unwrap_err().to_string().contains("has virtual functions"));
        for (text, expected) in &cases {
            let text = with_anchors(&format!("{text}\n"), &["S"]);
            let object = compile(&compiler, &["-w"], ("unit.cc", &text), dir.path()).unwrap();
            let said = dwarf_structures(&object, &["S"]).unwrap_err().to_string();
            assert_eq!(said, *expected, "{compiler}: {text}");
        }
    }
}

#[test]
fn objects_that_cannot_be_read_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let said = |bytes: &[u8]| dwarf_structures(bytes, &["S"]).unwrap_err().to_string();
    assert!(said(b"nothing").starts_with("the object cannot be read: "));
    for compiler in compilers(&["g++"]) {
        let text = with_anchors("struct S { float a; int b[4]; };\n", &["S"]);
        // Sections that would not be smaller stay as they are.
        let many: String = (0..200).map(|number| format!("struct Other{number} {{ int same; }};\n")).collect();
        let long = ("unit.cc", &*(many + &text));
        let compressed = compile(&compiler, &["-gz=zlib"], long, dir.path()).unwrap();
        let plain = compile(&compiler, &["-gz=none"], long, dir.path()).unwrap();
        assert!(compressed.len() < plain.len());
        assert_eq!(dwarf_structures(&compressed, &["S"]).unwrap(), dwarf_structures(&plain, &["S"]).unwrap());
        // A section that says another length than it has.
        let at = compressed.windows(2).position(|two| two == [0x78, 0x9c]).expect("zlib begins so");
        let mut longer = compressed.clone();
        longer[at - 16] ^= 1;
        assert!(said(&longer).starts_with("the object cannot be read: "), "{}", said(&longer));
        if let Ok(compressed) = compile(&compiler, &["-gz=zstd"], long, dir.path()) {
            assert!(said(&compressed).contains("is compressed; compile with -gz=none"), "{}", said(&compressed));
        }
        let object = compile(&compiler, &[], ("unit.cc", &text), dir.path()).unwrap();
        // Cut or changed anywhere, it is read or refused, and nothing else.
        for object in [&object, &compressed] {
            let read = |bytes: &[u8]| {
                let _ = dwarf_structures(bytes, &["S"]);
                let _ = compiled_types(bytes, &["S", "struct S"].into(), &Budget::of(bytes));
            };
            assert_eq!(types_of(object, &["S", "struct S"]).len(), 2);
            (0..object.len()).step_by(97).for_each(|cut| read(&object[..cut]));
            let mut changed = object.clone();
            for at in (0..object.len()).step_by(13) {
                changed[at] ^= 0x5a;
                read(&changed);
                changed[at] = object[at];
            }
        }
    }
}

/// Types of a program of two units, by their names.
fn types_of(object: &[u8], names: &[&str]) -> Vec<CompiledType> {
    compiled_types(object, &names.iter().copied().collect(), &Budget::of(object)).unwrap()
}

#[test]
fn types_of_what_was_linked_are_found_by_their_names() {
    let dir = tempfile::tempdir().unwrap();
    let one = "namespace net { struct Cell { float v; int spikes; }; inline namespace v2 { struct Pool { double mean; }; }\n\
               struct Outer { struct Inner { int a; }; Inner inner; }; struct Later; }\n\
               namespace { struct Own { char c; }; }\nnamespace other { struct Cell { char c; }; }\n\
               using net::Pool; using Alias = const net::Cell;\n\
               net::Cell cell; net::Pool pool; net::Outer outer; net::Later *later; Own own; other::Cell others; Alias *alias; Pool *used;\n";
    let two = "namespace net { struct Cell { int spikes; float v; }; struct Outer { int other; }; }\nnet::Cell late; int main() { return late.spikes; }\n";
    let names = [
        "net::Cell",
        "net::Pool",
        "::net::v2::Pool",
        "Pool",
        "net::Outer::Inner",
        "net::Later",
        "Own",
        "Alias",
        "struct Alias",
        "Cell",
    ];
    for compiler in compilers(&["g++", "clang++"]) {
        for flags in [&["-gdwarf-5"][..], &["-gdwarf-4", "-gz=zlib"], &["-g", "-flto"]] {
            for (file, text) in [("one.cc", one), ("two.cc", two)] {
                fs_err::write(dir.path().join(file), text).unwrap();
            }
            let args = [&["-std=c++17", "-w", "one.cc", "two.cc", "-o", "program"], flags].concat();
            assert!(Command::new(&compiler).args(args).current_dir(dir.path()).status().unwrap().success());
            let program = fs_err::read(dir.path().join("program")).unwrap();
            let found = types_of(&program, &names);
            let said = |name: &str| -> Vec<String> {
                let of_name = found.iter().filter(|one| one.name == name);
                of_name
                    .map(|one| {
                        let last = one.structures.as_ref().unwrap().last().unwrap();
                        let fields = last.fields.iter().map(|field| format!("{}@{}", field.name, field.offset));
                        format!("{} {}", one.unit.as_deref().unwrap_or("?"), fields.collect::<Vec<_>>().join(","))
                    })
                    .collect()
            };
            let case = format!("{compiler} {flags:?}");
            assert_eq!(said("net::Cell"), ["one.cc v@0,spikes@4", "two.cc spikes@0,v@4"], "{case}");
            for pool in ["net::Pool", "::net::v2::Pool", "Pool"] {
                assert_eq!(said(pool), ["one.cc mean@0"], "{case} {pool}");
            }
            assert_eq!(said("net::Outer::Inner"), ["one.cc a@0"], "{case}");
            assert_eq!(said("Own"), ["one.cc c@0"], "{case}");
            assert_eq!(said("Alias"), ["one.cc v@0,spikes@4"], "{case}");
            for none in ["net::Later", "struct Alias", "Cell"] {
                assert_eq!(said(none), Vec::<String>::new(), "{case} {none}");
            }
            let status = Command::new("strip").arg("program").current_dir(dir.path()).status().unwrap();
            assert!(status.success());
            assert_eq!(types_of(&fs_err::read(dir.path().join("program")).unwrap(), &names), []);
        }
    }
}

/// Paths of Rust begin with the name of the crate.
#[test]
fn types_of_rust_are_found_by_their_paths() {
    let dir = tempfile::tempdir().unwrap();
    let text = "mod net { #[repr(C)] pub struct Cell { pub on: bool, pub v: [f32; 3], pub spikes: u64 } }\n\
                fn main() { let cell = net::Cell { on: true, v: [0.0; 3], spikes: 2 }; std::process::exit(cell.v[1] as i32 + cell.spikes as i32); }\n";
    for compiler in compilers(&["rustc"]) {
        fs_err::write(dir.path().join("sim.rs"), text).unwrap();
        let args = ["-g", "--edition=2021", "sim.rs", "-o", "sim"];
        assert!(Command::new(&compiler).args(args).current_dir(dir.path()).status().unwrap().success());
        let found = types_of(&fs_err::read(dir.path().join("sim")).unwrap(), &["sim::net::Cell", "net::Cell"]);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        let last = one.structures.as_ref().unwrap().last().unwrap();
        let fields: Vec<_> =
            last.fields.iter().map(|it| (it.name.as_str(), it.kind.to_string(), it.count, it.offset)).collect();
        let word = |name: &str| name.to_owned();
        let expected = [("on", word("u8"), 1, 0), ("v", word("f32"), 3, 4), ("spikes", word("u64"), 1, 16)];
        assert_eq!((one.name.as_str(), fields.as_slice()), ("sim::net::Cell", expected.as_slice()));
    }
}
