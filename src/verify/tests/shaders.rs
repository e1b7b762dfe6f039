//! SPIR-V packages: shaders that glslang makes.

use std::path::Path;

use super::cubin::kernel;
use super::fixture::{Sealed, Tree, context, report, said};
use crate::gpu::{BufferBinding, BufferField, SpirvResource, kernel_abi_tag};
use crate::recipe::ComponentKind;

/// A compute shader in GLSL with a workgroup size, push constants and the members of its buffer.
fn source(size: &str, pushed: &str, buffer: &str) -> String {
    format!(
        "#version 450\nlayout({size}) in;\nlayout(push_constant) uniform P {{ {pushed} }} p;\n\
         layout(std430, set = 0, binding = 0) buffer B {{ {buffer} }} b;\nvoid main() {{ b.v[p.n] = p.dt; }}\n"
    )
}

const SIZE: &str = "local_size_x = 64";
const PUSHED: &str = "float dt; uint n;";
const BUFFER: &str = "uint head; float v[];";

fn compiled(environment: &str, source: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("k.comp"), dir.path().join("k.spv"));
    std::fs::write(&from, source).unwrap();
    let args = ["--target-env", environment, "-o", to.to_str().unwrap(), from.to_str().unwrap()];
    crate::elf_fixture::run("glslangValidator", &args);
    std::fs::read(to).unwrap()
}

/// A package for Vulkan 1.1 with modules by path.
fn package(modules: &[(&str, Vec<u8>)], bindings: &[BufferBinding]) -> Sealed {
    let mut table = vec![kernel("k", &[(0, 4), (4, 4)])];
    table[0].bindings = bindings.to_vec();
    let mut tree = Tree::new(ComponentKind::Kernels, "shaders-vulkan1.1");
    tree.manifest.target = Some("vulkan1.1".parse().unwrap());
    tree.manifest.kernel_abi = Some(kernel_abi_tag(&table));
    tree.manifest.kernels = table;
    for (path, bytes) in modules {
        tree = tree.file(&format!("lib/volley/kernels/spirv/{path}"), bytes);
    }
    tree.seal()
}

/// Findings about shaders: the fixture's directories are not laid out as a build does.
fn found(modules: &[(&str, Vec<u8>)]) -> Vec<String> {
    found_beside(&[], modules)
}

/// The same with bindings in the table.
fn found_beside(bindings: &[BufferBinding], modules: &[(&str, Vec<u8>)]) -> Vec<String> {
    let lines = said(&report(&[&package(modules, bindings)], &context().partial(true)));
    let shaders = lines.into_iter().filter(|line| line.starts_with("shader-"));
    shaders.map(|line| line.replace(" | volley-shaders-vulkan1.1: lib/volley/kernels/spirv/", " | ")).collect()
}

fn has_glslang() -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).any(|dir| Path::new(&dir).join("glslangValidator").is_file());
    if !found {
        crate::skip::skip("glslangValidator is not installed; `bash tests/run` installs it");
    }
    found
}

#[test]
fn a_shader_within_the_table_and_the_environment_is_clean() {
    if !has_glslang() {
        return;
    }
    let module = || compiled("vulkan1.1", &source(SIZE, PUSHED, BUFFER));
    assert_eq!(found(&[("a/k.spv", module()), ("b/k.spv", module())]), [""; 0]);
    // At its limits, too.
    let most = compiled("vulkan1.1", &source("local_size_x = 128", PUSHED, BUFFER));
    assert_eq!(found(&[("k.spv", most)]), [""; 0]);
}

#[test]
fn what_the_host_does_not_expect_is_found() {
    if !has_glslang() {
        return;
    }
    let good = compiled("vulkan1.1", &source(SIZE, PUSHED, BUFFER));
    let pushed = compiled("vulkan1.1", &source(SIZE, "uint n; uint pad; float dt;", BUFFER));
    assert_eq!(
        found(&[("k.spv", pushed)]),
        ["shader-layout | k.spv | push constants of `k` are not the parameters that the table declares"]
    );
    let moved = compiled("vulkan1.1", &source(SIZE, PUSHED, "uvec4 head; float v[];"));
    assert_eq!(
        found(&[("a/k.spv", good.clone()), ("b/k.spv", moved)]),
        ["shader-layout | b/k.spv | set 0 binding 0 is not that of lib/volley/kernels/spirv/a/k.spv: 4 and 16 bytes"]
    );
    let newer = compiled("vulkan1.3", &source(SIZE, PUSHED, BUFFER));
    assert_eq!(
        found(&[("k.spv", newer)]),
        ["shader-version | k.spv | is SPIR-V 1.6; vulkan1.1, which the package is for, takes 1.3"]
    );
    let large = compiled("vulkan1.1", &source("local_size_x = 256", PUSHED, BUFFER));
    assert_eq!(
        found(&[("k.spv", large)]),
        [
            "shader-environment | k.spv | `main` has workgroups of 256x1x1, more than 128; not every device of vulkan1.1 has that"
        ]
    );
    let double = source(SIZE, PUSHED, "uint head; double v[];");
    assert_eq!(
        found(&[("k.spv", compiled("vulkan1.1", &double))]),
        ["shader-environment | k.spv | needs capability Float64; not every device of vulkan1.1 has that"]
    );
}

