//! PTX text: version, target, and the kernels with the layout of their parameters.

use serde::{Deserialize, Serialize};

use super::cubin::KERNEL_COST;
use super::{CodeError, KernelSignature, Param};
use crate::arch::Capability;
use crate::budget::Budget;

/// What a PTX module says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PtxModule {
    /// `.version`: major and minor of the instruction set.
    pub version: (u16, u16),
    /// `.target`: the virtual architecture.
    pub target: Capability,
    /// `.address_size` in bits; 32 where nothing is said (PTX ISA, "Module directives").
    pub address_size: u32,
    /// `.target` says `debug`.
    pub debug: bool,
    /// Programs that made it, from the comment at its head: `cicc 13.0, V13.0.88`.
    pub compilers: Vec<String>,
    /// Kernels with a body, sorted by name.
    pub kernels: Vec<PtxKernel>,
}

/// A kernel of a PTX module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PtxKernel {
    /// Name and parameters.
    pub signature: KernelSignature,
    /// `.maxntid` or `.reqntid`: most threads of a block in x, y, z.
    pub max_threads: Option<[u32; 3]>,
}

/// Whether the bytes look like PTX: the first directive is `.version` (PTX ISA, "Module directives").
pub fn is_ptx(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(..bytes.len().min(1 << 16)).unwrap_or_default().trim_ascii_start();
    // Other text has comments at its head, too: they are skipped as bytes.
    loop {
        let end: &[u8] = match rest {
            [b'/', b'/', ..] => b"\n",
            [b'/', b'*', ..] => b"*/",
            _ => break,
        };
        let Some(at) = rest.windows(end.len()).skip(2).position(|window| window == end) else { return false };
        rest = rest[at + 2 + end.len()..].trim_ascii_start();
    }
    let after = rest.strip_prefix(b".version").and_then(<[u8]>::first);
    after.is_some_and(|byte| byte.is_ascii_whitespace())
}

/// Reads a PTX module. A closing NUL, as in fatbins, is allowed.
///
/// # Errors
/// No version or target, or a kernel whose parameters cannot be understood.
pub fn ptx(bytes: &[u8]) -> Result<PtxModule, CodeError> {
    ptx_within(bytes, &Budget::of(bytes))
}

/// As [`ptx`], within a budget that others share.
pub(super) fn ptx_within(bytes: &[u8], budget: &Budget) -> Result<PtxModule, CodeError> {
    let bytes = &bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())];
    let text = String::from_utf8_lossy(bytes);
    let mut tokens = Tokens::new(&text);
    let mut version = None;
    let mut target = None;
    let mut module = PtxModule {
        version: (0, 0),
        target: Capability::new(0, 0),
        address_size: 32,
        debug: false,
        compilers: compilers(&text, budget),
        kernels: Vec::new(),
    };
    while let Some(token) = tokens.next() {
        match token {
            "{" => tokens.skip_block(),
            ".version" => version = tokens.next().and_then(parse_version),
            ".target" => (target, module.debug) = read_target(&mut tokens),
            ".address_size" => {
                module.address_size = tokens.next().and_then(|size| size.parse().ok()).unwrap_or(0);
            }
            ".entry" => module.kernels.extend(read_entry(&mut tokens, module.address_size, budget)?),
            _ => {}
        }
    }
    module.version = version.ok_or_else(|| CodeError::damaged("PTX without a version"))?;
    module.target = target.ok_or_else(|| CodeError::damaged("PTX without a target"))?;
    module.kernels.sort();
    budget.finish()?;
    Ok(module)
}

/// The comment that NVIDIA's compiler (cicc, and NVRTC with it inside) writes before the first directive.
fn compilers(text: &str, budget: &Budget) -> Vec<String> {
    let head = text.split(".version").next().unwrap_or_default();
    if !head.contains("NVVM Compiler") {
        return Vec::new();
    }
    let releases = head.lines().filter_map(|line| Some(line.split_once("release ")?.1.trim()));
    let kept = |release: &str| budget.keep_text(64 + release.len()).map(|()| format!("cicc {release}"));
    releases.map_while(kept).collect()
}

