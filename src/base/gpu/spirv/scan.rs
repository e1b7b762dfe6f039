//! The pass over a module's words: checks them, reads what stands there, keeps what spirq may see.
//!
//! Numbers of instructions, decorations and storage classes: "SPIR-V Specification", 1.6, section 3.

use std::collections::{BTreeMap, BTreeSet};

use spirq::spirv::{Capability, ExecutionModel};

use super::arithmetic::Arithmetic;
use super::module::MAGIC;
use super::{SpirvEntryPoint, SpirvModule};
use crate::budget::Budget;
use crate::gpu::CodeError;

/// What the pass found.
pub(super) struct Scanned {
    /// Everything but the resources.
    pub(super) module: SpirvModule,
    /// A module of declarations only, for spirq.
    pub(super) declarations: Vec<u32>,
    /// Resources and push constants in it.
    pub(super) resources: usize,
}

mod op {
    pub(super) const NAME: u32 = 5;
    pub(super) const MEMBER_NAME: u32 = 6;
    pub(super) const EXTENSION: u32 = 10;
    pub(super) const EXT_INST_IMPORT: u32 = 11;
    pub(super) const ENTRY_POINT: u32 = 15;
    pub(super) const EXECUTION_MODE: u32 = 16;
    pub(super) const CAPABILITY: u32 = 17;
    pub(super) const TYPE_VOID: u32 = 19;
    pub(super) const TYPE_BOOL: u32 = 20;
    pub(super) const TYPE_INT: u32 = 21;
    pub(super) const TYPE_FLOAT: u32 = 22;
    pub(super) const TYPE_VECTOR: u32 = 23;
    pub(super) const TYPE_MATRIX: u32 = 24;
    pub(super) const TYPE_IMAGE: u32 = 25;
    pub(super) const TYPE_SAMPLER: u32 = 26;
    pub(super) const TYPE_SAMPLED_IMAGE: u32 = 27;
    pub(super) const TYPE_ARRAY: u32 = 28;
    pub(super) const TYPE_RUNTIME_ARRAY: u32 = 29;
    pub(super) const TYPE_STRUCT: u32 = 30;
    pub(super) const TYPE_POINTER: u32 = 32;
    pub(super) const TYPE_FORWARD_POINTER: u32 = 39;
    pub(super) const CONSTANT: u32 = 43;
    pub(super) const CONSTANT_COMPOSITE: u32 = 44;
    pub(super) const SPEC_CONSTANT: u32 = 50;
    pub(super) const SPEC_CONSTANT_COMPOSITE: u32 = 51;
    pub(super) const SPEC_CONSTANT_OP: u32 = 52;
    pub(super) const FUNCTION: u32 = 54;
    pub(super) const VARIABLE: u32 = 59;
    pub(super) const DECORATE: u32 = 71;
    pub(super) const MEMBER_DECORATE: u32 = 72;
    pub(super) const DECORATION_GROUP: u32 = 73;
    pub(super) const I_ADD: u32 = 128;
    pub(super) const I_SUB: u32 = 130;
    pub(super) const I_MUL: u32 = 132;
    pub(super) const U_DIV: u32 = 134;
    pub(super) const EXECUTION_MODE_ID: u32 = 331;
    pub(super) const TYPE_ACCELERATION_STRUCTURE: u32 = 5341;
}

mod decoration {
    pub(super) const SPEC_ID: u32 = 1;
    pub(super) const BUILT_IN: u32 = 11;
    pub(super) const NON_WRITABLE: u32 = 24;
    pub(super) const NON_READABLE: u32 = 25;
    pub(super) const BINDING: u32 = 33;
    pub(super) const NO_CONTRACTION: u32 = 42;
    /// Block, BufferBlock, RowMajor, ColMajor, ArrayStride, MatrixStride; NonWritable, NonReadable; Binding,
    /// DescriptorSet, Offset; InputAttachmentIndex: what decides about layouts and places.
    pub(super) const LAYOUT: [u32; 12] = [2, 3, 4, 5, 6, 7, NON_WRITABLE, NON_READABLE, BINDING, 34, 35, 43];
}

