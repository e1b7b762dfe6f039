//! WGSL to SPIR-V, by naga. A function of its arguments: WGSL includes nothing.

use naga::back::pipeline_constants::process_overrides;
use naga::back::spv;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, ShaderStage};

/// The version of naga that is linked, for keys; a test holds it against Cargo.lock.
pub const NAGA_VERSION: &str = "30.0.1";

/// What a module may ask of a device beyond plain WGSL. Whether devices have it is for whoever looks at the module: every
/// one of these declares a capability of SPIR-V.
pub(super) const EXTENSIONS: Capabilities = Capabilities::IMMEDIATES
    .union(Capabilities::FLOAT64)
    .union(Capabilities::SHADER_INT64)
    .union(Capabilities::SHADER_INT64_ATOMIC_MIN_MAX)
    .union(Capabilities::SHADER_INT64_ATOMIC_ALL_OPS)
    .union(Capabilities::SHADER_FLOAT32_ATOMIC)
    .union(Capabilities::SHADER_FLOAT16)
    .union(Capabilities::SUBGROUP)
    .union(Capabilities::SUBGROUP_BARRIER);

/// Whether a device may join a multiplication and an addition, which rounds once instead of twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contraction {
    /// As WGSL has it: bits differ from one device to another.
    Allowed,
    /// Every operation on floats is decorated `NoContraction`, as GLSL's `precise` does.
    Off,
}

/// Compiles the compute shader `text` to SPIR-V of `version` (major, minor). `constants` are values of `override`
/// declarations by name; one that the shader does not declare is left out, as a macro would be that it does not use.
///
/// Names stay in the module, because tables are compared by them. Nothing is added that WGSL alone does not ask for: no
/// bounds of loops and no checks of indices, which are for code that nobody trusts.
///
/// # Errors
/// What naga says, as text with the line and a caret below it; or that there is not just one entry point, `main`.
pub fn wgsl_to_spirv(
    (path, text): (&str, &str),
    version: (u8, u8),
    constants: &[(String, f64)],
    contraction: Contraction,
) -> Result<Vec<u8>, String> {
    let (module, info) = parsed((path, text), EXTENSIONS)?;
    written(path, &module, &info, version, constants, contraction)
}

/// The compute shader `text`, checked: it asks for nothing beyond `allowed`, and has one entry point, `main`.
pub(super) fn parsed((path, text): (&str, &str), allowed: Capabilities) -> Result<(Module, ModuleInfo), String> {
    let module = naga::front::wgsl::parse_str(text).map_err(|error| error.emit_to_string_with_path(text, path))?;
    let entries: Vec<_> = module.entry_points.iter().map(|entry| (entry.stage, entry.name.as_str())).collect();
    if entries != [(ShaderStage::Compute, "main")] {
        let names: Vec<&str> = entries.iter().map(|(_, name)| *name).collect();
        return Err(format!(
            "its entry points are: {}; it must be one, a compute shader called `main`",
            names.join(", ")
        ));
    }
    let mut validator = Validator::new(ValidationFlags::all(), allowed);
    let info = validator.validate(&module).map_err(|error| error.emit_to_string_with_path(text, path))?;
    Ok((module, info))
}

