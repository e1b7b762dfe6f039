//! What is inside libraries, and which libraries are inside.

use std::process::Command;

use super::fixture::{Tree, context, denies, passes, report, said};
use crate::arch::{GlibcVersion, KernelTarget, Platform};
use crate::bundle::{OutsideLibrary, Provider, Versions};
use crate::lint::Settings;
use crate::recipe::{ComponentKind, LintSettings, Waiver};
use crate::report::{Level, Verdict};
use crate::verify::{Staging, verify};

#[test]
fn the_driver_and_its_stubs_stay_outside() {
    let stub = Tree::new(ComponentKind::Rtc, "rtc").library("lib/volley/libcuda.so.1", &[]).seal();
    denies(
        &[&stub],
        &[
            "driver-bundled | volley-rtc: lib/volley/libcuda.so.1 | \
           libcuda.so.1 belongs to the driver: the user-mode driver must match the kernel module of the machine",
            "not-redistributable | volley-rtc: lib/volley/libcuda.so.1 | \
           may not be passed on: CUDA Toolkit EULA, attachment A, NVIDIA CUDA Driver Libraries",
        ],
    );
    // A stub under another name keeps the driver's SONAME.
    let renamed = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"];
    let renamed = Tree::new(ComponentKind::Rtc, "rtc").compiled("lib/volley/gpu.so", "int a;", &renamed).seal();
    denies(
        &[&renamed],
        &[
            "driver-bundled | volley-rtc: lib/volley/gpu.so | \
           libcuda.so.1 belongs to the driver: the user-mode driver must match the kernel module of the machine",
            "not-redistributable | volley-rtc: lib/volley/gpu.so | \
           may not be passed on: CUDA Toolkit EULA, attachment A, NVIDIA CUDA Driver Libraries",
        ],
    );
    passes(&[&Tree::core().library("lib/volley/libcuda_plugin.so", &[]).seal()]);
}

#[test]
fn copies_of_vendor_libraries_are_seen_through_their_names() {
    let copied = "vendor-bundled | volley-rtc: lib/volley/libcudart.so.13 | is a copy of the vendor's libcudart.so.13";
    denies(&[&Tree::new(ComponentKind::Rtc, "rtc").library("lib/volley/libcudart.so.13", &[]).seal()], &[copied]);
    let set = ["-shared", "-fPIC", "-Wl,-soname,libcudart.so.13", "-Wl,-rpath,$ORIGIN:/usr/local/nvidia/lib64"];
    let report = report(
        &[&Tree::new(ComponentKind::Rtc, "rtc").compiled("lib/volley/libcudart.so.13", "int a;", &set).seal()],
        &context(),
    );
    let modified = "vendor-modified | volley-rtc: lib/volley/libcudart.so.13 | \
                    is the vendor's libcudart.so.13, changed: its search path was set";
    assert!(said(&report).iter().any(|line| line == modified), "{:?}", said(&report));
    denies(
        &[&Tree::new(ComponentKind::Rtc, "rtc").library("lib/libcudart-9335f6a2.so.13", &[]).seal()],
        &[
            "vendor-bundled | volley-rtc: lib/libcudart-9335f6a2.so.13 | \
             is a renamed copy of the vendor's libcudart.so.13",
            "vendor-modified | volley-rtc: lib/libcudart-9335f6a2.so.13 | \
             is the vendor's libcudart.so.13, changed: it was renamed",
        ],
    );
    passes(&[&Tree::core().library("lib/volley/libvolley-9335f6a2.so.1", &[]).seal()]);
}