#[test]
fn buffers_are_those_of_the_table() {
    if !has_glslang() {
        return;
    }
    let module = |buffer| compiled("vulkan1.1", &source(SIZE, PUSHED, buffer));
    let storage = SpirvResource::StorageBuffer;
    let declared = BufferBinding {
        set: 0,
        binding: 0,
        resource: storage,
        size: 4,
        stride: Some(4),
        fields: Vec::new(),
        host: None,
    };
    // The table may name more than a module uses.
    let more = BufferBinding { binding: 1, ..declared.clone() };
    assert_eq!(found_beside(&[declared.clone(), more.clone()], &[("k.spv", module(BUFFER))]), [""; 0]);
    assert_eq!(
        found_beside(std::slice::from_ref(&declared), &[("k.spv", module("uint head; uint more; float v[];"))]),
        [
            "shader-layout | k.spv | `k`: binding 0.0 storage 8+n*4, the table declares 0.0 storage 4+n*4 (set.binding type bytes)"
        ]
    );
    assert_eq!(
        found_beside(&[more], &[("k.spv", module(BUFFER))]),
        ["shader-layout | k.spv | `k`: binding 0.0 storage 4+n*4 is not in the table (set.binding type bytes)"]
    );
    let uniform = BufferBinding { resource: SpirvResource::UniformBuffer, ..declared };
    assert_eq!(
        found_beside(&[uniform], &[("k.spv", module(BUFFER))]),
        [
            "shader-layout | k.spv | `k`: binding 0.0 storage 4+n*4, the table declares 0.0 uniform 4+n*4 (set.binding type bytes)"
        ]
    );
}

/// A shader may look at one buffer as several types: one of them is the host's. So it is among variants of a shader.
#[test]
fn one_buffer_may_be_seen_by_several_types() {
    if !has_glslang() {
        return;
    }
    let module = |first: &str, second: &str| {
        compiled(
            "vulkan1.1",
            &format!(
                "#version 450\nlayout({SIZE}) in;\nlayout(push_constant) uniform P {{ {PUSHED} }} p;\n\
                 layout(std430, binding = 0) buffer A {{ {first} v[]; }} a;\n\
                 layout(std430, binding = 0) buffer B {{ {second} v[]; }} b;\n\
                 void main() {{ a.v[p.n] = {first}(p.dt); b.v[p.n] = {second}(p.dt); }}\n"
            ),
        )
    };
    let declared = |stride| BufferBinding {
        set: 0,
        binding: 0,
        resource: SpirvResource::StorageBuffer,
        size: 0,
        stride: Some(stride),
        fields: Vec::new(),
        host: None,
    };
    let both = module("float", "vec4");
    for stride in [4, 16] {
        assert_eq!(found_beside(&[declared(stride)], &[("k.spv", both.clone())]), [""; 0], "{stride}");
    }
    assert_eq!(found_beside(&[declared(8)], &[("k.spv", both.clone())]).len(), 1);
    // The other variant sees it by one of the two, or by none.
    assert_eq!(found(&[("a/k.spv", both.clone()), ("b/k.spv", module("vec4", "vec4"))]), [""; 0]);
    assert_eq!(found(&[("a/k.spv", both), ("b/k.spv", module("vec2", "vec2"))]).len(), 1);
}

/// The fields that the table declares are looked for in the type that has a structure, whichever is the first.
#[test]
fn one_buffer_may_be_seen_as_structures_and_as_words() {
    if !has_glslang() {
        return;
    }
    let module = |views: [&str; 2]| {
        let views = views.map(|view| format!("layout(std430, binding = 0) buffer {view};\n")).concat();
        compiled(
            "vulkan1.1",
            &format!(
                "#version 450\nlayout({SIZE}) in;\nlayout(push_constant) uniform P {{ {PUSHED} }} p;\n\
                 struct Cell {{ float potential; uint rest; }};\n{views}\
                 void main() {{ c.cells[w.words[p.n]].potential = p.dt; }}\n"
            ),
        )
    };
    let declared = |rest| {
        let field = |name: &str, offset| BufferField { name: name.to_owned(), offset, size: 4 };
        let fields = vec![field("potential", 0), field("rest", rest)];
        let resource = SpirvResource::StorageBuffer;
        BufferBinding { set: 0, binding: 0, resource, size: 0, stride: Some(8), fields, host: None }
    };
    let (words, cells) = ("W { uint words[]; } w", "C { Cell cells[]; } c");
    for views in [[words, cells], [cells, words]] {
        let both = module(views);
        assert_eq!(found_beside(&[declared(4)], &[("k.spv", both.clone())]), [""; 0]);
        let said = found_beside(&[declared(12)], &[("k.spv", both)]);
        assert!(said.len() == 1 && said[0].contains("`rest` is at 12 in the core, 4 in the shader"), "{said:?}");
    }
}

