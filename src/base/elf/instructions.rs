//! The instructions of host code, against the levels of the x86-64 psABI.
//!
//! Sections with code are decoded from one symbol to the next. Data between functions looks like rare instructions
//! now and then: a run of instructions that ends in something no program executes is taken for data and not counted.
//! What is counted says that the instruction stands there, not that it is reached; libraries that choose by the
//! processor hold instructions of every level, so it is also said whether the file asks the processor at all.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use iced_x86::{Code, CpuidFeature, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use object::elf;

use super::{Dynamic, ElfError, Facts, Image, SymbolTable};
use crate::budget::Budget;

/// What an instruction asks of the processor beyond plain x86-64.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// A level of the psABI, 2 to 4.
    Level(u32),
    /// An extension that is in no level: `AES`, `AVX512_VNNI`.
    Extension(String),
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level(level) => write!(f, "x86-64-v{level}"),
            Self::Extension(name) => f.write_str(name),
        }
    }
}

/// Where a need comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Use {
    /// Instructions.
    pub count: u64,
    /// Functions that hold them, by name or as `.text+0x1230` where no symbol says one, each with its first such
    /// instruction: `vpaddd at 0x1240`.
    pub functions: BTreeMap<String, String>,
}

/// What the instructions of one file need.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostCode {
    /// By need; nothing when plain x86-64 is enough.
    pub needs: BTreeMap<Need, Use>,
    /// How the file asks the processor what it can, if it does: `cpuid in init`, `imports __cpu_model`.
    pub asks: Option<String>,
}

/// Functions and variables by which libraries learn what the processor can (GCC manual, `__builtin_cpu_supports`;
/// getauxval(3); glibc manual, `sys/platform/x86.h`).
const ASKED: [&str; 5] =
    ["__cpu_model", "__cpu_indicator_init", "__x86_get_cpuid_feature_leaf", "__x86_get_cpu_features", "getauxval"];

/// What the instructions of an x86-64 file need; `None` for other processors, which this does not read.
///
/// # Errors
/// Its sections of code lie in each other so often, or its names are so long, that this would take more than a file of
/// its size is worth.
pub fn host_code(image: &Image<'_>, facts: &Facts) -> Result<Option<HostCode>, ElfError> {
    if image.header.machine != elf::EM_X86_64 {
        return Ok(None);
    }
    let budget = &image.budget;
    let mut scan = Scan { code: HostCode::default(), pending: Vec::new(), budget };
    let import = facts.imports.iter().find(|import| ASKED.contains(&import.name.as_str()));
    let resolved = facts.exports.iter().find(|export| export.kind == "ifunc");
    scan.code.asks = import
        .map(|import| format!("imports {}", import.name))
        .or_else(|| resolved.map(|export| format!("chooses {} when it is loaded", export.name)));
    let names = Names::of(image);
    for area in areas(image) {
        // An instruction may be a byte, and takes about 30 steps where it needs something.
        let steps = (area.bytes.len() as u64).saturating_mul(30);
        if image.budget.work(steps).is_none() {
            break;
        }
        scan.area(&area, &names);
    }
    image.spent()?;
    Ok(Some(scan.code))
}

/// A piece of the file that holds code.
struct Area<'a> {
    /// Index of its section; 0 for a segment of a file without sections.
    section: u16,
    name: String,
    address: u64,
    bytes: &'a [u8],
}

fn areas<'a>(image: &Image<'a>) -> Vec<Area<'a>> {
    let code = image.sections.iter().enumerate().filter(|(_, section)| section.flags.0 & elf::SHF_EXECINSTR.0 != 0);
    let sections: Vec<Area<'a>> = code
        .filter_map(|(index, section)| {
            let (section_index, bytes) = (u16::try_from(index).ok()?, image.section_bytes(section)?);
            Some(Area { section: section_index, name: section.name.clone(), address: section.address, bytes })
        })
        .collect();
    if !image.sections.is_empty() {
        return sections;
    }
    let segments = image.loads().filter(|segment| segment.flags.0 & elf::PF_X.0 != 0);
    segments
        .filter_map(|segment| {
            let bytes = image.segment_bytes(segment)?;
            Some(Area { section: 0, name: "code".to_owned(), address: segment.address, bytes })
        })
        .collect()
}

