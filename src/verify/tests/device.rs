//! Device code in libraries, archives and releases: each rule fires on one thing and is silent on a look-alike.

use std::collections::BTreeMap;
use std::path::Path;

use super::cubin::{cubin, kernel, ptx};
use super::fixture::{Sealed, Tree, context, passes, report, said};
use crate::arch::{Capability, KernelTarget, Suffix};
use crate::fs::Digest;
use crate::gpu::{KernelSignature, kernel_abi_tag};
use crate::gpu_fixture::{Store, container, entry};
use crate::lint::Settings;
use crate::package::conda::Record;
use crate::recipe::ComponentKind;
use crate::report::{Level, Report, Verdict};
use crate::verify::{Opened, PackageIndex, open};

fn table() -> Vec<KernelSignature> {
    vec![kernel("decay", &[(0, 8), (8, 4)]), kernel("spike", &[(0, 8)])]
}

/// A container with the kernels for each target: `sm_90a`, `compute_80`.
fn fatbin(targets: &[(&str, &[KernelSignature])]) -> Vec<u8> {
    let entries = targets.iter().map(|(target, kernels)| {
        let target: KernelTarget = target.parse().unwrap();
        let capability = target.capability().unwrap();
        let flags = match capability.suffix {
            Suffix::Plain => 0x11,
            Suffix::Exact => 0x10_0011,
            Suffix::Family => 0x20_0011,
        };
        match target {
            KernelTarget::Sass(_) => {
                entry(2, capability.number(), flags, &cubin(capability, kernels, false), Store::Raw)
            }
            _ => entry(1, capability.number(), flags, ptx(capability, kernels).as_bytes(), Store::Zstd),
        }
    });
    container(&entries.collect::<Vec<_>>())
}

/// The same kernels for all targets.
fn all(targets: &[&str]) -> Vec<u8> {
    let kernels = table();
    fatbin(&targets.iter().map(|target| (*target, kernels.as_slice())).collect::<Vec<_>>())
}

/// A shared library, or an object with `-c`, that holds a container; `code` is C beside it.
fn library(dir: &Path, name: &str, container: &[u8], section: &str, code: &str, flags: &[&str]) {
    let payload = dir.join("payload.bin");
    std::fs::write(&payload, container).unwrap();
    let source = format!(
        "__asm__(\".section {section},\\\"a\\\"\\n.balign 8\\n.incbin \\\"{}\\\"\\n.text\\n\");\n{code}\n",
        payload.display()
    );
    let made = crate::elf_fixture::compile(dir, "made", &source, flags);
    std::fs::rename(made, dir.join(name)).unwrap();
    std::fs::remove_file(payload).unwrap();
    for left in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if left.extension().is_some_and(|end| end == "c") {
            std::fs::remove_file(left).unwrap();
        }
    }
}

const SHARED: [&str; 4] = ["-shared", "-fPIC", "-Wl,-z,noexecstack", "-Wl,--build-id=none"];

fn shared(container: &[u8]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    library(dir.path(), "libsim.so", container, ".nv_fatbin", "int a;", &SHARED);
    dir
}

/// The report over something that simpack did not make, without the name of the directory.
fn foreign(path: &Path) -> Report {
    let opened = open(&[path]).unwrap();
    assert!(opened.bundles.is_empty() && !opened.foreign.is_empty());
    opened.verify(&context().partial(true), &Settings::default())
}

fn lints(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.lint.as_str()).collect()
}