const BUILT_IN_WORKGROUP_SIZE: u32 = 25;
const MODE_LOCAL_SIZE: u32 = 17;
const MODE_LOCAL_SIZE_ID: u32 = 38;
const CLASS_WORKGROUP: u32 = 4;
const CLASS_PUSH_CONSTANT: u32 = 9;
/// UniformConstant, Uniform, StorageBuffer.
const CLASS_RESOURCES: [u32; 3] = [0, 2, 12];

/// Deeper nesting of types than this is refused: spirq's types are walked by recursion. Shaders reach about ten.
const MOST_DEPTH: u32 = 100;
/// About the bytes that are noted of an instruction.
const INSTRUCTION_COST: u64 = 128;
/// About the bytes that one node of a type takes in spirq.
const NODE_COST: u64 = 128;

/// What is known of a type that spirq gets.
#[derive(Clone, Copy)]
struct Known {
    /// Bytes that a copy takes.
    cost: u64,
    depth: u32,
    /// Bytes of a value without padding, where it has a size.
    size: Option<u64>,
    /// Declared ahead, to be told later.
    forward: bool,
}

#[derive(Default)]
struct Scan {
    types: BTreeMap<u32, Known>,
    /// What pointer types point to.
    pointees: BTreeMap<u32, u32>,
    /// Integer types of 32 bits.
    words: BTreeSet<u32>,
    /// Values of 32-bit constants.
    constants: BTreeMap<u32, u32>,
    spec_ids: BTreeMap<u32, u32>,
    names: BTreeMap<u32, String>,
    member_name_bytes: BTreeMap<u32, u64>,
    decorated: BTreeSet<(u32, Option<u32>, u32)>,
    entry_points: BTreeMap<u32, SpirvEntryPoint>,
    workgroup_size: Option<u32>,
    workgroup_sizes: Option<([u32; 3], [Option<u32>; 3])>,
    capabilities: BTreeSet<String>,
    extensions: BTreeSet<String>,
    spec_constants: BTreeSet<(u32, Option<String>)>,
    workgroup_bytes: Option<u64>,
    /// Resources and push constants.
    variables: BTreeSet<u32>,
    resources: usize,
    arithmetic: Arithmetic,
    unexamined: Vec<String>,
    /// What all types together cost.
    cost: u64,
    kept_names: Vec<u32>,
    kept_decorations: Vec<u32>,
    kept_rest: Vec<u32>,
}

pub(super) fn scan(bytes: &[u8], budget: &Budget) -> Result<Scanned, CodeError> {
    if bytes.starts_with(&MAGIC.to_be_bytes()) {
        return Err(CodeError::Unsupported("a big-endian SPIR-V module"));
    }
    let stopped = || CodeError::stopped(budget, || CodeError::damaged("a SPIR-V module without an end"));
    // The words, and those that are kept for spirq.
    budget.keep(2 * bytes.len() as u64).ok_or_else(stopped)?;
    let (chunks, rest) = bytes.as_chunks::<4>();
    let words: Vec<u32> = chunks.iter().map(|word| u32::from_le_bytes(*word)).collect();
    if words.first() != Some(&MAGIC) || words.len() < 5 || !rest.is_empty() {
        return Err(CodeError::damaged("a SPIR-V module that is cut"));
    }
    let mut scan = Scan { workgroup_bytes: Some(0), ..Scan::default() };
    let (mut paid, mut in_functions) = (0, false);
    let mut at = 5;
    while let Some(head) = words.get(at) {
        let (code, size) = (head & 0xffff, (head >> 16) as usize);
        let instruction = words
            .get(at..at + size)
            .filter(|words| !words.is_empty())
            .ok_or_else(|| CodeError::damaged(format!("the SPIR-V instruction at word {at} reaches past the end")))?;
        // Behind the first function there are only functions.
        in_functions |= code == op::FUNCTION;
        let read = if in_functions {
            scan.arithmetic.instruction(code, instruction)
        } else {
            scan.instruction(code, instruction)
        };
        read.ok_or_else(|| CodeError::damaged(format!("the SPIR-V instruction at word {at} is not valid")))?;
        if in_functions {
            // Nothing is noted of it but a count.
            budget.work(4 * size as u64).ok_or_else(stopped)?;
            at += size;
            continue;
        }
        // What is noted of an instruction here and by spirq, then types, which spirq copies as often as they are named.
        budget.work(100 + 4 * size as u64).ok_or_else(stopped)?;
        budget.keep(INSTRUCTION_COST + 4 * (scan.cost - paid)).ok_or_else(stopped)?;
        paid = scan.cost;
        at += size;
    }
    if scan.decorated.contains(&(0, None, op::DECORATION_GROUP)) {
        return Err(CodeError::Unsupported("a SPIR-V module with decoration groups"));
    }
    let version = ((words[1] >> 16) as u8, (words[1] >> 8) as u8);
    Ok(scan.finish(version, (words[2] >> 16) as u16))
}