/// Where functions begin: (section, address) to name and end.
struct Names(BTreeMap<(u16, u64), (String, u64)>);

impl Names {
    fn of(image: &Image<'_>) -> Self {
        let dynamic = || {
            let dynamic = Dynamic::parse(image).ok()??;
            SymbolTable::dynamic(image, &dynamic).ok()
        };
        let mut names: BTreeMap<(u16, u64), (String, u64)> = BTreeMap::new();
        let stripped = image.sections.is_empty();
        let table = SymbolTable::full(image).or_else(dynamic);
        for (_, symbol) in table.iter().flat_map(SymbolTable::iter) {
            let is_code = matches!(symbol.kind, elf::STT_FUNC | elf::STT_GNU_IFUNC);
            if is_code && symbol.section != elf::SHN_UNDEF.0 && !symbol.name.is_empty() {
                let section = if stripped { 0 } else { symbol.section };
                let end = symbol.value.saturating_add(symbol.size);
                if image.budget.keep_text(96 + symbol.name.len()).is_none() {
                    break;
                }
                names.entry((section, symbol.value)).or_insert((symbol.name.into_owned(), end));
            }
        }
        Self(names)
    }

    /// Beginnings of functions in an area, with the area's own.
    fn starts(&self, area: &Area<'_>) -> BTreeSet<u64> {
        let end = area.address.saturating_add(area.bytes.len() as u64);
        let inside = self.0.range((area.section, area.address)..(area.section, end));
        inside.map(|((_, at), _)| *at).chain([area.address]).collect()
    }

    /// The stretch of code which begins at `start`.
    fn stretch<'n>(&'n self, area: &'n Area<'_>, start: u64) -> Stretch<'n> {
        Stretch {
            symbol: self.0.get(&(area.section, start)),
            area: &area.name,
            start,
            at: start - area.address,
            ..Stretch::default()
        }
    }
}

/// Code from one beginning of a function to the next.
#[derive(Default)]
struct Stretch<'n> {
    /// The function that begins there: name and end.
    symbol: Option<&'n (String, u64)>,
    start: u64,
    area: &'n str,
    /// Bytes from the beginning of the area.
    at: u64,
    /// The symbol in words, once somebody asked.
    words: OnceCell<String>,
    place: OnceCell<String>,
}

impl Stretch<'_> {
    /// What holds an address of the stretch.
    fn name(&self, address: u64, budget: &Budget) -> &str {
        match self.symbol {
            // Hand-written code often says no size: it goes on to the next symbol.
            Some((name, end)) if address < *end || *end == self.start => self.words.get_or_init(|| {
                let words = budget.work(100 * name.len() as u64).and_then(|()| super::demangled(name));
                words.unwrap_or_else(|| name.clone())
            }),
            _ => self.place.get_or_init(|| format!("{}+{:#x}", self.area, self.at)),
        }
    }
}

/// What was decoded and is not yet known to be code.
struct Pending {
    need: Need,
    address: u64,
    mnemonic: Mnemonic,
}

struct Scan<'b> {
    code: HostCode,
    pending: Vec<Pending>,
    budget: &'b Budget,
}

/// Functions begin at multiples of this: where decoding goes on after data.
const FUNCTION_ALIGNMENT: u64 = 16;