#[test]
fn newer_devices_need_plain_ptx() {
    let of = |targets: &[&str]| foreign(&shared(&all(targets)).path().join("libsim.so"));
    let report = of(&["sm_80", "sm_90"]);
    assert_eq!(
        said(&report),
        ["device-coverage | libsim.so | nothing runs on 10.0, 10.3, 10.7, 12.0, 12.1, whatever comes: \
             newer than sm_90, and it holds no PTX"]
    );
    assert_eq!(report.findings[0].evidence, ["it holds sm_80 sm_90"]);
    assert_eq!(of(&["sm_80", "sm_90", "compute_90"]).verdict(), Verdict::Pass);
    // PTX with a suffix is not for everybody; PTX of a higher capability leaves a gap.
    let report = of(&["sm_90", "compute_90a"]);
    assert_eq!(lints(&report), ["device-coverage"]);
    assert!(report.findings[0].message.ends_with("its PTX is compute_90a, which does not reach them"));
    let report = of(&["sm_90", "compute_120"]);
    assert!(report.findings[0].message.starts_with("nothing runs on 10.0, 10.3, 10.7: "), "{:?}", said(&report));
    // So does one between two machine codes.
    let report = of(&["sm_80", "sm_90", "sm_120", "compute_120"]);
    assert_eq!(
        said(&report),
        [
            "device-coverage | libsim.so | nothing runs on 10.0, 10.3, 10.7: newer than sm_90, and its PTX is compute_120, \
             which does not reach them"
        ]
    );
    // Family PTX reaches a part of what is newer.
    let report = of(&["sm_100", "compute_100f"]);
    assert!(report.findings[0].message.starts_with("nothing runs on 12.0, 12.1, whatever comes: "));
}

/// Libraries of others that lack nothing but PTX for what is to come are one finding, and nobody misses anything yet.
#[test]
fn what_is_to_come_is_a_warning_about_all_libraries_of_a_package() {
    let every = ["sm_80", "sm_90", "sm_100", "sm_103", "sm_107", "sm_120", "sm_121"];
    let dir = shared(&all(&every));
    library(dir.path(), "libother.so", &all(&every[..6]), ".nv_fatbin", "int a;", &SHARED);
    let report = foreign(dir.path());
    let coverage: Vec<_> = report.findings.iter().filter(|finding| finding.lint == "device-coverage").collect();
    let [finding] = coverage.as_slice() else { panic!("{:?}", said(&report)) };
    assert_eq!(finding.message, "runs on GPUs of today alone, and on none that is newer: it holds no PTX");
    assert_eq!((finding.level, finding.subjects().count(), finding.evidence.len()), (Level::Warn, 2, 2));
}

/// Who maintains a package that simpack did not make has no recipe; names are as long as people read.
#[test]
fn others_are_told_what_they_can_do() {
    let name = format!("_ZN{}{}4stepEv", 100, "n".repeat(100));
    let (long, both) = (vec![kernel(&name, &[(0, 8)])], vec![kernel(&name, &[(0, 8)]), kernel("decay", &[])]);
    let dir = shared(&fatbin(&[("sm_80", &both), ("sm_90", &both[1..]), ("compute_90", &both[1..])]));
    let path = dir.path().join("libsim.so");
    let full = open(&[&path]).unwrap().verify(&context().partial(true).full_names(true), &Settings::default());
    for (report, length) in [(foreign(&path), 80), (full, 100 + "::step()".len())] {
        let hole = report.findings.iter().find(|finding| finding.lint == "kernel-hole").unwrap();
        assert_eq!(hole.message.split('`').nth(1).unwrap().len(), length, "{}", hole.message);
    }
    let report = foreign(&shared(&fatbin(&[("sm_80", &long)])).path().join("libsim.so"));
    assert!(report.findings[0].fix.as_ref().unwrap().contains("-gencode=arch="), "{:?}", report.findings);
    assert!(!report.findings[0].message.contains("11.0"), "there is no Jetson with x86-64: {:?}", report.findings);
}

#[test]
fn old_ptx_is_a_note() {
    let report = foreign(&shared(&all(&["sm_90", "compute_75"])).path().join("libsim.so"));
    assert_eq!(
        said(&report),
        ["ptx-below-sass | libsim.so | devices newer than sm_90 get the PTX compute_75, which knows nothing of 9.0"]
    );
    assert_eq!(report.findings[0].level, Level::Note);
    assert!(!report.is_denied());
    // Old PTX beside new PTX is for old devices.
    let report = foreign(&shared(&all(&["sm_90", "compute_75", "compute_90"])).path().join("libsim.so"));
    assert_eq!(said(&report), [""; 0]);
}

