//! Shaders for WebGPU: text in WGSL, which browsers and wgpu translate for their devices themselves.
//!
//! A packaged module is its source with the constants of a variant filled in, not what naga would write: people who debug
//! it in a browser see what they wrote, and layouts that attributes give stay as they are. Nothing in the language is a mark
//! of it, so a packaged module begins with one. It is read by compiling it to SPIR-V in memory: what a shader for
//! Vulkan is held to, it is held to by the same readers. naga reads it in browsers, too, from sites that nobody trusts.

use std::ops::Range;

use naga::valid::Capabilities;
use naga::{ScalarKind, TypeInner};

use super::wgsl::{Contraction, EXTENSIONS, parsed, wgsl_to_spirv, written};
use crate::budget::Budget;
use crate::gpu::CodeError;
use crate::gpu::spirv::{SpirvModule, spirv, spirv_within};

/// First line of every packaged module.
pub(super) const WGSL_MARK: &[u8] = b"// WGSL for WebGPU, packaged by simpack.\n";

/// The version of SPIR-V by which modules are read. No device sees it.
const READ_AS: (u8, u8) = (1, 3);

/// Bytes of a shader in WGSL, source or module: more is not read. The largest shaders of simulators have some tens of kilobytes.
pub const LARGEST_WGSL: usize = 1 << 20;

/// Steps that a byte costs naga, about.
const STEPS: u64 = 100;

/// Whether the bytes begin like a packaged module.
pub fn is_wgsl(bytes: &[u8]) -> bool {
    bytes.starts_with(WGSL_MARK)
}

/// The compute shader `text` as a module for WebGPU, which asks for nothing that is optional there. `constants` are values of
/// `override` declarations by name, as [`wgsl_to_spirv`] takes them; they become the defaults.
///
/// # Errors
/// What naga says, as text with the line and a caret below it; a constant that its type does not hold.
pub fn wgsl_for_webgpu((path, text): (&str, &str), constants: &[(String, f64)]) -> Result<Vec<u8>, String> {
    let (module, _) = parsed((path, text), Capabilities::empty())?;
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (handle, declared) in module.overrides.iter() {
        let name = declared.name.as_deref().unwrap_or_default();
        let Some((_, value)) = constants.iter().find(|(constant, _)| constant == name) else { continue };
        let place = module.overrides.get_span(handle).to_range();
        let place = place.ok_or_else(|| format!("{path}: `{name}` is declared nowhere"))?;
        let (ty, value) = literal(&module.types[declared.ty].inner, *value)
            .ok_or_else(|| format!("{path}: `{name}` cannot be {value:?}"))?;
        edits.push((place, format!("override {name}: {ty} = {value};")));
    }
    edits.sort_by_key(|(place, _)| place.start);
    let mut made = String::from_utf8_lossy(WGSL_MARK).into_owned();
    let mut from = 0;
    for (place, declaration) in edits {
        made.push_str(text.get(from..place.start).ok_or_else(|| format!("{path}: declarations overlap"))?);
        made.push_str(&declaration);
        from = place.end;
    }
    made.push_str(&text[from..]);
    // Read back: it must be what a shader for Vulkan would be made of.
    let meant = read(&wgsl_to_spirv((path, text), READ_AS, constants, Contraction::Allowed)?)?;
    let (module, info) = parsed((path, &made), Capabilities::empty())?;
    let found = read(&written(path, &module, &info, READ_AS, &[], Contraction::Allowed)?)?;
    if meant != found || made.len() > LARGEST_WGSL {
        return Err(format!(
            "{path}: with its constants filled in, it is another shader, or longer than {LARGEST_WGSL} bytes"
        ));
    }
    Ok(made.into_bytes())
}

fn read(module: &[u8]) -> Result<SpirvModule, String> {
    spirv(module).map_err(|error| error.to_string())
}

/// A type in WGSL and a value of it.
fn literal(ty: &TypeInner, value: f64) -> Option<(&'static str, String)> {
    let TypeInner::Scalar(scalar) = ty else { return None };
    let whole =
        |low: f64, high: f64| (value.fract() == 0.0 && (low..=high).contains(&value)).then(|| format!("{value:.0}"));
    match (scalar.kind, scalar.width) {
        (ScalarKind::Bool, _) => Some(("bool", (value != 0.0).to_string())),
        (ScalarKind::Sint, 4) => Some(("i32", whole(i32::MIN.into(), i32::MAX.into())?)),
        (ScalarKind::Uint, 4) => Some(("u32", whole(0.0, u32::MAX.into())?)),
        #[expect(clippy::cast_possible_truncation, reason = "the constant is of this type")]
        (ScalarKind::Float, 4) => Some(("f32", format!("{:?}", value as f32))).filter(|_| (value as f32).is_finite()),
        _ => None,
    }
}