impl Scan<'_> {
    fn area(&mut self, area: &Area<'_>, names: &Names) {
        let starts: Vec<u64> = names.starts(area).into_iter().collect();
        let end = area.address.saturating_add(area.bytes.len() as u64);
        for (index, start) in starts.iter().enumerate() {
            self.stretch(area, &names.stretch(area, *start), starts.get(index + 1).copied().unwrap_or(end));
        }
    }

    /// From one beginning of a function to the next.
    fn stretch(&mut self, area: &Area<'_>, stretch: &Stretch<'_>, end: u64) {
        let mut at = stretch.start;
        let mut instruction = Instruction::default();
        while at < end {
            let Some(bytes) = slice(area, at, end) else { return };
            let mut decoder = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE);
            while decoder.can_decode() {
                decoder.decode_out(&mut instruction);
                if instruction.is_invalid() || instruction.is_privileged() {
                    break;
                }
                self.instruction(stretch, &instruction);
            }
            if !instruction.is_invalid() && !instruction.is_privileged() {
                break;
            }
            // Data: what led into it is no code either, up to the last place where code ends.
            self.pending.clear();
            at = (instruction.ip() / FUNCTION_ALIGNMENT + 1).saturating_mul(FUNCTION_ALIGNMENT);
        }
        self.settle(stretch);
    }

    fn instruction(&mut self, stretch: &Stretch<'_>, instruction: &Instruction) {
        let address = instruction.ip();
        if matches!(instruction.code(), Code::Cpuid) && self.code.asks.is_none() {
            self.code.asks = Some(format!("cpuid in {}", stretch.name(address, self.budget)));
        }
        for need in needs(instruction) {
            self.pending.push(Pending { need, address, mnemonic: instruction.mnemonic() });
        }
        let ends = [FlowControl::Return, FlowControl::UnconditionalBranch, FlowControl::IndirectBranch];
        if ends.contains(&instruction.flow_control()) {
            self.settle(stretch);
        }
    }

    /// Counts what turned out to be code.
    fn settle(&mut self, stretch: &Stretch<'_>) {
        for Pending { need, address, mnemonic } in std::mem::take(&mut self.pending) {
            let found = self.code.needs.entry(need).or_default();
            found.count += 1;
            let name = stretch.name(address, self.budget);
            if !found.functions.contains_key(name) && self.budget.keep_text(192 + name.len()).is_some() {
                let first = format!("{} at {address:#x}", format!("{mnemonic:?}").to_lowercase());
                found.functions.insert(name.to_owned(), first);
            }
        }
    }
}

fn slice<'a>(area: &Area<'a>, from: u64, to: u64) -> Option<&'a [u8]> {
    let place = |address: u64| usize::try_from(address - area.address).ok();
    area.bytes.get(place(from)?..place(to)?)
}

/// What an instruction needs beyond plain x86-64.
fn needs(instruction: &Instruction) -> BTreeSet<Need> {
    // Compilers write `rep bsf` for plain x86-64, too: older processors ignore the prefix (GCC, `-mtune=generic`).
    if instruction.mnemonic() == Mnemonic::Tzcnt {
        return BTreeSet::new();
    }
    instruction.cpuid_features().iter().filter_map(|feature| need(*feature)).collect()
}

