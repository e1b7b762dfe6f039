//! How files were linked and installed.

use std::fmt::Write;

use super::fixture::{Tree, context, denies, passes, report, said};
use crate::arch::GlibcVersion;
use crate::data::Data;
use crate::lint::Settings;
use crate::recipe::ComponentKind;
use crate::report::Level;
use crate::verify::{VerifyContext, verify};

fn plugin(source: &str, flags: &[&str]) -> Tree {
    Tree::core().compiled("lib/volley/p.so", source, &[&["-shared", "-fPIC"], flags].concat())
}

/// Findings with the ceiling of a recipe that compiles for glibc `minor`.
fn at_glibc(tree: Tree, minor: u32) -> Vec<String> {
    let mut context = VerifyContext::load(&Data::at("no such directory")).unwrap();
    context.rules.glibc_ceiling = Some(GlibcVersion::new(2, minor));
    let report = report(&[&tree.seal()], &context);
    let mut all = said(&report);
    for finding in &report.findings {
        all.extend(finding.evidence.iter().cloned());
    }
    all
}

/// A library that needs versions of another, which a stub of that name defines.
fn versioned(library: &str, node: &str, symbol: &str) -> Tree {
    let work = tempfile::tempdir().unwrap();
    let map = work.path().join("map");
    std::fs::write(&map, format!("{node} {{ global: {symbol}; }};")).unwrap();
    let flags = [format!("-Wl,-soname,{library}"), format!("-Wl,--version-script={}", map.display())];
    let flags = ["-shared", "-fPIC", "-nostdlib", &flags[0], &flags[1]];
    let stub = crate::elf_fixture::compile(work.path(), library, &format!("void {symbol}(void) {{}}"), &flags);
    let source = format!("void {symbol}(void); void go(void) {{ {symbol}(); }}");
    plugin(&source, &["-nostdlib", stub.to_str().unwrap()])
}

#[test]
fn runtimes_are_as_old_as_the_machines() {
    let symbol = "_ZSt28__throw_bad_array_new_lengthv";
    let new = || versioned("libstdc++.so.6", "GLIBCXX_3.4.29", symbol);
    assert_eq!(
        at_glibc(new(), 28),
        [
            "runtime-ceiling | volley-core: lib/volley/p.so | \
             needs GLIBCXX_3.4.29 of libstdc++.so.6; machines of manylinux_2_28 have 3.4.24",
            "because of std::__throw_bad_array_new_length()@GLIBCXX_3.4.29",
        ]
    );
    // Between two levels the lower one counts, and a newer library may come from a package.
    assert_eq!(at_glibc(new(), 33).len(), 2);
    assert_eq!(at_glibc(new(), 34), [""; 0]);
    assert_eq!(at_glibc(new().uses("libstdcxx >=13"), 28), [""; 0]);
    let of_gcc = at_glibc(versioned("libgcc_s.so.1", "GCC_12.0.0", "__truncxfbf2"), 28);
    assert!(of_gcc[0].contains("needs GCC_12.0.0 of libgcc_s.so.1"), "{of_gcc:?}");
    let abi = at_glibc(versioned("libstdc++.so.6", "CXXABI_1.3.13", "__cxa_call_terminate"), 28);
    assert!(abi[0].contains("needs CXXABI_1.3.13"), "{abi:?}");
    // Other libraries may name their versions alike.
    assert_eq!(at_glibc(versioned("libother.so.1", "OTHER_99", "other").uses("other >=1"), 28), [""; 0]);
}

#[test]
fn protections_of_the_linker() {
    let report = report(&[&plugin("int a;", &["-Wl,-z,norelro"]).seal()], &context());
    assert_eq!(
        said(&report),
        ["relro-missing | volley-core: lib/volley/p.so | keeps its relocated data writable (no PT_GNU_RELRO)"]
    );
    assert_eq!(report.findings[0].level, Level::Warn);
    passes(&[&plugin("int a;", &["-Wl,-z,relro"]).seal()]);
    let strict = |flag: &str| {
        let sealed = plugin("int a;", &[flag]).seal();
        let settings = Settings::default().level("lazy-binding", Level::Deny);
        said(&verify(std::slice::from_ref(&sealed.bundle), &context(), &settings))
    };
    assert_eq!(
        strict("-Wl,-z,lazy"),
        ["lazy-binding | volley-core: lib/volley/p.so | \
          binds functions at their first call (neither DF_BIND_NOW nor DF_1_NOW)"]
    );
    assert_eq!(strict("-Wl,-z,now"), [""; 0]);
}

