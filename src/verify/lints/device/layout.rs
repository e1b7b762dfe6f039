//! Structures of a shader against those that the kernel table declares, to the field.

use std::collections::{BTreeMap, BTreeSet};

use crate::gpu::{BufferField, SpirvBlock, SpirvMember};

/// The fields of a buffer as the shader has them: of one element where it ends in an array without an end, else of all of
/// it. Fields of structures have names with dots, and of arrays the first element stands for all.
pub(super) fn fields_of(block: &SpirvBlock) -> Vec<BufferField> {
    let open = block.members.last().filter(|last| last.arrays.first().is_some_and(|array| array.count.is_none()));
    let mut found = Vec::new();
    flatten(open.map_or(&block.members, |last| &last.members), "", 0, &mut found);
    found
}

fn flatten(members: &[SpirvMember], before: &str, start: u64, found: &mut Vec<BufferField>) {
    for (index, member) in members.iter().enumerate() {
        let name = member.name.clone().unwrap_or_else(|| format!("field {}", index + 1));
        let name = if before.is_empty() { name } else { format!("{before}.{name}") };
        let number = |value: u64| u32::try_from(value).ok();
        let Some(offset) = member.offset.and_then(|offset| start.checked_add(offset)) else { continue };
        if let (Some(at), Some(size)) = (number(offset), member.size.and_then(number)) {
            found.push(BufferField { name: name.clone(), offset: at, size });
        }
        flatten(&member.members, &name, offset, found);
    }
}

/// The same fields where they are those of one structure, which alone is in the buffer: naga puts a structure of WGSL into a
/// block of its own, and GLSL may be written so.
fn unwrapped(fields: &[BufferField]) -> Option<Vec<BufferField>> {
    let (outer, inner) = fields.split_first().filter(|(outer, inner)| outer.offset == 0 && !inner.is_empty())?;
    let of_outer = |field: &BufferField| {
        let name = field.name.strip_prefix(&outer.name)?.strip_prefix('.')?;
        Some(BufferField { name: name.to_owned(), ..field.clone() })
    };
    inner.iter().map(of_outer).collect()
}

/// The first field that is not where the host has it, or not as large, in words: what follows it follows from it. A block that
/// holds one structure may be that structure.
pub(super) fn difference(core: &[BufferField], shader: &[BufferField]) -> Option<String> {
    let what = first_difference(core, shader)?;
    match unwrapped(shader) {
        Some(inner) => first_difference(core, &inner),
        None => Some(what),
    }
}

fn first_difference(core: &[BufferField], shader: &[BufferField]) -> Option<String> {
    // A package of others may hold any number of fields.
    let compiled: BTreeMap<&str, &BufferField> = shader.iter().map(|field| (field.name.as_str(), field)).collect();
    let declared: BTreeSet<&str> = core.iter().map(|field| field.name.as_str()).collect();
    for field in core {
        let name = &field.name;
        match compiled.get(name.as_str()) {
            None => return Some(format!("`{name}` is not in the shader")),
            Some(other) if other.offset != field.offset => {
                return Some(format!("`{name}` is at {} in the core, {} in the shader", field.offset, other.offset));
            }
            Some(other) if other.size != field.size => {
                return Some(format!("`{name}` has {} bytes in the core, {} in the shader", field.size, other.size));
            }
            Some(_) => {}
        }
    }
    let more = shader.iter().find(|other| !declared.contains(other.name.as_str()));
    more.map(|field| format!("`{}` of the shader is not in the table", field.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, offset: u32, size: u32) -> BufferField {
        BufferField { name: name.to_owned(), offset, size }
    }

    #[test]
    fn the_first_field_that_differs_is_named() {
        let core = [field("gain", 0, 4), field("inhib", 16, 8), field("inhib.fb", 16, 4)];
        assert_eq!(difference(&core, &core), None);
        let said = |shader: &[BufferField]| difference(&core, shader).unwrap();
        let moved = [field("gain", 0, 4), field("inhib", 20, 8), field("inhib.fb", 20, 4)];
        assert_eq!(said(&moved), "`inhib` is at 16 in the core, 20 in the shader");
        let grown = [field("gain", 0, 4), field("inhib", 16, 12), field("inhib.fb", 16, 4)];
        assert_eq!(said(&grown), "`inhib` has 8 bytes in the core, 12 in the shader");
        assert_eq!(said(&core[..2]), "`inhib.fb` is not in the shader");
        assert_eq!(unwrapped(&core), None);
        let block =
            [field("now", 0, 24), field("now.gain", 0, 4), field("now.inhib", 16, 8), field("now.inhib.fb", 16, 4)];
        assert_eq!(unwrapped(&block).unwrap(), core);
        assert_eq!(difference(&core, &block), None);
        assert_eq!(said(&block[..3]), "`inhib.fb` is not in the shader");
        let more = [&core[..], &[field("late", 24, 4)]].concat();
        assert_eq!(said(&more), "`late` of the shader is not in the table");
    }
}