/// System V psABI for x86-64, table of micro-architecture levels. What is neither in a level nor here belongs to the
/// system, is in every processor, or does nothing where it is unknown.
fn need(feature: CpuidFeature) -> Option<Need> {
    use CpuidFeature as F;
    Some(match feature {
        F::SSE3 | F::SSSE3 | F::SSE4_1 | F::SSE4_2 | F::POPCNT | F::CMPXCHG16B => Need::Level(2),
        F::AVX | F::AVX2 | F::BMI1 | F::BMI2 | F::F16C | F::FMA | F::LZCNT | F::MOVBE => Need::Level(3),
        F::AVX512F | F::AVX512BW | F::AVX512CD | F::AVX512DQ | F::AVX512VL => Need::Level(4),
        F::ADX
        | F::AES
        | F::AMX_BF16
        | F::AMX_COMPLEX
        | F::AMX_FP16
        | F::AMX_INT8
        | F::AMX_TILE
        | F::AVX512_BF16
        | F::AVX512_BITALG
        | F::AVX512_FP16
        | F::AVX512_IFMA
        | F::AVX512_VBMI
        | F::AVX512_VBMI2
        | F::AVX512_VNNI
        | F::AVX512_VP2INTERSECT
        | F::AVX512_VPOPCNTDQ
        | F::AVX512ER
        | F::AVX512PF
        | F::AVX_IFMA
        | F::AVX_NE_CONVERT
        | F::AVX_VNNI
        | F::AVX_VNNI_INT8
        | F::AVX_VNNI_INT16
        | F::FMA4
        | F::GFNI
        | F::PCLMULQDQ
        | F::RDRAND
        | F::RDSEED
        | F::SHA
        | F::SHA512
        | F::SSE4A
        | F::TBM
        | F::VAES
        | F::VPCLMULQDQ
        | F::XOP => Need::Extension(format!("{feature:?}")),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::{facts, fixture};

    fn code(source: &str, flags: &[&str]) -> HostCode {
        let dir = fixture::dir();
        let file = fixture::compile(dir.path(), "a.so", source, &[&["-shared", "-fPIC", "-O2"], flags].concat());
        let bytes = std::fs::read(file).unwrap();
        host_code(&Image::parse(&bytes).unwrap(), &facts(&bytes).unwrap()).unwrap().unwrap()
    }

    const SUM: &str = "void sum(float *a, const float *b, long n) { for (long i = 0; i < n; i++) a[i] += b[i]; }";

    #[test]
    fn levels_are_seen_in_the_function_that_has_them() {
        assert_eq!(code(SUM, &[]), HostCode::default());
        for (flags, level) in [(["-O3", "-mavx"], 3), (["-O3", "-mavx512f"], 4)] {
            let code = code(SUM, &flags);
            assert_eq!(code.needs.keys().next_back(), Some(&Need::Level(level)), "{flags:?}");
            assert!(code.needs[&Need::Level(level)].functions["sum"].contains(" at 0x"), "{code:?}");
            assert_eq!(code.asks, None);
        }
        let popcount = code("int count(long a) { return __builtin_popcountl(a); }", &["-mpopcnt", "-s"]);
        assert_eq!(popcount.needs[&Need::Level(2)].count, 1);
        let carryless = "#include <wmmintrin.h>\n__m128i f(__m128i a) { return _mm_clmulepi64_si128(a, a, 0); }";
        let extension = Need::Extension("PCLMULQDQ".to_owned());
        assert_eq!(code(carryless, &["-mpclmul"]).needs.keys().collect::<Vec<_>>(), [&extension]);
    }

    #[test]
    fn what_plain_compilers_write_needs_nothing() {
        // `rep bsf`, `rep ret`, `endbr64`, padding.
        let source =
            "int first(unsigned long a) { return __builtin_ctzl(a); } long g(long a) { return a ? first(a) : 7; }";
        assert_eq!(code(source, &["-fcf-protection=full", "-falign-functions=64"]).needs, BTreeMap::new());
    }

    #[test]
    fn a_file_that_asks_the_processor_says_how() {
        let asks =
            "#include <cpuid.h>\nint f(void) { unsigned a, b, c, d; return __get_cpuid(7, &a, &b, &c, &d) ? b : 0; }";
        assert_eq!(code(asks, &[]).asks.as_deref(), Some("cpuid in f"));
        let chosen = "static int one(void) { return 1; } static void *pick(void) { return one; }\n\
                      int f(void) __attribute__((ifunc(\"pick\")));";
        assert_eq!(code(chosen, &[]).asks.as_deref(), Some("chooses f when it is loaded"));
    }

    #[test]
    fn damaged_files_end_the_reading() {
        let dir = fixture::dir();
        let file = fixture::compile(dir.path(), "a.so", SUM, &["-shared", "-fPIC", "-O3", "-mavx2"]);
        let whole = std::fs::read(file).unwrap();
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            usize::try_from(random % below as u64).unwrap()
        };
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..8 {
                // Headers of sections stand at the end, those of segments and symbols at the beginning.
                let near = next(2048);
                let at = if next(2) == 0 { near } else { bytes.len() - 1 - near };
                bytes[at] = [0, 0xff, 0x7f, 0x80][next(4)];
            }
            if let (Ok(image), Ok(facts)) = (Image::parse(&bytes), facts(&bytes)) {
                let _ = host_code(&image, &facts);
            }
        }
    }

    #[test]
    fn data_among_code_is_not_counted() {
        // A constant that reads as `vpaddd` and then as something that no program executes.
        let table = "__asm__(\".text\\n.globl table\\ntable: .byte 0xc5,0xf5,0xfe,0xc0,0xf4,0x06,0x06,0x06\\n\");";
        let source = format!("{table}\nint f(void) {{ return 1; }}");
        assert_eq!(code(&source, &["-s"]).needs, BTreeMap::new());
    }
}