#[test]
fn exact_code_never_stands_alone() {
    let of = |targets: &[&str]| foreign(&shared(&all(targets)).path().join("libsim.so"));
    let report = of(&["sm_90a", "sm_120", "compute_120"]);
    assert!(said(&report).contains(&"exact-only | libsim.so | 9.0 is covered by sm_90a only".to_owned()));
    assert_eq!(of(&["sm_90a", "sm_90", "compute_90"]).verdict(), Verdict::Pass);
    assert!(!lints(&of(&["sm_90a", "compute_80"])).contains(&"exact-only"));
}

#[test]
fn kernels_that_a_device_lacks_are_named() {
    let (both, one) = (table(), &table()[..1]);
    let dir = shared(&fatbin(&[("sm_80", &both), ("sm_90", one), ("compute_90", one)]));
    let report = foreign(&dir.path().join("libsim.so"));
    // sm_80 does not run on 9.0.
    assert_eq!(said(&report), ["kernel-hole | libsim.so | `spike` has no code that runs on 9.0"]);
    // sm_80 does run on 8.6, and old PTX on everything newer.
    let dir = shared(&fatbin(&[("sm_80", &both), ("sm_86", one), ("compute_86", one)]));
    assert_eq!(foreign(&dir.path().join("libsim.so")).verdict(), Verdict::Pass);
    // A Jetson has no x86-64, whatever else the library holds for it.
    let dir = shared(&fatbin(&[("sm_90", &both), ("sm_87", one), ("compute_90", &both)]));
    assert!(!lints(&foreign(&dir.path().join("libsim.so"))).contains(&"kernel-hole"));
}

/// Libraries of linear algebra have kernels of their own for each GPU.
#[test]
fn many_sets_of_kernels_that_devices_lack_are_one_finding() {
    let targets = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"];
    let own = targets.map(|target| vec![KernelSignature::new(format!("for_{target}"), Vec::new())]);
    let pairs: Vec<(&str, &[KernelSignature])> = targets.iter().copied().zip(own.iter().map(Vec::as_slice)).collect();
    let report = foreign(&shared(&fatbin(&pairs)).path().join("libsim.so"));
    let found: Vec<String> = said(&report).into_iter().filter(|line| line.starts_with("kernel-hole")).collect();
    assert_eq!(found, ["kernel-hole | libsim.so | 5 kernels have no code for some of its devices, in 5 sets"]);
    let finding = report.findings.iter().find(|finding| finding.lint == "kernel-hole").unwrap();
    assert_eq!(finding.evidence.len(), 5);
    assert_eq!(finding.evidence[4], "and 1 smaller set");
}

#[test]
fn one_kernel_has_one_layout() {
    let wide = vec![kernel("decay", &[(0, 8), (8, 8)]), kernel("spike", &[(0, 8)])];
    let dir = shared(&fatbin(&[("sm_80", &table()), ("compute_80", &wide)]));
    let report = foreign(&dir.path().join("libsim.so"));
    assert_eq!(said(&report), ["kernel-layout | libsim.so | kernel `decay` has 2 parameter layouts"]);
    assert_eq!(report.findings[0].evidence, ["sm_80: 0+8 8+4 (offset+bytes)", "compute_80: 0+8 8+8 (offset+bytes)"],);
}

