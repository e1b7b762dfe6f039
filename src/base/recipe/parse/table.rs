//! The kernel table: kernels and parameters as declared, to signatures with offsets.

use std::collections::{BTreeMap, BTreeSet};

use super::bindings::{bindings, constants, push_constants, workgroup};
use super::reader::{Fields, Reader, Value, edition, read};
use super::structs::{Structs, awaiting, structs, structures};
use super::words::is_symbol;
use crate::gpu::{KernelSignature, Param};
use crate::layout::{Scalar, Structure};
use crate::recipe::diagnostic::{Diagnostic, Document, Spanned};
use crate::recipe::model::KernelNames;

/// One declared kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredKernel {
    /// Its name and where it stands.
    pub name: Spanned<String>,
    /// Its translation unit, if the table says so.
    pub source: Option<Spanned<String>>,
    /// Names of its parameters and where each stands.
    pub params: Vec<Spanned<String>>,
    /// What people call what the signature counts.
    pub names: KernelNames,
    /// Name and parameter layout.
    pub signature: KernelSignature,
}

impl DeclaredKernel {
    /// Whether its parameters are the fields of a structure.
    pub(in crate::recipe) fn is_pushed(&self) -> bool {
        self.signature.push_constants.is_some()
    }
}

/// Bytes of parameters that a kernel may have from sm_70 on ("CUDA C++ Programming Guide", `__global__` parameters).
const MOST_BYTES: u32 = 32764;

/// Names of the scalar types of so many bytes.
pub fn scalars_of(size: u32) -> impl Iterator<Item = &'static str> {
    Scalar::ALL.into_iter().filter(move |scalar| scalar.size() == size).map(Scalar::name)
}

/// What a kernel table declares.
pub(in crate::recipe) struct DeclaredTable {
    pub document: Document,
    pub kernels: Vec<DeclaredKernel>,
    pub structures: Vec<Structure>,
    pub mistakes: Vec<Diagnostic>,
}

/// Reads a kernel table. `path` is how the file is named in mistakes; structures that are `awaited` are about to be written
/// into it, and need not be there.
pub(in crate::recipe) fn kernel_table(text: &str, path: &str, awaited: &BTreeSet<String>) -> DeclaredTable {
    let document = Document::new(path, text);
    let (found, mistakes) = read(document.clone(), "the kernel table", |reader, mut top| {
        edition(reader, &mut top);
        let structs = top.get("struct").map(|value| structs(reader, value, awaited));
        let structs = structs.unwrap_or_else(|| awaiting(awaited));
        let kernels = top
            .required(reader, "kernel")
            .and_then(|value| reader.list(value, "kernel", |reader, value| kernel(reader, value, &structs)));
        top.finish(reader);
        Some((first_of_each(reader, kernels.unwrap_or_default()), structures(structs)))
    });
    let (kernels, structures) = found.unwrap_or_default();
    DeclaredTable { document, kernels, structures, mistakes }
}

/// The signatures of a table without mistakes; none of one with.
pub fn declared_kernels(text: &str) -> Option<Vec<KernelSignature>> {
    let DeclaredTable { kernels, mistakes, .. } = kernel_table(text, "table.toml", &BTreeSet::new());
    mistakes.is_empty().then(|| kernels.into_iter().map(|kernel| kernel.signature).collect())
}

/// The structures of a table without mistakes; none of one with.
pub fn declared_structures(text: &str) -> Option<Vec<Structure>> {
    let DeclaredTable { structures, mistakes, .. } = kernel_table(text, "table.toml", &BTreeSet::new());
    mistakes.is_empty().then_some(structures)
}

fn first_of_each(reader: &mut Reader, kernels: Vec<DeclaredKernel>) -> Vec<DeclaredKernel> {
    let mut kept: BTreeMap<String, DeclaredKernel> = BTreeMap::new();
    for kernel in kernels {
        if kept.contains_key(&kernel.name.value) {
            reader.wrong(kernel.name.span, format!("kernel `{}` is declared twice", kernel.name.value));
        } else {
            kept.insert(kernel.name.value.clone(), kernel);
        }
    }
    kept.into_values().collect()
}

fn kernel(reader: &mut Reader, value: &Value<'_>, structs: &Structs) -> Option<DeclaredKernel> {
    let mut fields = reader.fields(value, "[[kernel]]")?;
    let name = fields.required(reader, "name").and_then(|value| reader.text(value, "name"));
    let name = name.filter(|name| {
        let fits = is_symbol(&name.value);
        if !fits {
            reader.wrong(name.span.clone(), format!("`{}` cannot be the name of a kernel", name.value));
        }
        fits
    });
    let source = fields.get("source").and_then(|value| reader.text(value, "source"));
    let pushed = fields.get("push-constants");
    let params = if pushed.is_some() { fields.get("params") } else { fields.required(reader, "params") };
    if let (Some(value), Some(_)) = (params, pushed) {
        let mistake = reader.mistake(value.span(), "`params` cannot be combined with `push-constants`");
        reader.push(mistake.hint("the fields of the structure are the parameters"));
    }
    let params = params.filter(|_| pushed.is_none()).and_then(|value| {
        let list = reader.list(value, "params", param)?;
        let sizes = list.iter().map(|param| (param.size, param.align));
        let Some(params) = layout(sizes) else {
            reader.wrong(value.span(), format!("the parameters are larger than {MOST_BYTES} bytes"));
            return None;
        };
        let names: Vec<_> = list.iter().map(|param| param.name.clone()).collect();
        reader.unique("params", names);
        Some((list, params))
    });
    let pushed = pushed.and_then(|value| push_constants(reader, value, structs));
    let bindings = fields.get("bindings").and_then(|value| bindings(reader, value, structs)).unwrap_or_default();
    let workgroup = fields.get("workgroup").and_then(|value| workgroup(reader, value));
    let constants = fields.get("constants").and_then(|value| constants(reader, value)).unwrap_or_default();
    fields.finish(reader);
    let name = name?;
    let (declared, params) = params.unwrap_or_default();
    let (bindings, elements) = bindings.into_iter().unzip();
    let mut names = KernelNames {
        source: source.as_ref().map(|source| source.value.clone()),
        params: declared.iter().map(|param| (param.name.value.clone(), param.kind.to_owned())).collect(),
        push_constants: None,
        elements,
    };
    let mut signature =
        KernelSignature { bindings, workgroup, constants, ..KernelSignature::new(name.value.clone(), params) };
    let mut params: Vec<_> = declared.into_iter().map(|param| param.name).collect();
    if let Some(pushed) = pushed {
        // Each field stands where the structure is named.
        params = pushed.names.iter().map(|(field, _)| pushed.name.with(field.clone())).collect();
        (names.params, names.push_constants) = (pushed.names, Some(pushed.name.value));
        (signature.params, signature.push_constants) = (pushed.params, Some(pushed.constants));
    }
    Some(DeclaredKernel { name, source, params, names, signature })
}