#[test]
fn rights_and_links() {
    denies(
        &[&Tree::core().file("share/a", "a").mode("share/a", 0o666).seal()],
        &["file-rights | volley-core: share/a | may be written by everybody (mode 0666)"],
    );
    denies(
        &[&Tree::core().file("bin/a", "a").mode("bin/a", 0o4755).seal()],
        &["file-rights | volley-core: bin/a | runs with the rights of its user (mode 4755)"],
    );
    passes(&[&Tree::core().file("share/a", "a").mode("share/a", 0o664).seal()]);
    denies(
        &[&Tree::core().link("lib/a", "/usr/lib/a").link("lib/b", "../../b").seal()],
        &[
            "link-escapes | volley-core: lib/a | leads to /usr/lib/a, a place of the machine",
            "link-escapes | volley-core: lib/b | leads to ../../b, out of the prefix",
        ],
    );
    passes(&[&Tree::core().file("bin/a", "a").link("lib/a", "../bin/a").seal()]);
}

#[test]
fn two_kinds_of_strings() {
    // The names that g++ gives to `void take(std::string)`, with either ABI.
    /// Of a library that is linked with libstdc++'s static archive.
    const STATIC: &str = "_ZN9__gnu_cxxeqIPKcSsEEbRKNS_17__normal_iteratorIT_T0_EESA_";
    let (new, old) = ("_Z4takeNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "_Z4giveSs");
    let library = |component, name: &str, symbol: &str| {
        let source = format!("void {symbol}(void) {{}} int {name};");
        let place = format!("lib/volley/{name}.so");
        Tree::new(component, name).compiled(&place, &source, &["-shared", "-fPIC"]).seal()
    };
    let core = |symbol| library(ComponentKind::Core, "core", symbol);
    let rtc = |symbol| library(ComponentKind::Rtc, "rtc", symbol);
    let found = said(&report(&[&core(new), &rtc(old)], &context()));
    let wanted = "cxx11-abi-mixed | volley-rtc: lib/volley/rtc.so | \
                  has functions over the old std::string, and volley-core: lib/volley/core.so over the new one";
    assert_eq!(found, [wanted]);
    for symbol in [new, "_Z7ClassSsv", "SsSs", "_ZNSs6appendEPKc", "_ZGTtNSt11logic_errorC1ERKSs", STATIC] {
        passes(&[&core(new), &rtc(symbol)]);
    }
    passes(&[&core(old), &rtc("_Z4moreSs")]);
}

#[test]
fn two_cuda_runtimes() {
    // What nvcc makes of the sections is enough: who registers the device code decides.
    let mut device = String::new();
    let _ = write!(device, "__attribute__((section(\".nvFatBinSegment\"))) const long wrapper[3] = {{1}};");
    let registers = format!(
        "{device} void *__cudaRegisterFatBinary(void *); void *f(void) {{ return __cudaRegisterFatBinary(0); }}"
    );
    let work = tempfile::tempdir().unwrap();
    let flags = ["-shared", "-fPIC", "-Wl,-soname,libcudart.so.13"];
    let runtime = crate::elf_fixture::compile(
        work.path(),
        "libcudart.so.13",
        "void *__cudaRegisterFatBinary(void *x) { return x; }",
        &flags,
    );
    let tree = |source: &str, flags: &[&str]| {
        let all = [&["-shared", "-fPIC", "-Wl,--no-as-needed"], flags].concat();
        let tree = Tree::new(ComponentKind::Rtc, "rtc").uses("cuda-cudart >=13.0,<14");
        tree.compiled("lib/volley/one.so", &registers, &[&all[..], &[runtime.to_str().unwrap()]].concat())
            .compiled("lib/volley/two.so", source, &all)
            .seal()
    };
    let opens =
        format!("{device} void *dlopen(const char *, int); void *g(void) {{ return dlopen(\"libcuda.so.1\", 1); }}");
    let cudart = |sealed| {
        let all = said(&report(&[&sealed], &context()));
        all.into_iter().filter(|line| line.starts_with("cudart-mixed")).collect::<Vec<_>>()
    };
    assert_eq!(
        cudart(tree(&opens, &[])),
        ["cudart-mixed | volley-rtc: lib/volley/two.so | \
          holds a CUDA runtime of its own, and volley-rtc: lib/volley/one.so uses the shared one"]
    );
    assert_eq!(cudart(tree(&registers, &[runtime.to_str().unwrap()])), [""; 0]);
    assert_eq!(cudart(tree("int a;", &[])), [""; 0]);
    // Device code that nobody registers: no runtime is inside.
    assert_eq!(cudart(tree(&device, &[])), [""; 0]);
}
