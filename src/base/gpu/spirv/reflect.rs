//! Resources and layouts, as spirq puts them together from checked declarations.

use spirq::ReflectConfig;
use spirq::parse::SpirvBinary;
use spirq::ty::{DescriptorType, MatrixAxisOrder, MatrixType, ScalarType, StructMember, StructType, Type};
use spirq::var::Variable;

use super::{SpirvArray, SpirvBinding, SpirvBlock, SpirvMember, SpirvResource};

/// What was found.
pub(super) struct Resources {
    pub(super) bindings: Vec<SpirvBinding>,
    pub(super) push_constants: Vec<SpirvBlock>,
    pub(super) unexamined: Vec<String>,
}

/// Reads `expected` resources from declarations that [`super::scan`] has made.
pub(super) fn resources(declarations: Vec<u32>, expected: usize) -> Result<Resources, String> {
    let entries = ReflectConfig::new()
        .spv(SpirvBinary::from(declarations))
        .ref_all_rscs(true)
        .reflect()
        .map_err(|error| error.to_string())?;
    let mut found = Resources { bindings: Vec::new(), push_constants: Vec::new(), unexamined: Vec::new() };
    for variable in entries.into_iter().flat_map(|entry| entry.vars) {
        match variable {
            Variable::Descriptor { name, desc_bind, desc_ty, ty, nbind } => {
                let block = if let Type::Struct(structure) = &ty { Some(block(structure)) } else { None };
                found.bindings.push(SpirvBinding {
                    set: desc_bind.set(),
                    binding: desc_bind.bind(),
                    name: name.or_else(|| block.as_ref().and_then(|block| block.name.clone())),
                    resource: resource(&desc_ty),
                    count: Some(nbind).filter(|count| *count > 0),
                    block,
                });
            }
            Variable::PushConstant { ty: Type::Struct(structure), .. } => found.push_constants.push(block(&structure)),
            _ => {}
        }
    }
    let missing = expected.saturating_sub(found.bindings.len() + found.push_constants.len());
    if missing > 0 {
        found.unexamined.push(format!("{missing} of {expected} resources are of kinds that simpack does not read"));
    }
    found.bindings.sort_by(|a, b| (a.set, a.binding, &a.name).cmp(&(b.set, b.binding, &b.name)));
    Ok(found)
}

fn resource(kind: &DescriptorType) -> SpirvResource {
    match kind {
        DescriptorType::Sampler() => SpirvResource::Sampler,
        DescriptorType::CombinedImageSampler() => SpirvResource::CombinedImageSampler,
        DescriptorType::SampledImage() => SpirvResource::SampledImage,
        DescriptorType::StorageImage(_) => SpirvResource::StorageImage,
        DescriptorType::UniformTexelBuffer() => SpirvResource::UniformTexelBuffer,
        DescriptorType::StorageTexelBuffer(_) => SpirvResource::StorageTexelBuffer,
        DescriptorType::UniformBuffer() => SpirvResource::UniformBuffer,
        DescriptorType::StorageBuffer(_) => SpirvResource::StorageBuffer,
        DescriptorType::InputAttachment(_) => SpirvResource::InputAttachment,
        DescriptorType::AccelStruct() => SpirvResource::AccelerationStructure,
    }
}

fn block(structure: &StructType) -> SpirvBlock {
    SpirvBlock {
        name: structure.name.clone(),
        size: structure_size(structure),
        members: structure.members.iter().map(member).collect(),
    }
}

fn member(member: &StructMember) -> SpirvMember {
    let mut arrays = Vec::new();
    let mut element = &member.ty;
    while let Type::Array(array) = element {
        arrays.push(SpirvArray { count: array.nelement, stride: array.stride.map(|stride| stride as u64) });
        element = &array.element_ty;
    }
    let (matrix_stride, members) = match element {
        Type::Matrix(matrix) => (matrix.stride.map(|stride| stride as u64), Vec::new()),
        Type::Struct(structure) => (None, structure.members.iter().map(self::member).collect()),
        _ => (None, Vec::new()),
    };
    SpirvMember {
        name: member.name.clone(),
        offset: member.offset.map(|offset| offset as u64),
        element: element_name(element),
        arrays,
        matrix_stride,
        size: size(&member.ty),
        members,
    }
}

fn element_name(element: &Type) -> String {
    match element {
        Type::Scalar(scalar) => scalar.to_string(),
        Type::Vector(vector) => format!("vec{}<{}>", vector.nscalar, vector.scalar_ty),
        Type::Matrix(matrix) => {
            let order = if matrix.axis_order == Some(MatrixAxisOrder::RowMajor) { " row-major" } else { "" };
            let (columns, rows) = (matrix.nvector, matrix.vector_ty.nscalar);
            format!("mat{columns}x{rows}<{}>{order}", matrix.vector_ty.scalar_ty)
        }
        Type::Struct(structure) => format!("struct {}", structure.name.as_deref().unwrap_or("without a name")),
        Type::DeviceAddress(_) | Type::DevicePointer(_) => "pointer".to_owned(),
        _ => "opaque".to_owned(),
    }
}

/// Bytes of a value in memory. spirq's own sizes multiply without a check.
fn size(kind: &Type) -> Option<u64> {
    match kind {
        Type::Scalar(scalar) => scalar_size(scalar),
        Type::Vector(vector) => scalar_size(&vector.scalar_ty)?.checked_mul(u64::from(vector.nscalar)),
        Type::Matrix(matrix) => matrix_size(matrix),
        Type::Array(array) => (array.stride? as u64).checked_mul(u64::from(array.nelement.unwrap_or(0))),
        Type::Struct(structure) => structure_size(structure),
        // Physical storage buffers: addresses of 64 bits.
        Type::DeviceAddress(_) | Type::DevicePointer(_) => Some(8),
        _ => None,
    }
}

fn scalar_size(scalar: &ScalarType) -> Option<u64> {
    match scalar {
        ScalarType::Integer { bits, .. } | ScalarType::Float { bits } => Some(u64::from(bits / 8)),
        ScalarType::Void | ScalarType::Boolean => None,
    }
}

/// Columns, or rows, at the stride.
fn matrix_size(matrix: &MatrixType) -> Option<u64> {
    let lines = match matrix.axis_order {
        Some(MatrixAxisOrder::RowMajor) => matrix.vector_ty.nscalar,
        _ => matrix.nvector,
    };
    (matrix.stride? as u64).checked_mul(u64::from(lines))
}

fn structure_size(structure: &StructType) -> Option<u64> {
    structure
        .members
        .iter()
        .try_fold(0, |end: u64, member| Some(end.max((member.offset? as u64).checked_add(size(&member.ty)?)?)))
}