/// What a vendor lets nobody pass on is told with the clause; what it lists, and what only looks alike, is not.
#[test]
fn what_may_not_be_passed_on_is_told_with_its_clause() {
    denies(
        &[&Tree::core().file("bin/ptxas", "x").seal()],
        &["not-redistributable | volley-core: bin/ptxas | \
           may not be passed on: CUDA Toolkit EULA, 1.1.1 and 2.2: attachment A does not list it"],
    );
    passes(&[&Tree::core().file("share/volley/libdevice.10.bc", "x").file("share/volley/ptxas.md", "x").seal()]);
    let mut unknown = Tree::core();
    unknown.manifest.license = Some("LicenseRef-Own".to_owned());
    let report = report(&[&unknown.seal()], &context());
    assert_eq!(said(&report), ["licence-unknown | volley-core | LicenseRef-Own is not known to let it be passed on"]);
    assert!(report.findings.iter().all(|finding| finding.level == Level::Warn));
    let mut open = Tree::core();
    open.manifest.license = Some("LicenseRef-Own OR MIT".to_owned());
    passes(&[&open.seal()]);
}

/// A cut copy of a vendor's library is packed only where a waiver of its own names the permission; one for a copy is not
/// enough.
#[test]
fn changed_vendor_libraries_want_a_permission() {
    let slice = |file: &str| {
        let mut tree = Tree::new(ComponentKind::Kernels, "kernels-cpu").library(file, &[]);
        tree.manifest.platform = Some(Platform::Linux64);
        tree.manifest.target = Some(KernelTarget::Cpu);
        tree.seal()
    };
    let sealed = slice("lib/libcusparse.so.12");
    let with = |waived: &[&str]| {
        let waiver = |id: &&str| Waiver {
            id: (*id).to_owned(),
            subject: "*libcusparse*".to_owned(),
            reason: "agreement 7 of 2026 permits it".to_owned(),
        };
        let waivers = waived.iter().map(waiver).collect();
        let settings = Settings::new(&LintSettings { waivers, ..LintSettings::default() }).unwrap();
        let report = verify(std::slice::from_ref(&sealed.bundle), &context(), &settings);
        report.findings.iter().map(|finding| finding.lint.clone()).collect::<Vec<_>>()
    };
    assert_eq!(with(&[]), ["vendor-bundled", "vendor-modified"]);
    assert_eq!(with(&["vendor-bundled"]), ["vendor-modified"]);
    assert_eq!(with(&["vendor-bundled", "vendor-modified"]), [""; 0]);
    passes(&[&slice("lib/libcusparsely.so.12")]);
}

#[test]
fn core_holds_no_device_code() {
    let section = |name: &str| {
        let source = format!("__attribute__((section(\"{name}\"))) const char data[32] = {{1}};");
        Tree::core().compiled("lib/volley/p.so", &source, &["-shared", "-fPIC"]).seal()
    };
    let found = said(&report(&[&section("__nv_module_id")], &context()));
    assert_eq!(
        found,
        ["core-device-code | volley-core: lib/volley/p.so | core holds a section for device code, __nv_module_id"]
    );
    passes(&[&section("nv_module_ids")]);

    let registers = "void **__cudaRegisterFatBinary(void *); void *f(void) { return __cudaRegisterFatBinary(0); }";
    denies(
        &[&Tree::core().compiled("lib/volley/p.so", registers, &["-shared", "-fPIC"]).seal()],
        &["core-device-code | volley-core: lib/volley/p.so | \
           core registers device code at start: it imports `__cudaRegisterFatBinary`"],
    );
    let alike = "void *cudaRegisterNothing(void *); void *f(void) { return cudaRegisterNothing(0); }";
    passes(&[&Tree::core().compiled("lib/volley/p.so", alike, &["-shared", "-fPIC"]).seal()]);
}