/// Fields are named where host and shader have them otherwise.
#[test]
fn fields_workgroups_and_constants_are_those_of_the_table() {
    if !has_glslang() {
        return;
    }
    let (compiled, table) = (
        |body: &str, size: &str| {
            let text = format!(
                "#version 450\nlayout({size}) in;\nlayout(constant_id = 3) const uint WIDTH = 4;\n{body}\n\
                 layout(std430, binding = 0) buffer B {{ Layer layers[]; }};\n\
                 void main() {{ layers[WIDTH].gain = float(GAIN); }}\n"
            );
            compiled("vulkan1.1", &text)
        },
        "edition = 1\n[[struct]]\nname = \"Inhib\"\nfields = [{ name = \"fb\", type = \"f32\" }]\n\
         [[struct]]\nname = \"Layer\"\nfields = [\n{ name = \"gain\", type = \"f32\" },\n\
         { name = \"pools\", type = \"u32\", count = 3 },\n{ name = \"Inhib\", type = \"struct\", of = \"Inhib\" },\n]\n\
         [[kernel]]\nname = \"k\"\nparams = []\nworkgroup = [64]\nconstants = [{ id = 3, name = \"WIDTH\" }]\n\
         bindings = [{ binding = 0, type = \"storage-buffer\", of = \"Layer\" }]\n",
    );
    let declared = crate::recipe::declared_kernels(table).unwrap();
    let found = |module: Vec<u8>| {
        let mut tree = Tree::new(ComponentKind::Kernels, "shaders-vulkan1.1");
        tree.manifest.target = Some("vulkan1.1".parse().unwrap());
        tree.manifest.kernel_abi = Some(kernel_abi_tag(&declared));
        tree.manifest.kernels = declared.clone();
        let lines =
            said(&report(&[&tree.file("lib/volley/kernels/spirv/k.spv", &module).seal()], &context().partial(true)));
        let layout = lines.into_iter().filter(|line| line.starts_with("shader-layout"));
        layout.map(|line| line.rsplit(" | ").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let inhib = "#define GAIN 1\nstruct Inhib { float fb; };\n";
    let layer = |fields: &str| format!("{inhib}struct Layer {{ {fields} }};");
    let right = layer("float gain; uint pools[3]; Inhib Inhib;");
    assert_eq!(found(compiled(&right, SIZE)), [""; 0]);
    let moved = layer("float gain; uint pools[4]; Inhib Inhib;");
    assert_eq!(
        found(compiled(&moved, SIZE)),
        ["`k`: set 0 binding 0: `pools` has 12 bytes in the core, 16 in the shader"]
    );
    let moved = layer("float gain; float more; uint pools[3]; Inhib Inhib;");
    assert_eq!(found(compiled(&moved, SIZE)), ["`k`: set 0 binding 0: `pools` is at 4 in the core, 8 in the shader"]);
    assert_eq!(found(compiled(&right, "local_size_x = 32")), ["`k`: workgroups of 32x1x1, the table declares 64x1x1"]);
    let other = right.replace("#define GAIN 1", "layout(constant_id = 4) const uint DEPTH = 2;\n#define GAIN DEPTH");
    assert_eq!(found(compiled(&other, SIZE)), ["`k`: constant 4, `DEPTH`, is not in the table"]);
}

/// Of a variant that promises bits every operation has to be kept apart from others, and none left to the device.
#[test]
fn what_an_exact_variant_leaves_to_the_device_is_found() {
    if !has_glslang() {
        return;
    }
    let body = |line: &str| {
        let source = source(SIZE, PUSHED, BUFFER).replace("b.v[p.n] = p.dt;", line);
        compiled("vulkan1.1", &source)
    };
    let plain = body("b.v[p.n] = b.v[p.n] * p.dt + 1.0;");
    let kept = body("precise float kept = b.v[p.n] * p.dt + 1.0; b.v[p.n] = kept;");
    let left = body("precise float left = exp(b.v[p.n]) / p.dt; b.v[p.n] = left;");
    let found = |exact: &[&str]| {
        let modules =
            [("fixed/vulkan1.1/k.spv", &kept), ("none/vulkan1.1/k.spv", &plain), ("other/vulkan1.1/k.spv", &left)];
        let modules = modules.map(|(path, bytes)| (path, bytes.clone()));
        let mut package = package(&modules, &[]);
        let promised = |name: &&str| ((*name).to_owned(), ["k".to_owned()].into());
        package.bundle.manifest.exact = exact.iter().map(promised).collect();
        let lines = said(&report(&[&package], &context().partial(true)));
        let lines = lines.into_iter().filter(|line| line.starts_with("shader-inexact"));
        lines
            .map(|line| {
                line.split(" | ")
                    .skip(1)
                    .map(|part| part.rsplit("spirv/").next().unwrap_or(part).to_owned())
                    .collect::<Vec<_>>()
                    .join(": ")
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&["fixed"]), [""; 0]);
    assert_eq!(found(&["none"]), ["none/vulkan1.1/k.spv: 2 of 2 operations on floats may be joined with others"]);
    assert_eq!(found(&["fixed", "other"]), ["other/vulkan1.1/k.spv: no bits are promised of Exp, FDiv"]);
}