/// Offsets by natural alignment; none when they do not fit.
fn layout(sizes: impl Iterator<Item = (u32, u32)>) -> Option<Vec<Param>> {
    let mut end: u32 = 0;
    let mut params = Vec::new();
    for (size, align) in sizes {
        let offset = end.checked_next_multiple_of(align)?;
        end = offset.checked_add(size).filter(|&end| end <= MOST_BYTES)?;
        params.push(Param { offset, size });
    }
    Some(params)
}

/// A parameter before it has its place.
struct DeclaredParam {
    name: Spanned<String>,
    /// As the table writes it: `u32`.
    kind: &'static str,
    size: u32,
    align: u32,
}

fn param(reader: &mut Reader, value: &Value<'_>) -> Option<DeclaredParam> {
    let mut fields = reader.fields(value, "a parameter")?;
    let name = fields.required(reader, "name").and_then(|value| reader.text(value, "name"));
    let types: Vec<(&str, (&'static str, Option<u32>))> = Scalar::ALL
        .iter()
        .map(|&scalar| (scalar.name(), (scalar.name(), Some(scalar.size()))))
        .chain([("struct", ("struct", None))])
        .collect();
    let kind = fields.required(reader, "type").and_then(|value| reader.choice(value, "type", &types));
    let kind = kind.map(|kind| kind.value);
    let size = match kind.map(|(_, size)| size) {
        Some(Some(size)) => scalar(reader, &mut fields, size),
        Some(None) => structure(reader, &mut fields),
        None => {
            // Keys that are known, whatever the type was meant to be.
            let _known = ["size", "align"].map(|key| fields.get(key));
            None
        }
    };
    fields.finish(reader);
    let (size, align) = size?;
    Some(DeclaredParam { name: name?, kind: kind?.0, size, align })
}

fn scalar(reader: &mut Reader, fields: &mut Fields<'_, '_>, size: u32) -> Option<(u32, u32)> {
    for key in ["size", "align"] {
        if let Some(value) = fields.get(key) {
            reader.wrong(value.span(), format!("`{key}` goes with type `struct` only"));
        }
    }
    Some((size, size))
}

fn structure(reader: &mut Reader, fields: &mut Fields<'_, '_>) -> Option<(u32, u32)> {
    let most = u64::from(MOST_BYTES);
    let size = fields.required(reader, "size").and_then(|value| reader.integer(value, "size", 1..=most));
    let align = fields.required(reader, "align").and_then(|value| reader.integer(value, "align", 1..=256));
    let (size, align) = (size?, align?);
    if !align.value.is_power_of_two() {
        reader.wrong(align.span, "align must be a power of two");
        return None;
    }
    if !size.value.is_multiple_of(align.value) {
        reader.wrong(size.span, format!("size {} is not a multiple of align {}", size.value, align.value));
        return None;
    }
    Some((u32::try_from(size.value).ok()?, u32::try_from(align.value).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_follow_from_natural_alignment() {
        let text = r#"
edition = 1
[[kernel]]
name = "k"
params = [
  { name = "a", type = "u8" },
  { name = "b", type = "f32" },
  { name = "c", type = "ptr" },
  { name = "d", type = "u16" },
  { name = "e", type = "struct", size = 12, align = 4 },
  { name = "f", type = "i64" },
]
"#;
        let DeclaredTable { kernels, mistakes, .. } = kernel_table(text, "table.toml", &BTreeSet::new());
        assert_eq!(mistakes, []);
        let offsets: Vec<_> = kernels[0].signature.params.iter().map(|param| (param.offset, param.size)).collect();
        assert_eq!(offsets, [(0, 1), (4, 4), (8, 8), (16, 2), (20, 12), (32, 8)]);
    }
    #[test]
    fn bindings_are_read_and_sorted() {
        let text = r#"
edition = 1
[[kernel]]
name = "main"
params = []
bindings = [
  { binding = 1, type = "uniform-buffer", size = 16 },
  { set = 0, binding = 0, type = "storage-buffer", size = 4, stride = 8 },
]
"#;
        let DeclaredTable { kernels, mistakes, .. } = kernel_table(text, "table.toml", &BTreeSet::new());
        assert_eq!(mistakes, []);
        let found: Vec<_> = kernels[0].signature.bindings.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["0.0 storage 4+n*8", "0.1 uniform 16"]);
        let DeclaredTable { mistakes, .. } =
            kernel_table(&text.replace("binding = 1", "binding = 0"), "table.toml", &BTreeSet::new());
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
    }
}