/// The string that begins these words, and the words behind it.
fn text(words: &[u32]) -> Option<(String, &[u32])> {
    let end = words.iter().position(|word| word.to_le_bytes().contains(&0))?;
    let bytes: Vec<u8> =
        words[..=end].iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0).collect();
    Some((String::from_utf8(bytes).ok()?, &words[end + 1..]))
}

impl Scan {
    /// One instruction before the first function; `None` if it lacks an operand or contradicts another.
    fn instruction(&mut self, code: u32, words: &[u32]) -> Option<()> {
        match code {
            op::CAPABILITY => {
                let number = *words.get(1)?;
                let name = Capability::from_u32(number).map_or(number.to_string(), |known| format!("{known:?}"));
                self.capabilities.insert(name);
            }
            op::EXTENSION => drop(self.extensions.insert(text(&words[1..])?.0)),
            op::EXT_INST_IMPORT => self.arithmetic.imports(*words.get(1)?, &text(words.get(2..)?)?.0),
            op::ENTRY_POINT => self.entry_point(words)?,
            op::EXECUTION_MODE | op::EXECUTION_MODE_ID => self.execution_mode(words)?,
            op::NAME => {
                let (name, _) = text(words.get(2..)?)?;
                // Shader compilers name everything once; more would cost.
                if !name.is_empty() && !self.names.contains_key(&words[1]) {
                    self.names.insert(words[1], name);
                    self.kept_names.extend(words);
                }
            }
            op::MEMBER_NAME => {
                let (name, _) = text(words.get(3..)?)?;
                *self.member_name_bytes.entry(words[1]).or_default() += name.len() as u64;
                self.kept_names.extend(words);
            }
            op::DECORATE => self.decorate(*words.get(1)?, None, words.get(2..)?, words)?,
            op::MEMBER_DECORATE => self.decorate(*words.get(1)?, Some(*words.get(2)?), words.get(3..)?, words)?,
            op::DECORATION_GROUP => drop(self.decorated.insert((0, None, op::DECORATION_GROUP))),
            op::TYPE_VOID..=op::TYPE_POINTER | op::TYPE_FORWARD_POINTER | op::TYPE_ACCELERATION_STRUCTURE => {
                self.declare_type(code, words)?;
            }
            op::CONSTANT | op::SPEC_CONSTANT => self.constant(code, words)?,
            op::CONSTANT_COMPOSITE | op::SPEC_CONSTANT_COMPOSITE => self.composite(words)?,
            op::SPEC_CONSTANT_OP => self.computed_constant(words)?,
            op::VARIABLE => self.variable(words)?,
            _ => {}
        }
        Some(())
    }

    fn entry_point(&mut self, words: &[u32]) -> Option<()> {
        let (model, function) = (*words.get(1)?, *words.get(2)?);
        let (name, _) = text(words.get(3..)?)?;
        let stage = ExecutionModel::from_u32(model).map_or(format!("model {model}"), |known| format!("{known:?}"));
        let entry = SpirvEntryPoint { name, stage, local_size: None, local_size_ids: [None; 3] };
        self.entry_points.insert(function, entry).is_none().then_some(())
    }