/// Reads a packaged module. What it asks of a device beyond WebGPU is read as well, so that it can be named.
///
/// # Errors
/// Not UTF-8, longer than any shader, or what naga says of it.
pub(in crate::gpu) fn webgpu_within(bytes: &[u8], budget: &Budget) -> Result<SpirvModule, CodeError> {
    let stopped = || CodeError::stopped(budget, || CodeError::damaged("a shader in WGSL that is too long"));
    if bytes.len() > LARGEST_WGSL {
        return Err(CodeError::Unsupported("a shader in WGSL of more than a mebibyte"));
    }
    budget.work(bytes.len() as u64 * STEPS).ok_or_else(stopped)?;
    let text = std::str::from_utf8(bytes).map_err(|_| CodeError::damaged("WGSL that is not UTF-8"))?;
    let first = |said: String| said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
    let said = |said: String| CodeError::damaged(format!("WGSL that naga does not take: {}", first(said)));
    let (module, info) = parsed(("module", text), EXTENSIONS).map_err(said)?;
    let words = written("module", &module, &info, READ_AS, &[], Contraction::Allowed).map_err(said)?;
    spirv_within(&words, budget)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{ShaderNeeds, SpirvResource};

    const TEXT: &str = "
        struct Cell { v: i32, @align(16) spikes: u32 }
        @group(0) @binding(1) var<storage, read_write> cells: array<Cell, 6>;
        // The host's own comment.
        @id(7) override scale: f32;
        override FIXED = false;
        override WIDTH: u32 = 32;
        var<workgroup> sums: array<u32, 64>;
        @compute @workgroup_size(WIDTH) fn main(@builtin(global_invocation_id) at: vec3<u32>) {
            sums[0] = u32(scale);
            if FIXED { cells[at.x].v += i32(WIDTH); }
        }";

    fn constants(list: &[(&str, f64)]) -> Vec<(String, f64)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn constants_of_a_variant_are_filled_in_and_all_else_is_the_source() {
        let given = constants(&[("scale", 0.1), ("FIXED", 1.0), ("WIDTH", 64.0), ("OTHER", 3.0)]);
        let made = String::from_utf8(wgsl_for_webgpu(("a.wgsl", TEXT), &given).unwrap()).unwrap();
        let expected = TEXT
            .replace("override scale: f32;", "override scale: f32 = 0.1;")
            .replace("override FIXED = false;", "override FIXED: bool = true;")
            .replace("WIDTH: u32 = 32", "WIDTH: u32 = 64");
        assert_eq!(made, String::from_utf8_lossy(WGSL_MARK) + expected.as_str());
        assert!(is_wgsl(made.as_bytes()));
        let module = webgpu_within(made.as_bytes(), &Budget::of(made.as_bytes())).unwrap();
        let needs = ShaderNeeds::of(&module);
        assert_eq!((needs.work_group_size, needs.shared_memory, needs.storage_buffers), ([64, 1, 1], 256, 1));
        let [cells] = module.bindings.as_slice() else { panic!("{module:?}") };
        assert_eq!((cells.binding, cells.resource), (1, SpirvResource::StorageBuffer));
        assert_eq!(needs.storage_buffer_range, 6 * 32);
    }

    #[test]
    fn what_webgpu_does_not_have_is_refused_with_its_line() {
        let said =
            |text: &str, given: &[(&str, f64)]| wgsl_for_webgpu(("a.wgsl", text), &constants(given)).unwrap_err();
        let immediate = "var<immediate> n: u32;\n@compute @workgroup_size(1) fn main() { _ = n; }";
        let wide = "@group(0) @binding(0) var<storage, read_write> n: i64;\n@compute @workgroup_size(1) fn main() { n += 1li; }";
        for (text, what) in [(immediate, "a.wgsl:1"), (wide, "SHADER_INT64")] {
            let for_vulkan = wgsl_to_spirv(("a.wgsl", text), (1, 3), &[], Contraction::Allowed);
            assert!(for_vulkan.is_ok(), "Vulkan takes it: {text}");
            assert!(said(text, &[]).contains(what), "{}", said(text, &[]));
        }
        assert!(
            said(TEXT, &[]).ends_with("identifier string: '7'"),
            "what has a number goes by it: {}",
            said(TEXT, &[])
        );
        assert_eq!(said(TEXT, &[("scale", 1.0), ("WIDTH", 0.5)]), "a.wgsl: `WIDTH` cannot be 0.5");
        assert_eq!(said(TEXT, &[("scale", 1e300)]), "a.wgsl: `scale` cannot be 1e300");
    }

    #[test]
    fn a_module_of_others_is_read_with_what_it_asks_beyond_webgpu() {
        let wide = "@group(0) @binding(0) var<storage, read_write> n: i64;\n@compute @workgroup_size(1) fn main() { n += 1li; }";
        let bytes = [WGSL_MARK, wide.as_bytes()].concat();
        let module = webgpu_within(&bytes, &Budget::of(&bytes)).unwrap();
        assert!(module.capabilities.contains(&"Int64".to_owned()));
        for (broken, why) in
            [(&b"fn"[..], "naga does not take"), (b"\xff", "not UTF-8"), (&[b' '; LARGEST_WGSL], "mebibyte")]
        {
            let bytes = [WGSL_MARK, broken].concat();
            let said = webgpu_within(&bytes, &Budget::of(&bytes)).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
        let deep = [WGSL_MARK, "(".repeat(100_000).as_bytes()].concat();
        let deep = [b"".as_slice(), &deep[..WGSL_MARK.len()], b"const a = ", &deep[WGSL_MARK.len()..]].concat();
        webgpu_within(&deep, &Budget::of(&deep)).unwrap_err();
    }
}