/// What nvcc 13.0 makes of a kernel with an `int`, a struct aligned to 64 bytes, a pointer, one aligned to 32.
#[test]
fn an_aligned_parameter_is_at_another_offset_on_each_capability() {
    let of = |offsets: [u32; 4]| {
        let sizes = [4, 128, 8, 32];
        vec![kernel("decay", &offsets.into_iter().zip(sizes).collect::<Vec<_>>())]
    };
    let (ampere, hopper, blackwell) = (of([0, 32, 160, 192]), of([0, 48, 176, 208]), of([0, 64, 192, 224]));
    let dir = shared(&fatbin(&[("sm_80", &ampere), ("sm_90", &hopper), ("sm_100", &blackwell)]));
    let report = foreign(&dir.path().join("libsim.so"));
    assert!(!lints(&report).contains(&"kernel-layout"), "{:?}", said(&report));
    // The same offset on both is two alignments, and one of them is not the struct's.
    let dir = shared(&fatbin(&[("sm_80", &ampere), ("sm_90", &of([0, 56, 184, 216]))]));
    let report = foreign(&dir.path().join("libsim.so"));
    assert!(lints(&report).contains(&"kernel-layout"), "{:?}", said(&report));
    let hit = report.findings.iter().find(|finding| finding.lint == "kernel-layout").unwrap();
    assert_eq!(hit.evidence[0], "sm_80: 0+4 32+128 160+8 192+32 (offset+bytes)");
}

/// What a compiler leaves of a unit without kernels is no coverage; beside others it adds none.
#[test]
fn code_without_kernels_covers_nothing() {
    let dir = shared(&fatbin(&[("sm_75", &[]), ("sm_80", &[])]));
    let report = foreign(&dir.path().join("libsim.so"));
    assert_eq!(said(&report), [""; 0]);
    let dir = shared(&[fatbin(&[("sm_120", &[])]), all(&["sm_80", "compute_80"])].concat());
    assert_eq!(foreign(&dir.path().join("libsim.so")).verdict(), Verdict::Pass);
}

#[test]
fn kernels_stay_inside_their_library() {
    let code = all(&["sm_80", "compute_80"]);
    let dir = tempfile::tempdir().unwrap();
    library(dir.path(), "liba.so", &code, ".nv_fatbin", "void decay(void) {}", &SHARED);
    let report = foreign(dir.path());
    assert_eq!(lints(&report), ["device-stub-visible"]);
    assert_eq!(report.findings[0].evidence, ["`decay`"]);
    library(dir.path(), "libb.so", &code, ".nv_fatbin", "void decay(void) {} void other(void) {}", &SHARED);
    let report = foreign(dir.path());
    assert_eq!(lints(&report), ["kernel-twice", "device-stub-visible"]);
    assert_eq!(report.findings[1].also.len(), 1);
    assert!(report.findings[0].message == "kernel `decay` is also exported by libb.so", "{:?}", said(&report));
    // Hidden, and exported by a library without device code, they harm nobody.
    let dir = tempfile::tempdir().unwrap();
    let hidden = "__attribute__((visibility(\"hidden\"))) void decay(void) {}";
    library(dir.path(), "liba.so", &code, ".nv_fatbin", hidden, &SHARED);
    library(dir.path(), "libb.so", b"nothing", ".rodata.x", "void decay(void) {}", &SHARED);
    assert_eq!(said(&foreign(dir.path())), [""; 0]);
}

#[test]
fn the_run_time_compiler_finds_its_builtins() {
    let source = |name: &str| format!("const char *builtins(void) {{ return \"{name}\"; }}");
    let dir = tempfile::tempdir().unwrap();
    let lib = dir.path().join("lib");
    std::fs::create_dir(&lib).unwrap();
    let flags = ["-shared", "-fPIC", "-Wl,-z,noexecstack"];
    library(&lib, "libnvrtc.so.13", b"x", ".rodata.x", &source("libnvrtc-builtins.so.13.0"), &flags);
    let only = |report: Report| -> Vec<String> {
        let found = report.findings.into_iter().filter(|finding| finding.lint == "nvrtc-builtins");
        found.map(|finding| finding.message).collect()
    };
    assert_eq!(only(foreign(dir.path())), ["opens libnvrtc-builtins.so.13.0, which is not here"]);
    library(&lib, "libnvrtc-builtins.so.13.3", b"x", ".rodata.x", "int b;", &flags);
    assert_eq!(
        only(foreign(dir.path())),
        ["opens libnvrtc-builtins.so.13.0; what is here is lib/libnvrtc-builtins.so.13.3"]
    );
    library(dir.path(), "libnvrtc-builtins.so.13.0", b"x", ".rodata.x", "int b;", &flags);
    assert_eq!(only(foreign(dir.path())), ["opens libnvrtc-builtins.so.13.0, which lies in another directory"]);
    std::fs::rename(dir.path().join("libnvrtc-builtins.so.13.0"), lib.join("libnvrtc-builtins.so.13.0")).unwrap();
    assert_eq!(only(foreign(dir.path())), [""; 0]);
}