/// A shader as SPIR-V.
pub(in crate::gpu) fn written(
    path: &str,
    module: &Module,
    info: &ModuleInfo,
    version: (u8, u8),
    constants: &[(String, f64)],
    contraction: Contraction,
) -> Result<Vec<u8>, String> {
    // A constant that has a number goes by it.
    let key = |name: &String| {
        let (_, declared) = module.overrides.iter().find(|(_, one)| one.name.as_ref() == Some(name))?;
        Some(declared.id.map_or_else(|| name.clone(), |id| id.to_string()))
    };
    let given = constants.iter().filter_map(|(name, value)| Some((key(name)?, *value))).collect();
    let (module, info) = process_overrides(module, info, None, &given).map_err(|error| format!("{path}: {error}"))?;
    let options = spv::Options {
        lang_version: version,
        flags: spv::WriterFlags::DEBUG,
        force_loop_bounding: false,
        ..spv::Options::default()
    };
    let words = spv::write_vec(&module, &info, &options, None).map_err(|error| format!("{path}: {error}"))?;
    let words = match contraction {
        Contraction::Allowed => words,
        Contraction::Off => without_contraction(&words),
    };
    Ok(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

/// Words of a module before its first instruction (SPIR-V 2.3).
const HEADER: usize = 5;
/// `OpDecorate`, of three words, and the decoration (SPIR-V 3.20, 3.52.3).
const DECORATE: u32 = 3 << 16 | 71;
const NO_CONTRACTION: u32 = 42;
/// `OpTypeVoid`, the first of the instructions that declare types: annotations end before them (SPIR-V 2.4).
const TYPES: std::ops::RangeInclusive<u32> = 19..=39;

/// Whether an instruction computes floats: negation, the four operations, remainders, products of vectors and matrices
/// (SPIR-V 3.52.13).
fn computes_floats(opcode: u32) -> bool {
    matches!(opcode, 127 | 129 | 131 | 133 | 136 | 140..=148)
}

/// A module with every operation on floats decorated. Its annotations end where the types begin.
fn without_contraction(words: &[u32]) -> Vec<u32> {
    let (mut at, mut types) = (HEADER, None);
    let mut decorations = Vec::new();
    while let Some(&first) = words.get(at) {
        let (length, opcode) = ((first >> 16) as usize, first & 0xffff);
        if types.is_none() && TYPES.contains(&opcode) {
            types = Some(at);
        }
        if let (true, Some(&result)) = (computes_floats(opcode), words.get(at + 2)) {
            decorations.extend([DECORATE, result, NO_CONTRACTION]);
        }
        at += length.max(1);
    }
    let (before, after) = words.split_at(types.unwrap_or(words.len()));
    [before, &decorations, after].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{SpirvResource, spirv};

    const SHADER: &str = "
struct Cell { potential: f32, arriving: i32 }
override LEAK: f32 = 0.5;
@group(0) @binding(0) var<storage, read_write> cells: array<Cell>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    cells[id.x].potential = cells[id.x].potential * LEAK;
}";

    #[test]
    fn the_version_is_that_of_the_lock() {
        let lock = include_str!("../../../../Cargo.lock");
        assert!(lock.contains(&format!("name = \"naga\"\nversion = \"{NAGA_VERSION}\"\n")));
    }

    #[test]
    fn a_shader_becomes_a_module_whose_fields_have_names() {
        for version in [(1, 0), (1, 3), (1, 5), (1, 6)] {
            let made = wgsl_to_spirv(("a.wgsl", SHADER), version, &[], Contraction::Allowed).unwrap();
            assert_eq!(
                made,
                wgsl_to_spirv(("b.wgsl", SHADER), version, &[], Contraction::Allowed).unwrap(),
                "the same bytes for the same text"
            );
            let module = spirv(&made).unwrap();
            assert_eq!((module.version, module.entry_points[0].local_size), (version, Some([64, 1, 1])));
            let cells = &module.bindings[0];
            assert_eq!(cells.resource, SpirvResource::StorageBuffer);
            let fields = &cells.block.as_ref().unwrap().members[0].members;
            let places: Vec<_> = fields.iter().map(|it| (it.name.as_deref().unwrap(), it.offset.unwrap())).collect();
            assert_eq!(places, [("potential", 0), ("arriving", 4)]);
        }
    }

    #[test]
    fn constants_change_the_module_and_others_do_not() {
        let made = |constants: &[(&str, f64)]| {
            let constants: Vec<_> = constants.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            wgsl_to_spirv(("a.wgsl", SHADER), (1, 3), &constants, Contraction::Allowed).unwrap()
        };
        assert_ne!(made(&[]), made(&[("LEAK", 0.25)]));
        assert_eq!(made(&[("LEAK", 0.5)]), made(&[("LEAK", 0.5), ("ELSEWHERE", 1.0)]));
    }

    #[test]
    fn nothing_is_contracted_where_it_is_off() {
        const SUM: &str = "
@group(0) @binding(0) var<storage, read_write> sums: array<f32>;
@compute @workgroup_size(1) fn main() { sums[0] = sums[1] * sums[2] + sums[3] - 1.0; }";
        let made = |contraction| wgsl_to_spirv(("a.wgsl", SUM), (1, 3), &[], contraction).unwrap();
        let (allowed, off) = (made(Contraction::Allowed), made(Contraction::Off));
        assert_eq!(off.len(), allowed.len() + 3 * 12, "a product, a sum and a difference");
        let words: Vec<u32> = off.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        let decorated = words.windows(3).filter(|words| words[0] == DECORATE && words[2] == NO_CONTRACTION);
        assert_eq!(decorated.count(), 3);
        assert_eq!(spirv(&off).unwrap().bindings.len(), 1);
        // Without such operations the module is the same.
        let plain = |contraction| {
            wgsl_to_spirv(("a.wgsl", "@compute @workgroup_size(1) fn main() {}"), (1, 3), &[], contraction)
        };
        assert_eq!(plain(Contraction::Off), plain(Contraction::Allowed));
    }

    #[test]
    fn mistakes_show_their_line() {
        let said = |text: &str| wgsl_to_spirv(("a.wgsl", text), (1, 3), &[], Contraction::Allowed).unwrap_err();
        let wrong = said("@compute @workgroup_size(1) fn main() { let a: f32 = 1u; }");
        assert!(wrong.contains("a.wgsl:1:"), "{wrong}");
        assert!(
            said("@compute @workgroup_size(1) fn other() {}")
                .ends_with("it must be one, a compute shader called `main`")
        );
        assert!(said("override N: u32;\n@compute @workgroup_size(N) fn main() {}").contains('N'));
    }
}
