//! Modules built word by word, damage, and modules that would cost more than they are.

use super::module::MAGIC;
use super::*;

/// One instruction.
fn op(code: u32, operands: &[u32]) -> Vec<u32> {
    let mut words = vec![(operands.len() as u32 + 1) << 16 | code];
    words.extend(operands);
    words
}

fn text(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len() / 4 * 4 + 4, 0);
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn named(code: u32, operands: &[u32], name: &str) -> Vec<u32> {
    op(code, &[operands, &text(name)].concat())
}

fn module(parts: &[Vec<u32>]) -> Vec<u8> {
    let words = [vec![MAGIC, 0x0001_0300, 8 << 16, 100, 0], parts.concat()].concat();
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A compute shader: `Params { float dt; mat4 m[2]; }` at set 0, binding 1, an array of it without an end at
/// binding 2, push constants, a size of workgroups that is specialised in x, and an instruction of tomorrow.
fn shader() -> Vec<Vec<u32>> {
    vec![
        op(17, &[1]),
        op(17, &[60_000]),
        named(10, &[], "SPV_KHR_storage_buffer_storage_class"),
        op(14, &[0, 1]),
        named(15, &[5, 4], "main"),
        op(16, &[4, 17, 1, 1, 1]),
        named(5, &[10], "Params"),
        named(6, &[10, 0], "dt"),
        named(6, &[10, 1], "m"),
        named(5, &[20], "params"),
        named(5, &[30], "block_x"),
        op(71, &[10, 2]),
        op(72, &[10, 0, 35, 0]),
        op(72, &[10, 1, 35, 16]),
        op(72, &[10, 1, 7, 16]),
        op(72, &[10, 1, 5]),
        op(71, &[9, 6, 64]),
        op(71, &[12, 2]),
        op(72, &[12, 0, 35, 0]),
        op(71, &[11, 6, 144]),
        op(71, &[20, 34, 0]),
        op(71, &[20, 33, 1]),
        op(71, &[21, 34, 0]),
        op(71, &[21, 33, 2]),
        op(71, &[30, 1, 7]),
        op(71, &[32, 11, 25]),
        op(19, &[1]),
        op(22, &[2, 32]),
        op(23, &[3, 2, 4]),
        op(24, &[5, 3, 4]),
        op(21, &[6, 32, 0]),
        op(43, &[6, 7, 2]),
        op(28, &[9, 5, 7]),
        op(30, &[10, 2, 9]),
        op(29, &[11, 10]),
        op(30, &[12, 11]),
        op(32, &[13, 2, 10]),
        op(32, &[14, 12, 12]),
        op(32, &[15, 9, 10]),
        op(59, &[13, 20, 2]),
        op(59, &[14, 21, 12]),
        op(59, &[15, 22, 9]),
        op(50, &[6, 30, 64]),
        op(43, &[6, 31, 1]),
        op(23, &[16, 6, 3]),
        op(51, &[16, 32, 30, 31, 31]),
        op(28, &[17, 6, 30]),
        op(32, &[18, 4, 17]),
        op(59, &[18, 23, 4]),
        op(54, &[1, 4, 0, 33]),
        op(60_001, &[1, 2]),
    ]
}

#[test]
fn everything_of_a_compute_shader() {
    let found = spirv(&module(&shader())).unwrap();
    assert_eq!(found.unexamined, [""; 0]);
    assert_eq!((found.version, found.generator), ((1, 3), 8));
    assert_eq!(found.capabilities, ["60000", "Shader"]);
    assert_eq!(found.extensions, ["SPV_KHR_storage_buffer_storage_class"]);
    let entry = &found.entry_points[0];
    assert_eq!((entry.name.as_str(), entry.stage.as_str()), ("main", "GLCompute"));
    assert_eq!((entry.local_size, entry.local_size_ids), (Some([64, 1, 1]), [Some(7), None, None]));
    assert_eq!(found.spec_constants, [(7, Some("block_x".to_owned()))]);
    assert_eq!(found.workgroup_bytes, Some(256));
    let [one, two] = &found.bindings[..] else { panic!("{:?}", found.bindings) };
    assert_eq!((one.set, one.binding, one.resource), (0, 1, SpirvResource::UniformBuffer));
    assert_eq!((two.set, two.binding, two.resource), (0, 2, SpirvResource::StorageBuffer));
    let block = one.block.as_ref().unwrap();
    assert_eq!((block.name.as_deref(), block.size), (Some("Params"), Some(144)));
    let matrix = &block.members[1];
    assert_eq!((matrix.name.as_deref(), matrix.offset, matrix.size), (Some("m"), Some(16), Some(128)));
    assert_eq!((matrix.element.as_str(), matrix.matrix_stride), ("mat4x4<f32>", Some(16)));
    assert_eq!(matrix.arrays, [SpirvArray { count: Some(2), stride: Some(64) }]);
    let nodes = &two.block.as_ref().unwrap().members[0];
    assert_eq!(nodes.arrays, [SpirvArray { count: None, stride: Some(144) }]);
    assert_eq!(nodes.members.len(), 2);
    assert_eq!(found.push_constants[0].size, Some(144));
}

/// Arithmetic in functions: what is decorated is kept, other additions may be joined, and of some nothing is promised.
#[test]
fn arithmetic_that_devices_may_do_in_their_own_way() {
    let parts = |decorated: &[u32]| {
        let mut parts = vec![named(11, &[1], "GLSL.std.450"), named(11, &[8], "NonSemantic.DebugPrintf")];
        parts.extend(decorated.iter().map(|id| op(71, &[*id, 42])));
        parts.extend([op(22, &[2, 32]), op(54, &[2, 4, 0, 33]), op(133, &[2, 50, 9, 9]), op(129, &[2, 51, 50, 9])]);
        parts
    };
    let found = |parts: &[Vec<u32>]| spirv(&module(parts)).unwrap().arithmetic;
    let exact = found(&parts(&[50, 51]));
    assert_eq!((exact.kept, exact.joinable, exact.is_exact()), (2, 0, true));
    let half = found(&parts(&[50]));
    assert_eq!((half.kept, half.joinable, half.is_exact()), (1, 1, false));
    // The same number is a function in one set and nothing in another; sums over a group by each extension that has them.
    let others = [op(136, &[2, 52, 9, 9]), op(12, &[2, 53, 1, 27, 9]), op(12, &[2, 54, 8, 27])];
    let groups = [op(5001, &[2, 55, 3, 0, 9]), op(6402, &[2, 56, 3, 0, 9]), op(6035, &[2, 57, 9, 1, 0, 9])];
    let all = [parts(&[50, 51]), others.to_vec(), groups.to_vec()].concat();
    let names: Vec<String> = found(&all).unpromised.into_iter().collect();
    assert_eq!(names, ["AtomicFAddEXT", "Exp", "FDiv", "GroupFAddNonUniformAMD", "GroupFMulKHR"]);
    assert!(spirv(&module(&[op(54, &[2, 4, 0, 33]), op(133, &[2])])).is_err(), "an operand is missing");
}

#[test]
fn what_cannot_be_read_is_said() {
    assert!(spirv(&MAGIC.to_be_bytes()).is_err());
    assert!(spirv(&module(&[])[..16]).is_err());
    assert!(spirv(&module(&[vec![0]])).is_err(), "an instruction without a length");
    assert!(spirv(&module(&[vec![9 << 16 | 17, 1]])).is_err(), "an instruction past the end");
    assert!(spirv(&module(&[op(22, &[2, 32]), op(22, &[2, 64])])).is_err(), "one number for two types");
    let unbound = [op(22, &[2, 32]), op(30, &[3, 2]), op(32, &[4, 12, 3]), op(59, &[4, 5, 12])];
    assert!(spirv(&module(&unbound)).unwrap().unexamined[0].contains("without a binding"));
}

#[test]
fn types_that_double_and_types_that_nest_are_refused() {
    let mut parts = vec![op(22, &[2, 32])];
    parts.extend((3..90).map(|id| op(30, &[id, id - 1, id - 1])));
    assert!(spirv(&module(&parts)).unwrap_err().to_string().contains("memory"));
    let mut parts = vec![op(22, &[2, 32]), op(71, &[4000, 33, 0])];
    parts.extend((3..3000).map(|id| op(29, &[id, id - 1])));
    parts.extend([op(32, &[3999, 12, 2999]), op(59, &[3999, 4000, 12])]);
    assert!(spirv(&module(&parts)).unwrap().unexamined[0].contains("does not read"));
}

proptest::proptest! {
    #[test]
    fn never_panics(writes in proptest::collection::vec((0usize..400, proptest::prelude::any::<u32>(), proptest::prelude::any::<bool>()), 0..6)) {
        let mut bytes = module(&shader());
        for (at, word, small) in writes {
            let at = at * 4 % bytes.len();
            let word = if small { word % 64 } else { word };
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        let _ = spirv(&bytes);
    }
}