fn tree(target: &str) -> Tree {
    let mut tree = Tree::new(ComponentKind::Kernels, &format!("kernels-{target}"));
    tree.manifest.target = Some(target.parse().unwrap());
    tree.manifest.kernels = table();
    tree.manifest.kernel_abi = Some(kernel_abi_tag(&table()));
    tree.manifest.cuda = Some("13.0".parse().unwrap());
    tree
}

fn dir(target: &str) -> String {
    format!("lib/volley/kernels/{}/cuda13/fixed/{target}", kernel_abi_tag(&table()))
}

fn with_code(target: &str) -> Tree {
    match target.parse().unwrap() {
        KernelTarget::Sass(code) => {
            tree(target).file(&format!("{}/k.cubin", dir(target)), cubin(code, &table(), false))
        }
        KernelTarget::Ptx(code) => tree(target).file(&format!("{}/k.ptx", dir(target)), ptx(code, &table())),
        other => panic!("{other}"),
    }
}

fn core() -> Sealed {
    let mut core = Tree::core();
    core.manifest.kernel_abi = Some(kernel_abi_tag(&table()));
    core.seal()
}

#[test]
fn a_release_reaches_what_is_newer() {
    let (sm_90, compute_90) = (with_code("sm_90").seal(), with_code("compute_90").seal());
    passes(&[&core(), &sm_90, &compute_90]);
    let found = said(&report(&[&core(), &sm_90], &context()));
    assert!(found.len() == 1 && found[0].starts_with("device-coverage | volley-kernels | nothing runs on 10.0"));
    // A part of a release proves nothing.
    assert_eq!(said(&report(&[&core(), &sm_90], &context().partial(true))), [""; 0]);
}

#[test]
fn the_driver_follows_from_the_code() {
    let mut old = with_code("compute_75");
    old.manifest.cuda = Some("12.8".parse().unwrap());
    let found = said(&report(&[&old.seal()], &context()));
    let path = format!("{}/k.ptx", dir("compute_75"));
    assert_eq!(
        found,
        [format!(
            "driver-minimum | volley-kernels-compute_75: {path} | its PTX needs a driver of CUDA 13.0, the package declares 12.8"
        )]
    );
    let sealed = with_code("compute_75").seal();
    let index = |asks: &str| PackageIndex {
        record: Record {
            name: "volley-kernels".to_owned(),
            version: "1.2.0".to_owned(),
            build: "b".to_owned(),
            build_number: 0,
            depends: vec![asks.to_owned(), "volley-kernels-compute_75 ==1.2.0 x".to_owned()],
            size: None,
        },
        cuda: sealed.bundle.manifest.cuda,
    };
    let opened =
        |asks| Opened { bundles: vec![sealed.bundle.clone()], indexes: vec![index(asks)], ..Opened::default() };
    let of = |asks| said(&opened(asks).verify(&context().partial(true), &Settings::default()));
    assert!(of("__cuda >=12.0")[0].ends_with("its PTX needs a driver of CUDA 13.0, the selector asks for 12.0"));
    assert_eq!(of("__cuda >=13.0"), [""; 0]);
}