fn parse_version(token: &str) -> Option<(u16, u16)> {
    let (major, minor) = token.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// `.target sm_90a, debug`: a list that ends with the line's next directive.
fn read_target(tokens: &mut Tokens<'_>) -> (Option<Capability>, bool) {
    let mut target = None;
    let mut debug = false;
    loop {
        match tokens.next() {
            Some("debug") => debug = true,
            Some(token) => target = target.or_else(|| Capability::from_arch(token)),
            None => return (target, debug),
        }
        if tokens.peek() != Some(",") {
            return (target, debug);
        }
        tokens.next();
    }
}

/// Behind `.entry`: name, parameters, directives, then `;` (a declaration) or the body.
fn read_entry(tokens: &mut Tokens<'_>, address_size: u32, budget: &Budget) -> Result<Option<PtxKernel>, CodeError> {
    let cut = || CodeError::damaged("PTX that ends inside a kernel's head");
    let name = tokens.next().ok_or_else(cut)?.to_owned();
    budget.keep_text(KERNEL_COST + 2 * name.len()).ok_or_else(|| CodeError::stopped(budget, cut))?;
    let mut params = Vec::new();
    if tokens.peek() == Some("(") {
        tokens.next();
        let mut end = 0u32;
        while tokens.peek() != Some(")") {
            let (size, align) = read_param(tokens, address_size)
                .ok_or_else(|| CodeError::damaged(format!("PTX kernel {name}: a parameter cannot be understood")))?;
            let overflow = || CodeError::damaged(format!("PTX kernel {name}: impossible parameters"));
            let offset = end.checked_next_multiple_of(align).ok_or_else(overflow)?;
            end = offset.checked_add(size).ok_or_else(overflow)?;
            budget.keep(32).ok_or_else(|| CodeError::stopped(budget, cut))?;
            params.push(Param { offset, size });
            match tokens.peek() {
                Some(",") => drop(tokens.next()),
                Some(")") => {}
                _ => return Err(cut()),
            }
        }
        tokens.next();
    }
    let mut max_threads = None;
    loop {
        match tokens.peek() {
            Some("{") => break,
            Some(";") => return Ok(None),
            Some(".maxntid" | ".reqntid") => {
                tokens.next();
                max_threads = Some(read_extent(tokens));
            }
            Some(_) => drop(tokens.next()),
            None => return Err(cut()),
        }
    }
    Ok(Some(PtxKernel { signature: KernelSignature::new(name, params), max_threads }))
}

/// `256, 1, 1`; what is not said is 1.
fn read_extent(tokens: &mut Tokens<'_>) -> [u32; 3] {
    let mut extent = [1; 3];
    for (index, size) in extent.iter_mut().enumerate() {
        if index > 0 {
            if tokens.peek() != Some(",") {
                break;
            }
            tokens.next();
        }
        *size = tokens.next().and_then(|token| token.parse().ok()).unwrap_or(1);
    }
    extent
}

/// One parameter: `.param .align 16 .b8 name[16]`, `.param .u64 .ptr .global .align 4 name`. Gives size
/// and alignment: that of the type, unless `.align` before the name of an array says more. The `.align`
/// behind `.ptr` is that of what is pointed to (PTX ISA, "Kernel Parameter Attribute: .ptr").
fn read_param(tokens: &mut Tokens<'_>, address_size: u32) -> Option<(u32, u32)> {
    if tokens.next()? != ".param" {
        return None;
    }
    let mut scalar = None;
    let mut align = None;
    let mut pointer = false;
    loop {
        match tokens.next()? {
            ".align" => {
                let value: u32 = tokens.next()?.parse().ok()?;
                if !pointer && value.is_power_of_two() {
                    align = Some(value);
                }
            }
            ".ptr" => pointer = true,
            token if token.starts_with('.') => scalar = scalar.or_else(|| scalar_size(token, address_size)),
            _ => break,
        }
    }
    let scalar = scalar?;
    let mut size = scalar;
    while tokens.peek() == Some("[") {
        tokens.next();
        let count: u32 = tokens.next()?.parse().ok()?;
        size = size.checked_mul(count)?;
        if tokens.next()? != "]" {
            return None;
        }
    }
    Some((size, align.unwrap_or(1).max(scalar)))
}

/// Bytes of a fundamental type; opaque handles are as wide as an address.
fn scalar_size(token: &str, address_size: u32) -> Option<u32> {
    Some(match token {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" | ".tf32" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" | ".f32x2" => 8,
        ".b128" => 16,
        ".texref" | ".samplerref" | ".surfref" => address_size / 8,
        _ => return None,
    })
}

/// Words and single punctuation marks, without comments and quoted strings.
struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Tokens<'t> {
    fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    fn peek(&self) -> Option<&'t str> {
        Tokens { rest: self.rest }.next()
    }

    fn next(&mut self) -> Option<&'t str> {
        loop {
            self.rest = self.rest.trim_start();
            if let Some(comment) = self.rest.strip_prefix("//") {
                self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
            } else if let Some(text) = self.rest.strip_prefix('"') {
                self.rest = after_quote(text);
            } else {
                break;
            }
        }
        let first = self.rest.chars().next()?;
        let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '%' | '.' | '@');
        let end = if word(first) { self.rest.find(|c| !word(c)).unwrap_or(self.rest.len()) } else { first.len_utf8() };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(token)
    }

    /// Behind an opening brace: to what follows the one that closes it. Nearly all of a module is bodies, so they are
    /// not read word by word.
    fn skip_block(&mut self) {
        let bytes = self.rest.as_bytes();
        let end = bytes.len();
        let sign = |at: usize| memchr::memchr3(b'{', b'}', b'"', &bytes[at..]).map_or(end, |found| at + found);
        let slash = |at: usize| memchr::memchr(b'/', &bytes[at..]).map_or(end, |found| at + found);
        let (mut next_sign, mut next_slash) = (sign(0), slash(0));
        let mut depth = 1usize;
        while next_sign.min(next_slash) < end {
            let at = if next_slash < next_sign {
                let comment = &self.rest[next_slash + 1..];
                let rest = match comment.as_bytes().first() {
                    Some(b'/') => comment.split_once('\n').map_or("", |(_, rest)| rest),
                    Some(b'*') => comment[1..].split_once("*/").map_or("", |(_, rest)| rest),
                    _ => comment,
                };
                end - rest.len()
            } else {
                match bytes[next_sign] {
                    b'{' => depth += 1,
                    b'}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    self.rest = &self.rest[next_sign + 1..];
                    return;
                }
                match bytes[next_sign] {
                    b'"' => end - after_quote(&self.rest[next_sign + 1..]).len(),
                    _ => next_sign + 1,
                }
            };
            next_sign = if next_sign < at { sign(at) } else { next_sign };
            next_slash = if next_slash < at { slash(at) } else { next_slash };
        }
        self.rest = "";
    }
}