    fn execution_mode(&mut self, words: &[u32]) -> Option<()> {
        let (function, mode) = (*words.get(1)?, *words.get(2)?);
        let entry = self.entry_points.get_mut(&function)?;
        match mode {
            MODE_LOCAL_SIZE => entry.local_size = Some([*words.get(3)?, *words.get(4)?, *words.get(5)?]),
            // Numbers of constants for now: they come later in the module.
            MODE_LOCAL_SIZE_ID => {
                entry.local_size_ids = [Some(*words.get(3)?), Some(*words.get(4)?), Some(*words.get(5)?)];
            }
            _ => {}
        }
        Some(())
    }

    fn decorate(&mut self, target: u32, member: Option<u32>, what: &[u32], words: &[u32]) -> Option<()> {
        let kind = *what.first()?;
        match kind {
            decoration::NO_CONTRACTION if member.is_none() => self.arithmetic.keeps(target),
            decoration::SPEC_ID => drop(self.spec_ids.insert(target, *what.get(1)?)),
            decoration::BUILT_IN if *what.get(1)? == BUILT_IN_WORKGROUP_SIZE => self.workgroup_size = Some(target),
            _ => {}
        }
        // spirq refuses a module in which a member is neither read nor written.
        let unused = kind == decoration::NON_READABLE
            && self.decorated.contains(&(target, member, decoration::NON_WRITABLE))
            || kind == decoration::NON_WRITABLE && self.decorated.contains(&(target, member, decoration::NON_READABLE));
        if decoration::LAYOUT.contains(&kind) && !unused && self.decorated.insert((target, member, kind)) {
            self.kept_decorations.extend(words);
        }
        Some(())
    }

    /// Keeps a type if everything it is made of was kept.
    fn declare_type(&mut self, code: u32, words: &[u32]) -> Option<()> {
        let id = *words.get(1)?;
        let operand = |index: usize| words.get(index).copied();
        let node = |size: Option<u64>| Some(Known { cost: NODE_COST, depth: 1, size, forward: false });
        let of = |inner: Option<Known>, count: Option<u64>| {
            inner.map(|inner| Known {
                cost: NODE_COST.saturating_add(inner.cost),
                depth: inner.depth + 1,
                size: inner.size.zip(count).and_then(|(size, count)| size.checked_mul(count)),
                forward: false,
            })
        };
        let known = match code {
            op::TYPE_VOID | op::TYPE_SAMPLER | op::TYPE_ACCELERATION_STRUCTURE => node(None),
            op::TYPE_BOOL => node(Some(4)),
            op::TYPE_INT | op::TYPE_FLOAT => {
                let bits = operand(2)?;
                if code == op::TYPE_INT {
                    operand(3)?;
                    if bits == 32 {
                        self.words.insert(id);
                    }
                }
                node(Some(u64::from(bits / 8)))
            }
            op::TYPE_VECTOR | op::TYPE_MATRIX => of(self.known(operand(2)?), Some(u64::from(operand(3)?))),
            op::TYPE_IMAGE | op::TYPE_SAMPLED_IMAGE => {
                if code == op::TYPE_IMAGE {
                    operand(8)?;
                }
                of(self.known(operand(2)?), None)
            }
            op::TYPE_ARRAY => {
                // spirq wants the length as a number of 32 bits above zero.
                let count = self.constants.get(&operand(3)?).copied().filter(|count| (1..1 << 31).contains(count));
                count.and_then(|count| of(self.known(words[2]), Some(u64::from(count))))
            }
            op::TYPE_RUNTIME_ARRAY => of(self.known(operand(2)?), None),
            op::TYPE_POINTER => {
                let target = operand(3)?;
                self.pointees.insert(id, target);
                of(self.known(target), None).map(|pointer| Known { size: Some(8), ..pointer })
            }
            op::TYPE_FORWARD_POINTER => {
                operand(2)?;
                Some(Known { cost: NODE_COST, depth: 1, size: Some(8), forward: true })
            }
            op::TYPE_STRUCT => self.structure(id, &words[2..]),
            _ => None,
        };
        if self.types.get(&id).is_some_and(|before| !before.forward) {
            return None;
        }
        if let Some(known) = known.filter(|known| known.depth <= MOST_DEPTH) {
            self.cost = self.cost.saturating_add(known.cost);
            self.types.insert(id, known);
            self.kept_rest.extend(words);
        }
        Some(())
    }