#[test]
fn the_list_says_what_is_there() {
    let target = "sm_90";
    let path = format!("{}/kernels.json", dir(target));
    let good = with_code(target).seal();
    passes(&[&good]);
    let text = std::fs::read_to_string(good.bundle.root.join(&path)).unwrap();
    let of = |text: &str| {
        let found = said(&report(&[&with_code(target).file(&path, text).seal()], &context()));
        assert!(found.iter().all(|line| line.starts_with("kernels-list | ")), "{found:?}");
        found.into_iter().map(|line| line.rsplit(" | ").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let digest = Digest::of(&cubin(Capability::new(9, 0), &table(), false)).to_string();
    for (from, to, says) in [
        ("\"sm_90\"", "\"sm_80\"", "says target sm_80, the package's is sm_90"),
        ("\"13.0\"", "\"12.8\"", "says CUDA 12.8, the package's is 13.0"),
        ("\"fixed\"", "\"float\"", "says variant float, the package's is fixed"),
        ("\"decay\"", "\"decoy\"", "its kernel table is not the package's"),
        (digest.as_str(), &"0".repeat(64), "lists another k.cubin than is there"),
        ("{\"schema\":1", "{\"schema\":7", "has schema 7, this simpack reads 1"),
        ("{", "[", "cannot be understood"),
    ] {
        assert!(text.contains(from), "{from}");
        assert_eq!(of(&text.replacen(from, to, 1)), [says]);
    }
    assert_eq!(of(&text.replace("k.cubin", "j.cubin")), ["does not list k.cubin", "lists j.cubin, which is not there"]);
}

#[test]
fn code_of_other_sources_is_stale() {
    let digest = |text: &str| Digest::of(text.as_bytes());
    let made_of = |text: &str| {
        let mut tree = with_code("sm_90");
        tree.manifest.provenance.sources = BTreeMap::from([("kernels/k.cu".to_owned(), digest(text))]);
        tree.seal()
    };
    let mut source = Tree::new(ComponentKind::Source, "source").file("share/volley/kernels/k.cu", "new");
    source.manifest.platform = None;
    let source = source.seal();
    passes(&[&made_of("new"), &source]);
    let found = report(&[&made_of("old"), &source], &context());
    assert_eq!(
        said(&found),
        ["stale-kernels | volley-kernels-sm_90 | was compiled from other sources than those in volley-source"]
    );
    assert_eq!(found.findings[0].evidence, ["kernels/k.cu has changed"]);
    let found = report(&[&with_code("sm_90").seal(), &source], &context());
    assert_eq!((said(&found).len(), found.verdict()), (0, Verdict::Incomplete));
}

#[test]
fn nothing_of_a_release_is_forgotten() {
    let selector = |target: &str| {
        let mut tree = Tree::new(ComponentKind::Kernels, "kernels");
        tree.manifest.target = Some(target.parse().unwrap());
        tree.manifest.cuda = with_code("sm_90").manifest.cuda;
        tree.manifest.kernel_abi = Some(kernel_abi_tag(&table()));
        tree.seal()
    };
    let (sm_90, ptx) = (with_code("sm_90").seal(), with_code("compute_90").seal());
    passes(&[&core(), &sm_90, &ptx, &selector("sm_90"), &selector("compute_90"), &selector("cpu")]);
    assert_eq!(
        said(&report(&[&core(), &sm_90, &ptx, &selector("compute_90"), &selector("sm_80")], &context())),
        [
            "release-incomplete | volley-kernels | no build of it selects volley-kernels-sm_90",
            "release-incomplete | volley-kernels | selects sm_80, and there is no package volley-kernels-sm_80",
        ]
    );
    let found = said(&report(&[&core()], &context()));
    assert_eq!(found, ["release-incomplete | volley-core | launches kernels, and no kernel package is here"]);
}

#[test]
fn dependencies_are_there_or_declared() {
    let core = Tree::core().uses("hdf5 >=1.14").seal();
    let index = |name: &str, depends: &[&str]| PackageIndex {
        record: Record {
            name: name.to_owned(),
            version: "1.2.0".to_owned(),
            build: "h0_0".to_owned(),
            build_number: 0,
            depends: depends.iter().map(ToString::to_string).collect(),
            size: None,
        },
        cuda: None,
    };
    let of = |depends: &[&str]| {
        let indexes = vec![index("volley-core", depends), index("volley-rtc", &[])];
        let opened = Opened { bundles: vec![core.bundle.clone()], indexes, ..Opened::default() };
        said(&opened.verify(&context(), &Settings::default()))
    };
    let good = ["__glibc >=2.17", "hdf5 >=1.14", "volley-rtc ==1.2.0 h0_0", "cuda-nvrtc >=13.0,<14", "libstdcxx >=12"];
    assert_eq!(of(&good), [""; 0]);
    assert_eq!(
        of(&["volley-rtc ==1.2.0 h1_0", "zlib"]),
        [
            "dependency-missing | volley-core | needs volley-rtc ==1.2.0 h1_0; here is volley-rtc 1.2.0 h0_0",
            "dependency-missing | volley-core | needs zlib, which is neither in the release nor declared in `uses`",
        ]
    );
}

#[test]
fn a_file_that_cannot_be_examined_is_no_pass() {
    let mut code = all(&["sm_80", "compute_80"]);
    let cut = code.len() - 40;
    code.truncate(cut);
    let report = foreign(&shared(&code).path().join("libsim.so"));
    assert_eq!(report.verdict(), Verdict::Incomplete);
    assert_eq!(report.incomplete[0].subject.to_string(), "libsim.so");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("notes.txt"), "text").unwrap();
    assert!(open(&[dir.path().join("notes.txt")]).is_err(), "no lint looks at text");
}

/// Objects of two real compilers in one archive, and what their linkers say.
#[test]
fn objects_that_no_linker_joins_are_named() {
    let (Some(new), Some(old)) =
        (crate::skip::set_up("SIMPACK_TEST_CUDA"), crate::skip::set_up("SIMPACK_TEST_CUDA_SYSTEM"))
    else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let run = |program: &str, args: &[&str]| {
        let ran = std::process::Command::new(program).args(args).current_dir(dir.path()).output().unwrap();
        assert!(ran.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    let source = "extern \"C\" __device__ float half_of(float x) { return 0.5f * x; }\n";
    std::fs::write(dir.path().join("k.cu"), source).unwrap();
    let nvcc = |root: &Path, flags: &[&str], to: &str| {
        let mut args = vec!["-c", "-o", to, "k.cu"];
        args.extend(flags);
        run(root.join("bin/nvcc").to_str().unwrap(), &args);
    };
    let host = ["-ccbin", "g++-11"];
    nvcc(&old, &[&host[..], &["-rdc=true", "-arch=sm_80"]].concat(), "old.o");
    nvcc(&old, &[&host[..], &["-dlto", "-arch=sm_80"]].concat(), "old-lto.o");
    nvcc(&new, &["-rdc=true", "-arch=sm_80"], "new.o");
    nvcc(&new, &["-dlto", "-arch=sm_80"], "new-lto.o");
    run("ar", &["rcs", "mixed.a", "old.o", "new.o"]);
    run("ar", &["rcs", "lto.a", "old-lto.o", "new-lto.o"]);
    run("ar", &["rcs", "same.a", "new.o"]);
    let of = |name: &str| {
        let found = foreign(&dir.path().join(name)).findings.into_iter();
        let found = found.filter(|finding| finding.lint == "toolchain-mixed");
        found.map(|finding| finding.message).collect::<Vec<_>>()
    };
    assert_eq!(
        of("mixed.a"),
        ["old.o (nvcc of CUDA 11.8) cannot be linked with new.o (nvcc of CUDA 13.0): relocatable machine code links \
             only with code of the same cubin ABI, by a linker that is not older"]
    );
    assert_eq!(
        of("lto.a"),
        ["old-lto.o (nvcc of CUDA 11.8) cannot be linked with new-lto.o (nvcc of CUDA 13.0): input of the link-time \
             optimiser is compatible within one major release of CUDA only"]
    );
    assert_eq!(of("same.a"), [""; 0]);
    // The older linker refuses the newer object, too.
    let linked = std::process::Command::new(old.join("bin/nvlink"))
        .args(["-arch=sm_80", "-o", "x.cubin", "old.o", "new.o"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(!linked.status.success());
}