#[test]
fn stacks_and_text() {
    let stack = Tree::core().library("lib/libvolley.so.1", &["-Wl,-z,execstack"]).seal();
    denies(
        &[&stack],
        &["executable-stack | volley-core: lib/libvolley.so.1 | \
           asks for an executable stack (PT_GNU_STACK with execute permission)"],
    );
    let source = "extern int outside; int *where(void) { return &outside; }\
                  __asm__(\".text\\n.globl table\\ntable: .quad outside\\n\");";
    let text = ["-shared", "-fPIC", "-Wl,-z,notext", "-Wl,-z,noexecstack", "-Wl,-soname,libvolley.so.1"];
    denies(
        &[&Tree::core().compiled("lib/libvolley.so.1", source, &text).seal()],
        &["text-relocations | volley-core: lib/libvolley.so.1 | has relocations in read-only memory (DT_TEXTREL)"],
    );
    let data = source.replace(".text", ".data");
    passes(&[&Tree::core().compiled("lib/libvolley.so.1", &data, &text).seal()]);
}

/// A library that needs `symbol` in some glibc version of this system.
fn needs_glibc() -> Tree {
    let source = "#include <math.h>\n#include <stdlib.h>\ndouble f(double x) { return exp(x) + atof(getenv(\"A\")); }";
    Tree::core().compiled("lib/volley/p.so", source, &["-shared", "-fPIC", "-lm"])
}

#[test]
fn glibc_above_the_ceiling_and_above_the_promise() {
    let sealed = needs_glibc().seal();
    let needs = sealed.bundle.manifest.glibc.unwrap();
    passes(&[&sealed]);
    let mut with = context();
    with.rules.glibc_ceiling = Some(needs);
    assert_eq!(said(&report(&[&sealed], &with)), [""; 0], "exactly the ceiling is allowed");
    with.rules.glibc_ceiling = Some(GlibcVersion::new(2, 1));
    let report_above = report(&[&sealed], &with);
    assert_eq!(
        said(&report_above),
        [format!("glibc-ceiling | volley-core: lib/volley/p.so | needs glibc {needs}; the recipe's ceiling is 2.1")]
    );
    assert!(report_above.findings[0].evidence[0].contains(&format!("@GLIBC_{needs}")), "{report_above:?}");

    let mut lying = needs_glibc().seal();
    lying.bundle.manifest.glibc = None;
    denies(
        &[&lying],
        &[&format!("glibc-floor | volley-core: lib/volley/p.so | needs glibc {needs}; its package declares none")],
    );
    lying.bundle.manifest.glibc = Some(GlibcVersion::new(2, 99));
    passes(&[&lying]);
}

#[test]
fn host_code_needs_a_platform() {
    let mut tree = Tree::core().library("lib/libvolley.so.1", &[]);
    tree.manifest.platform = None;
    denies(
        &[&tree.seal()],
        &["noarch-host-code | volley-core: lib/libvolley.so.1 | is host code (x86_64) in a package for every platform"],
    );
    let mut data = Tree::core().file("share/volley/table.txt", "x");
    data.manifest.platform = None;
    passes(&[&data.seal()]);
}

#[test]
fn slim_lto_objects_cannot_be_examined() {
    let archive = |flags: &[&str]| {
        let work = tempfile::tempdir().unwrap();
        let mut all = vec!["-c", "-O2", "-flto"];
        all.extend(flags);
        crate::elf_fixture::compile(work.path(), "a.o", "int answer(void) { return 42; }", &all);
        let path = |name: &str| work.path().join(name).display().to_string();
        crate::elf_fixture::run("ar", &["rcs", &path("liba.a"), &path("a.o")]);
        let bytes = std::fs::read(path("liba.a")).unwrap();
        Tree::new(ComponentKind::Static, "static").file("lib/libvolley.a", bytes).seal()
    };
    let report = report(&[&archive(&["-fno-fat-lto-objects"])], &context());
    assert_eq!(report.verdict(), Verdict::Incomplete);
    assert_eq!(report.incomplete[0].subject.to_string(), "volley-static: lib/libvolley.a");
    assert!(report.incomplete[0].reason.starts_with("a.o: "), "{:?}", report.incomplete);
    passes(&[&archive(&["-ffat-lto-objects"])]);
}