fn after_quote(text: &str) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return &text[at + 1..],
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = r#"
//
// Generated by NVIDIA NVVM Compiler: .entry not_me(
// Cuda compilation tools, release 13.0, V13.0.88
/* .entry nor_me( */
.version 8.7
.target sm_90a, debug
.address_size 64
	.file	1 "a \" .entry nor_me(.cu"
.visible .entry declared(.param .u64 p);
.visible .entry _Z5mixed(
	.param .u32 a,
	.param .f64 b,
	.param .u8 c,
	.param .u16 d,
	.param .align 4 .b8 e[12],
	.param .align 16 .b8 f[16],
	.param .u64 .ptr .global .align 1 g,
	.param .u8 h,
	.param .b32 i[3]
)
.maxntid 256, 2
{
	.reg .b32 %r<3>;
	{ ret; }
}
.weak .entry none()
.reqntid 32, 1, 1
{ ret; }
.entry bare { ret; }
"#;

    #[test]
    fn kernels_and_their_layouts() {
        assert!(is_ptx(MODULE.as_bytes()));
        let module = ptx(MODULE.as_bytes()).unwrap();
        assert_eq!((module.version, module.address_size, module.debug), ((8, 7), 64, true));
        assert_eq!(module.target.to_string(), "9.0a");
        assert_eq!(module.compilers, ["cicc 13.0, V13.0.88"]);
        let names: Vec<&str> = module.kernels.iter().map(|kernel| &*kernel.signature.name).collect();
        assert_eq!(names, ["_Z5mixed", "bare", "none"]);
        let layout: Vec<(u32, u32)> =
            module.kernels[0].signature.params.iter().map(|param| (param.offset, param.size)).collect();
        assert_eq!(layout, [(0, 4), (8, 8), (16, 1), (18, 2), (20, 12), (32, 16), (48, 8), (56, 1), (60, 12)]);
        assert_eq!(module.kernels[0].max_threads, Some([256, 2, 1]));
        assert_eq!(module.kernels[2].max_threads, Some([32, 1, 1]));
    }

    /// What stands in a body is skipped without being read: comments and texts in it may hold braces.
    #[test]
    fn bodies_end_at_their_own_brace() {
        for body in [
            "}",
            " ret; }",
            "{ { } ld.v2 {%f1, %f2}; } }",
            "// }\n }",
            "/* } */ }",
            "/* } \" */ \"}\" }",
            "\"a \\\" } \" }",
            "a / b; // \"\n{ /* */ } }",
            "/}",
            "/* x **/ // {\n } ",
            "\"\\\\\" }",
        ] {
            let module = ptx(format!(".version 8.0\n.target sm_90\n.entry a() {{{body} .entry b {{ }}").as_bytes());
            let names: Vec<String> = module.unwrap().kernels.into_iter().map(|it| it.signature.name).collect();
            assert_eq!(names, ["a", "b"], "{body}");
        }
        for endless in ["", "{ }", "// }", "/* }", "\" }", "/* } *", "/"] {
            let module = ptx(format!(".version 8.0\n.target sm_90\n.entry a() {{{endless}").as_bytes());
            assert_eq!(module.unwrap().kernels.len(), 1, "{endless}");
        }
    }

    #[test]
    fn what_is_not_ptx() {
        assert!(!is_ptx(b"// nothing\n"));
        assert!(!is_ptx(b"version 8.0"));
        assert!(ptx(b".version 8.0").is_err());
        assert!(ptx(b".version 8.0 .target sm_90 .entry k(.param .u77 x) {}").is_err());
        assert!(ptx(b".version 8.0 .target sm_90 .entry k(.param .b8 x[4294967295], .param .b8 y[9]) {}").is_err());
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "[.a-z0-9_,(){}\\[\\]\"/* \n]{0,300}", cut in 0usize..2000) {
            let _ = ptx(text.as_bytes());
            let whole = format!(".version 8.0\n.target sm_90\n.entry k(.param {text}) {{ {text} }}");
            let _ = ptx(whole.as_bytes());
            let _ = ptx(&MODULE.as_bytes()[..cut.min(MODULE.len())]);
        }
    }
}