    fn known(&self, id: u32) -> Option<Known> {
        self.types.get(&id).copied()
    }

    fn structure(&self, id: u32, members: &[u32]) -> Option<Known> {
        let names = self.names.get(&id).map_or(0, |name| name.len() as u64)
            + self.member_name_bytes.get(&id).copied().unwrap_or(0);
        let mut all = Known { cost: NODE_COST + names, depth: 1, size: Some(0), forward: false };
        for member in members {
            let member = self.known(*member)?;
            all.cost = all.cost.saturating_add(NODE_COST).saturating_add(member.cost);
            all.depth = all.depth.max(member.depth + 1);
            all.size = all.size.zip(member.size).and_then(|(sum, size)| sum.checked_add(size));
        }
        Some(all)
    }

    fn constant(&mut self, code: u32, words: &[u32]) -> Option<()> {
        let (kind, id, value) = (*words.get(1)?, *words.get(2)?, *words.get(3)?);
        if code == op::SPEC_CONSTANT
            && let Some(number) = self.spec_ids.get(&id)
        {
            self.cost = self.cost.saturating_add(self.names.get(&id).map_or(0, |name| name.len() as u64));
            self.spec_constants.insert((*number, self.names.get(&id).cloned()));
        }
        if self.words.contains(&kind) { self.keep_constant(kind, id, value) } else { Some(()) }
    }

    /// To spirq every constant is a plain one with its default.
    fn keep_constant(&mut self, kind: u32, id: u32, value: u32) -> Option<()> {
        self.constants.insert(id, value).is_none().then_some(())?;
        self.cost = self.cost.saturating_add(NODE_COST + self.names.get(&id).map_or(0, |name| name.len() as u64));
        self.kept_rest.extend([4 << 16 | op::CONSTANT, kind, id, value]);
        Some(())
    }

    /// A constant computed from others: the operations that sizes are computed by.
    fn computed_constant(&mut self, words: &[u32]) -> Option<()> {
        let (kind, id, code) = (*words.get(1)?, *words.get(2)?, *words.get(3)?);
        let value = |index: usize| words.get(index).and_then(|id| self.constants.get(id)).copied();
        let Some((one, other)) = value(4).zip(value(5)).filter(|_| self.words.contains(&kind)) else { return Some(()) };
        let result = match code {
            op::I_ADD => Some(one.wrapping_add(other)),
            op::I_SUB => Some(one.wrapping_sub(other)),
            op::I_MUL => Some(one.wrapping_mul(other)),
            op::U_DIV => one.checked_div(other),
            _ => None,
        };
        match result {
            Some(result) => self.keep_constant(kind, id, result),
            None => Some(()),
        }
    }

    /// The constant that is the size of workgroups, where the module has one (older modules).
    fn composite(&mut self, words: &[u32]) -> Option<()> {
        if Some(*words.get(2)?) == self.workgroup_size
            && let [x, y, z] = words[3..]
            && let Some(sizes) = self.sizes([x, y, z])
        {
            self.workgroup_sizes = Some((sizes, self.numbers([x, y, z])));
        }
        Some(())
    }

    fn sizes(&self, ids: [u32; 3]) -> Option<[u32; 3]> {
        let value = |id: u32| self.constants.get(&id).copied();
        Some([value(ids[0])?, value(ids[1])?, value(ids[2])?])
    }