#[test]
fn damaged_files_are_incomplete() {
    let whole = Tree::core().library("lib/libvolley.so.1", &[]);
    let bytes = std::fs::read(whole.root().join("lib/libvolley.so.1")).unwrap();
    let cut = Tree::core().file("lib/libvolley.so.1", &bytes[..200]).seal();
    let report = report(&[&cut], &context());
    assert_eq!(report.verdict(), Verdict::Incomplete, "{report:?}");
    assert_eq!(report.incomplete[0].topic, "elf");
    passes(&[&Tree::core().file("share/volley/elf.txt", "ELF, they say").seal()]);
}

#[test]
fn without_section_headers_nobody_knows() {
    let whole = Tree::core().library("lib/libvolley.so.1", &[]);
    let mut bytes = std::fs::read(whole.root().join("lib/libvolley.so.1")).unwrap();
    // e_shoff, e_shnum and e_shstrndx of the ELF header.
    bytes[40..48].fill(0);
    bytes[60..64].fill(0);
    let report = report(&[&Tree::core().file("lib/libvolley.so.1", bytes).seal()], &context());
    assert_eq!(said(&report), [""; 0]);
    assert_eq!(report.incomplete[0].topic, "core-device-code");
}

#[test]
fn core_holds_its_tag() {
    let core = |text: &str| {
        let source = format!("const char *abi(void) {{ return \"{text}\"; }}");
        let mut tree = Tree::core().compiled("lib/volley/p.so", &source, &["-shared", "-fPIC"]);
        tree.manifest.kernel_abi = Some("k0123456789ab".parse().unwrap());
        tree.seal()
    };
    let part = context().partial(true);
    assert_eq!(said(&report(&[&core("lib/volley/kernels/k0123456789ab")], &part)), [""; 0]);
    let found = said(&report(&[&core("k0123456789abc")], &part));
    assert_eq!(found, ["kernel-tag-absent | volley-core | no library or program holds k0123456789ab"]);
}

#[test]
fn what_builds_were_given_is_in_no_package() {
    let given = || Staging { given: [("libhdf5.so.103".to_owned(), "hdf5".to_owned())].into(), ..Staging::default() };
    let with = |name: &str| Tree::core().library(&format!("lib/{name}"), &[]).seal();
    let found = said(&report(&[&with("libhdf5.so.103")], &context().staging(given())));
    let is_told =
        |found: &[String]| found.iter().any(|it| it.contains("is a copy of libhdf5.so.103 of the package hdf5"));
    assert!(is_told(&found), "{found:?}");
    assert!(!is_told(&said(&report(&[&with("libvolley.so.1")], &context().staging(given())))));
    assert!(!is_told(&said(&report(&[&with("libhdf5.so.103")], &context()))));
}

#[test]
fn a_library_that_builds_were_given_has_a_provider() {
    let needing = |from: Option<Provider>| {
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("libother.so.1");
        let mut cc = Command::new("cc");
        let made = cc.args(["-shared", "-fPIC", "-Wl,-soname,libother.so.1", "-xc", "/dev/null", "-o"]).arg(&other);
        assert!(made.status().unwrap().success());
        let flags = ["-shared", "-fPIC", "-Wl,--no-as-needed", "-Wl,-soname,p.so", other.to_str().unwrap()];
        let mut tree = Tree::core().compiled("lib/volley/p.so", "int a;", &flags);
        let outside = from.map(|from| OutsideLibrary { library: "libother.so.1".to_owned(), from });
        tree.manifest.outside.extend(outside);
        said(&report(&[&tree.seal()], &context())).join("\n")
    };
    let versions = Versions::written(">=1");
    let system = Provider::System { module: "other".to_owned(), version: "1.2".to_owned() };
    assert!(needing(None).contains("needs libother.so.1: no package has it"), "{}", needing(None));
    let channel = needing(Some(Provider::Channel { package: "other".to_owned(), versions }));
    assert!(!channel.contains("libother.so.1"), "{channel}");
    let system = needing(Some(system));
    assert!(system.contains("needs libother.so.1 of the machine") && !system.contains("no package has it"), "{system}");
}
