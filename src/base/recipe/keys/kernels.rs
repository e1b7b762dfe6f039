//! Keys of kernel groups.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use crate::recipe::model::{HeaderLanguage, KernelForm};

/// Device code that ships together.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct KernelGroup {
    /// What it ships as. Groups of the form `spirv` may stand beside those of `cubin` or `library`; the others ship in one form.
    #[schemars(extend("default" = "cubin"), example = &"cubin")]
    form: Option<KernelForm>,
    /// Translation units, relative to the source; of form `cubin`, and of form `spirv` compute shaders in GLSL (`.comp`),
    /// HLSL (`.hlsl`) or WGSL (`.wgsl`).
    #[schemars(example = ["kernels/neuron.cu"])]
    sources: Option<Vec<String>>,
    /// The kernel table, relative to the recipe or the source; of all forms but `slice`.
    #[schemars(example = &"kernels/table.toml")]
    table: Option<String>,
    /// Globs over the installed files that are cut to one target; of form `slice`.
    #[schemars(example = ["lib/libmysim.so.*"])]
    files: Option<Vec<String>>,
    /// Whether what is cut ships without device code, too, for machines without a GPU; of form `slice`. With `false` the selector has no
    /// build for such machines, and core needs it only where libraries are cut.
    #[schemars(extend("default" = true), example = false)]
    cpu: Option<bool>,
    /// Flags of nvcc; of form `cubin`. Targets and outputs are simpack's own. Of form `spirv` those of the compiler of
    /// shaders: `-g`, `-Os`, and `-I` with a directory of the source; of shaders in WGSL `-ffp-contract=off`, which keeps products
    /// and sums apart.
    #[schemars(example = ["-O3", "-std=c++17"])]
    flags: Option<Vec<String>>,
    /// Axes of choices that change the device code, by name: every combination is built. Of all forms but
    /// `library`; the choices of a `slice` are empty tables.
    variants: Option<BTreeMap<String, BTreeMap<String, Additions>>>,
    /// Variants whose results are the same bits on every device, by their names; `default` of a group without axes. Each
    /// arithmetic operation on floats in their modules has to forbid that a device joins it with another (`precise` in GLSL
    /// and HLSL), and none may be left to the device. Of form `spirv`.
    #[schemars(example = ["fixed"])]
    exact: Option<Vec<String>>,
    /// What some capabilities add, by a range such as `<8.0`, `>=9.0` or `>=8.0,<9.0`; of form `cubin`.
    when: Option<BTreeMap<String, Additions>>,
    /// What writes the sources, which lie in the source tree all the same: a build runs it and refuses sources that are not
    /// what it writes today. Of the forms `cubin` and `spirv`.
    generator: Option<Generator>,
    /// Whether the build of core puts the modules into core: they are compiled first, and an option of that build which
    /// says `{shaders}` is given the directory in which they lie as `VARIANT/ENVIRONMENT/KERNEL.spv`. No package ships them. All
    /// groups of the form `spirv` say the same.
    #[schemars(extend("default" = false), example = &true)]
    embed: Option<bool>,
    /// Where the structures of the table come from. A build compares them with the host's own types, and stops where they
    /// differ; `simpack generate table` writes them. Of form `spirv`.
    structures: Option<Structures>,
}

/// The types of the host that structures of the kernel table are: out of `headers` of C or C++, or by a `command`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Structures {
    /// The types, as the host names them. In the table a structure has the last of its names, and so have the structures that it
    /// holds.
    #[schemars(example = ["Neuron", "mysim::Pool"])]
    types: Vec<String>,
    /// Headers that declare them, relative to the source: the host compiler says how they lie, by debug information.
    #[schemars(example = ["host/network.h"])]
    headers: Option<Vec<String>>,
    /// What the headers are written in.
    #[schemars(extend("default" = "c++"), example = &"c++")]
    language: Option<HeaderLanguage>,
    /// Flags of the compiler that change how headers are read: those of the build that the structures depend on.
    #[schemars(example = ["-Ihost", "-std=c++20"])]
    flags: Option<Vec<String>>,
    /// Program and arguments that print the structures as JSON (`simpack schema structures`), in the place of `headers`: a
    /// program of the machine by its name, or a file of the source by its path.
    #[schemars(example = ["go", "run", "./layouts"])]
    command: Option<Vec<String>>,
    /// Globs over all files that are read, relative to the source; left out, the headers alone.
    #[schemars(example = ["host/**/*.h"])]
    inputs: Option<Vec<String>>,
}

/// A command that writes the sources of a kernel group.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Generator {
    /// Program and arguments, called in a copy of the source that holds nothing but its `inputs`: a program of the machine
    /// by its name, or a file of the source by its path.
    #[schemars(example = ["python3", "shaders/generate.py"])]
    command: Vec<String>,
    /// Globs over all files that it reads, relative to the source.
    #[schemars(example = ["shaders/generate.py", "host/network.h"])]
    inputs: Vec<String>,
}

/// What a variant or a range of capabilities adds to the flags of a group.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Additions {
    /// Names for the preprocessor, without `-D`.
    #[schemars(example = ["ACCUMULATE_FIXED", "WIDTH=4"])]
    define: Option<Vec<String>>,
    /// Flags of the compiler, as those of the group.
    #[schemars(example = ["-maxrregcount=64"])]
    flags: Option<Vec<String>>,
}
