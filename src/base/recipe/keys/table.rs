//! The keys of a kernel table as their maintainers see them, as those of the recipe (`keys`).
#![allow(dead_code, reason = "the schemas of these types are all that is used")]

use schemars::JsonSchema;

/// The kernels that core launches, and the layouts of their parameters. The kernel ABI tag is a digest over it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", title = "kernel table")]
pub struct KernelTableKeys {
    /// Version of the table's language.
    #[schemars(range(min = 1, max = 1), example = 1)]
    edition: u32,
    /// The kernels.
    kernel: Vec<KernelKeys>,
    /// Structures that host and shaders share. One may hold those above it.
    #[schemars(rename = "struct")]
    structs: Option<Vec<StructKeys>>,
}

/// One kernel.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct KernelKeys {
    /// Its name in the device code: declare it `extern "C"`, or give the mangled name.
    #[schemars(example = &"mysim_step")]
    name: String,
    /// Its translation unit: the file's name, or the end of its path.
    #[schemars(example = &"neuron.cu")]
    source: Option<String>,
    /// Its parameters in order, for a shader its push constants; required without `push-constants`. Offsets follow from natural
    /// alignment.
    params: Option<Vec<Parameter>>,
    /// The structure that the push constants of a shader are, in the place of `params`: its fields are told by their names.
    #[schemars(example = &"Step")]
    push_constants: Option<String>,
    /// Buffers that a shader binds; of form `spirv`, as all below.
    bindings: Option<Vec<Binding>>,
    /// Invocations of a workgroup in x, y, z; left out, nothing is promised of them.
    #[schemars(example = [64])]
    workgroup: Option<Vec<u32>>,
    /// Constants that the host gives when it makes the pipeline; left out, nothing is promised of them.
    constants: Option<Vec<Constant>>,
}

/// A parameter of a kernel.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Parameter {
    /// Its name, for messages.
    #[schemars(example = &"input")]
    name: String,
    /// Its type.
    #[schemars(rename = "type", example = &"ptr")]
    kind: ParameterType,
    /// Bytes; of a `struct`.
    #[schemars(example = 12)]
    size: Option<u32>,
    /// Alignment in bytes, a power of two; of a `struct`.
    #[schemars(example = 4)]
    align: Option<u32>,
}

/// Type of a parameter.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
enum ParameterType {
    /// A pointer, 8 bytes.
    Ptr,
    /// An unsigned integer.
    U64,
    /// An unsigned integer.
    U32,
    /// An unsigned integer.
    U16,
    /// An unsigned integer; a `bool`, too.
    U8,
    /// A signed integer.
    I64,
    /// A signed integer.
    I32,
    /// A signed integer.
    I16,
    /// A signed integer.
    I8,
    /// A `double`.
    F64,
    /// A `float`.
    F32,
    /// Half a `float`: `_Float16` of C and C++.
    F16,
    /// Anything passed by value; it takes `size` and `align`, a field of a structure `of`.
    Struct,
}

/// A buffer that a kernel in SPIR-V binds.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Binding {
    /// Descriptor set.
    #[schemars(extend("default" = 0), example = 0)]
    set: Option<u32>,
    /// Binding in the set.
    #[schemars(example = 1)]
    binding: u32,
    /// Kind of the buffer.
    #[schemars(rename = "type", example = &"storage-buffer")]
    kind: BindingType,
    /// The structure of each element of an open end, or of the whole of a uniform buffer: instead of `stride` and of the `size`
    /// of a uniform buffer.
    #[schemars(example = &"Cell")]
    of: Option<String>,
    /// Bytes of the part with a fixed size; 0 where `of` is given.
    #[schemars(example = 4)]
    size: Option<u32>,
    /// Bytes of each element of an open end.
    #[schemars(example = 8)]
    stride: Option<u32>,
}

/// A constant that the host gives a shader.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct Constant {
    /// Its number: `constant_id`.
    #[schemars(example = 0)]
    id: u32,
    /// Its name, for people.
    #[schemars(example = &"width")]
    name: String,
}

/// A structure that host and shaders share, laid out as in C and in `std430` blocks: by natural alignment, where it says nothing
/// else.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct StructKeys {
    /// Its name, for bindings and fields.
    #[schemars(example = &"Cell")]
    name: String,
    /// Bytes of one, up to the next in an array; left out, they follow from the fields.
    #[schemars(example = 32)]
    size: Option<u32>,
    /// Its fields in order, by the names that the shaders use.
    fields: Vec<FieldKeys>,
}

/// A field of a structure.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
struct FieldKeys {
    /// Its name in the shader.
    #[schemars(example = &"potential")]
    name: String,
    /// Its type.
    #[schemars(rename = "type", example = &"f32")]
    kind: ParameterType,
    /// The structure, of a `struct`.
    #[schemars(example = &"Inhib")]
    of: Option<String>,
    /// Elements of an array, or of a vector.
    #[schemars(extend("default" = 1), example = 4)]
    count: Option<u32>,
    /// Bytes from the start of the structure, where these do not follow from natural alignment: of a vector, or of what is
    /// declared `alignas`.
    #[schemars(example = 16)]
    offset: Option<u32>,
}

/// Kind of a buffer.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum BindingType {
    /// A storage buffer.
    StorageBuffer,
    /// A uniform buffer.
    UniformBuffer,
}