    fn numbers(&self, ids: [u32; 3]) -> [Option<u32>; 3] {
        ids.map(|id| self.spec_ids.get(&id).copied())
    }

    fn variable(&mut self, words: &[u32]) -> Option<()> {
        let (kind, id, class) = (*words.get(1)?, *words.get(2)?, *words.get(3)?);
        let name_size = self.names.get(&id).map_or(0, |name| name.len() as u64);
        let named = || self.names.get(&id).map_or(format!("number {id}"), |name| format!("`{name}`"));
        if class == CLASS_WORKGROUP {
            let size = self.pointee_size(kind);
            self.workgroup_bytes = self.workgroup_bytes.zip(size).and_then(|(sum, size)| sum.checked_add(size));
            return Some(());
        }
        let resource = CLASS_RESOURCES.contains(&class);
        if !resource && class != CLASS_PUSH_CONSTANT {
            return Some(());
        }
        let Some(known) = self.known(kind).filter(|known| !known.forward) else {
            self.cost = self.cost.saturating_add(name_size);
            self.unexamined.push(format!("variable {} has a type that simpack does not read", named()));
            return Some(());
        };
        // spirq would put it at set 0, binding 0.
        if resource && !self.decorated.contains(&(id, None, decoration::BINDING)) {
            self.cost = self.cost.saturating_add(name_size);
            self.unexamined.push(format!("variable {} is a resource without a binding", named()));
            return Some(());
        }
        self.cost = self.cost.saturating_add(known.cost).saturating_add(known.cost).saturating_add(name_size);
        self.resources += 1;
        self.variables.insert(id);
        self.kept_rest.extend([4 << 16 | op::VARIABLE, kind, id, class]);
        Some(())
    }

    /// Size of what a pointer type points to.
    fn pointee_size(&self, pointer: u32) -> Option<u64> {
        self.known(*self.pointees.get(&pointer)?)?.size
    }

    fn finish(mut self, version: (u8, u8), generator: u16) -> Scanned {
        let mut entry_points: Vec<SpirvEntryPoint> = std::mem::take(&mut self.entry_points).into_values().collect();
        for entry in &mut entry_points {
            if let [Some(x), Some(y), Some(z)] = entry.local_size_ids {
                entry.local_size = self.sizes([x, y, z]);
                entry.local_size_ids = self.numbers([x, y, z]);
            }
            // The constant wins over the execution mode (SPIR-V, "WorkgroupSize").
            if let (Some((sizes, numbers)), true) = (self.workgroup_sizes, entry.local_size.is_some()) {
                (entry.local_size, entry.local_size_ids) = (Some(sizes), numbers);
            }
        }
        entry_points.sort();
        // An entry point of our own, so that spirq tells of every resource: GLCompute, function 1, "all".
        let mut declarations = vec![MAGIC, 0x0001_0600, 0, u32::MAX, 0];
        declarations.extend([4 << 16 | op::ENTRY_POINT, 5, 1, u32::from_le_bytes(*b"all\0")]);
        // spirq takes long for many names: those of functions and values say nothing to it.
        let mut names = self.kept_names.as_slice();
        while let [head, id, ..] = *names {
            let (one, rest) = names.split_at((head >> 16) as usize);
            if self.types.contains_key(&id) || self.constants.contains_key(&id) || self.variables.contains(&id) {
                declarations.extend(one);
            }
            names = rest;
        }
        declarations.append(&mut self.kept_decorations);
        declarations.append(&mut self.kept_rest);
        let module = SpirvModule {
            version,
            generator,
            capabilities: self.capabilities.into_iter().collect(),
            extensions: self.extensions.into_iter().collect(),
            entry_points,
            bindings: Vec::new(),
            push_constants: Vec::new(),
            spec_constants: self.spec_constants.into_iter().collect(),
            workgroup_bytes: self.workgroup_bytes,
            arithmetic: self.arithmetic.finish(),
            unexamined: self.unexamined,
        };
        Scanned { module, declarations, resources: self.resources }
    }
}
