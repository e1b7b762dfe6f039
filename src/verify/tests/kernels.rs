//! Kernel packages: target, table, coverage.

use super::cubin::{cubin, fatbin, kernel, ptx};
use super::fixture::{Sealed, Tree, context, denies, passes, report, said};
use crate::arch::{Capability, KernelTarget, Platform};
use crate::gpu::{KernelSignature, kernel_abi_tag};
use crate::recipe::ComponentKind;
use crate::report::Verdict;

fn table() -> Vec<KernelSignature> {
    vec![kernel("decay", &[(0, 8), (8, 4)]), kernel("spike", &[(0, 8), (8, 8), (16, 4)])]
}

/// A kernel package for `target` with the table's manifest and no files yet.
fn package(target: &str) -> Tree {
    let mut tree = Tree::new(ComponentKind::Kernels, &format!("kernels-{target}"));
    tree.manifest.target = Some(target.parse().unwrap());
    tree.manifest.kernels = table();
    tree.manifest.cuda = Some("13.0".parse().unwrap());
    tree.manifest.kernel_abi = Some(kernel_abi_tag(&table()));
    tree
}

fn dir(target: &str, variant: &str) -> String {
    format!("lib/volley/kernels/{}/cuda13/{variant}/{target}", kernel_abi_tag(&table()))
}

/// A package whose one module per variant holds `kernels`.
fn with(target: &str, variants: &[&str], kernels: &[KernelSignature]) -> Tree {
    variants.iter().fold(package(target), |tree, variant| {
        let dir = dir(target, variant);
        match target.parse().unwrap() {
            KernelTarget::Sass(capability) => tree.file(&format!("{dir}/all.cubin"), cubin(capability, kernels, false)),
            KernelTarget::Ptx(capability) => tree.file(&format!("{dir}/all.ptx"), ptx(capability, kernels)),
            other => panic!("{other}"),
        }
    })
}

fn good(target: &str) -> Sealed {
    with(target, &["fixed", "float"], &table()).seal()
}

const SM_90: Capability = Capability::new(9, 0);

#[test]
fn a_whole_set_is_clean() {
    passes(&[&good("sm_80"), &good("sm_90"), &good("sm_90a"), &good("compute_75")]);
    // The same kernel in two modules, and kernels spread over modules, are the same table.
    let spread = package("sm_90")
        .file(&format!("{}/a.cubin", dir("sm_90", "fixed")), cubin(SM_90, &table()[..1], false))
        .file(&format!("{}/b.cubin", dir("sm_90", "fixed")), cubin(SM_90, &table(), false));
    passes(&[&spread.seal()]);
}

#[test]
fn a_kernel_package_holds_its_target_and_nothing_else() {
    let path = |name: &str| format!("{}/{name}", dir("sm_90", "fixed"));
    let holding = |name: &str, bytes: &[u8]| with("sm_90", &["fixed"], &table()).file(&path(name), bytes).seal();
    let other = cubin(Capability::new(8, 0), &table(), false);
    let said_of = |name: &str, what: &str| {
        format!("kernel-capability | volley-kernels-sm_90: {} | holds {what}; the package is for sm_90", path(name))
    };
    denies(&[&holding("old.cubin", &other)], &[&said_of("old.cubin", "sm_80")]);
    let exact = cubin("9.0a".parse().unwrap(), &table(), false);
    denies(&[&holding("a.cubin", &exact)], &[&said_of("a.cubin", "sm_90a")]);
    denies(&[&holding("x.ptx", ptx(SM_90, &table()).as_bytes())], &[&said_of("x.ptx", "compute_90")]);
    denies(&[&holding("o.fatbin", &fatbin(Capability::new(8, 0), &other))], &[&said_of("o.fatbin", "sm_80")]);
    // A fatbin with the right code only is right.
    passes(&[&holding("same.fatbin", &fatbin(SM_90, &cubin(SM_90, &table(), false)))]);
    // Text about PTX is no PTX.
    passes(&[&holding("README.txt", b"the .target sm_80 was dropped in .version 2")]);
}

#[test]
fn a_kernel_package_without_code_for_its_target() {
    let empty = package("sm_90").file("share/doc/volley/README", "nothing").seal();
    denies(&[&empty], &["kernel-capability | volley-kernels-sm_90 | holds no device code for sm_90"]);
    // The selector's builds have a target and no files: they only depend.
    passes(&[&package("sm_90").seal()]);
}

#[test]
fn host_code_does_not_ride_along() {
    let tree = with("sm_90", &["fixed"], &table()).compiled("lib/volley/stub.so", "int a;", &["-shared", "-fPIC"]);
    denies(
        &[&tree.seal()],
        &[
            "noarch-host-code | volley-kernels-sm_90: lib/volley/stub.so | is host code (x86_64) in a package for every platform",
        ],
    );
}

#[test]
fn a_plug_in_library_exports_its_entry_table_alone() {
    let library = |source: &str| {
        let mut tree =
            package("sm_90").file(&format!("{}/all.cubin", dir("sm_90", "default")), cubin(SM_90, &table(), false));
        tree.manifest.platform = Some(Platform::Linux64);
        let path = format!("{}/libvolley-kernels-sm_90.so", dir("sm_90", "default"));
        let flags = ["-shared", "-fPIC", "-s", "-nostdlib", "-Wl,-z,relro,-z,now,-z,noexecstack"];
        (path.clone(), tree.compiled(&path, source, &flags).seal())
    };
    let entry = format!("const char *const volley_kernels[] = {{ \"{}\" }};", kernel_abi_tag(&table()));
    let of = |report: &[String]| -> Vec<String> {
        report.iter().filter(|said| said.starts_with("kernel-entry")).cloned().collect()
    };
    let found = |source: &str| {
        let (path, sealed) = library(source);
        (path, of(&said(&report(&[&sealed], &context()))))
    };
    assert_eq!(found(&entry).1, [""; 0]);
    let (path, said) = found(&format!("{entry} int other;"));
    let about = format!("kernel-entry | volley-kernels-sm_90: {path} |");
    assert_eq!(said, [format!("{about} exports more than its entry table `volley_kernels`")]);
    let (_, said) = found("const char *const volley_kernels[] = { \"none\" };");
    assert_eq!(said, [format!("{about} does not hold {}", kernel_abi_tag(&table()))]);
    let (_, said) = found(&entry.replace("volley_kernels", "other"));
    assert_eq!(said, [format!("{about} does not export its entry table `volley_kernels`")]);
}

#[test]
fn unlinked_code_is_found() {
    let bytes = cubin(SM_90, &table(), true);
    let path = format!("{}/all.cubin", dir("sm_90", "fixed"));
    denies(
        &[&package("sm_90").file(&path, bytes).seal()],
        &[&format!(
            "kernel-relocatable | volley-kernels-sm_90: {path} | holds relocatable device code, which no driver loads"
        )],
    );
}

#[test]
fn a_misspelt_kernel_is_one_finding_that_says_what_is_meant() {
    for (compiled, evidence, fix) in [
        ("spikes", "the code has `spikes`, which the table does not declare", "did you mean `spikes`?"),
        (
            "_Z5spikePfjj",
            "the code has `_Z5spikePfjj`, which is spike(float*, unsigned int, unsigned int)",
            "extern \"C\"",
        ),
    ] {
        let found = [table()[0].clone(), kernel(compiled, &[(0, 8), (8, 8), (16, 4)])];
        let of = |target| with(target, &["fixed"], &found).seal();
        let findings = report(&[&of("sm_80"), &of("sm_90")], &context()).findings;
        assert_eq!(findings.len(), 1, "{findings:?}");
        let one = &findings[0];
        assert_eq!((one.lint.as_str(), one.also.len()), ("kernel-coverage", 1));
        assert_eq!(one.message, "the table declares `spike`, which the code has not");
        assert_eq!(one.evidence, [evidence]);
        assert!(one.fix.as_deref().unwrap().contains(fix), "{one:?}");
    }
    // Another kernel is no misspelling.
    let found = [table()[0].clone(), kernel("unlike", &[])];
    let report = report(&[&with("sm_90", &["fixed"], &found).seal()], &context());
    assert_eq!(report.findings.iter().map(|one| &*one.lint).collect::<Vec<_>>(), ["kernel-abi", "kernel-coverage"]);
}

#[test]
fn parameters_equal_the_declared_table() {
    for target in ["sm_90", "compute_75"] {
        let wide = [table()[0].clone(), kernel("spike", &[(0, 8), (8, 8), (16, 8)])];
        let found = said(&report(&[&with(target, &["fixed"], &wide).seal()], &context()));
        assert_eq!(found.len(), 1, "{found:?}");
        let wanted = "kernel `spike`: parameter 3 has 8 bytes in the code and 4 bytes in the table";
        assert!(found[0].starts_with("kernel-abi | ") && found[0].ends_with(wanted), "{found:?}");
    }
    let fewer = [table()[0].clone(), kernel("spike", &[(0, 8)])];
    let found = said(&report(&[&with("sm_90", &["fixed"], &fewer).seal()], &context()));
    assert!(found[0].ends_with("kernel `spike`: the code has 1 parameter, the table 3 parameters"), "{found:?}");
    // The same difference in all targets is one finding.
    let wide = [table()[0].clone(), kernel("spike", &[(0, 8), (8, 8), (16, 8)])];
    let of = |target| with(target, &["fixed"], &wide).seal();
    let found = report(&[&of("sm_80"), &of("sm_90"), &of("compute_75")], &context()).findings;
    assert_eq!((found.len(), found[0].also.len()), (1, 2), "{found:?}");
    assert!(found[0].fix.as_deref().unwrap().contains("of 8 bytes in the table (ptr, u64, i64, f64)"), "{found:?}");

    let mut extra = table();
    extra.push(kernel("debug_dump", &[]));
    let found = said(&report(&[&with("sm_90", &["fixed"], &extra).seal()], &context()));
    assert!(found.len() == 1 && found[0].ends_with("kernel `debug_dump` is not in the declared table"), "{found:?}");
}

#[test]
fn tags_are_recomputed() {
    let mut tree = with("sm_90", &["fixed"], &table());
    tree.manifest.kernel_abi = Some("k000000000000".parse().unwrap());
    let tag = kernel_abi_tag(&table());
    let found = said(&report(&[&tree.seal()], &context()));
    assert_eq!(
        found,
        [
            format!("kernel-abi | volley-kernels-sm_90 | its table gives tag {tag}, it declares k000000000000"),
            format!(
                "kernel-abi | volley-kernels-sm_90: {} | lies under tag {tag}, the package's is k000000000000",
                dir("sm_90", "fixed")
            ),
        ]
    );
    let mut core = Tree::core();
    core.manifest.kernel_abi = Some("k111111111111".parse().unwrap());
    let found = said(&report(&[&core.seal(), &good("sm_90")], &context().partial(true)));
    assert_eq!(
        found,
        [format!("kernel-abi | volley-kernels-sm_90 | has kernel ABI tag {tag}, volley-core has k111111111111")]
    );
}

#[test]
fn every_target_has_every_kernel_in_every_variant() {
    let hole = with("sm_86", &["fixed", "float"], &table()[..1]).seal();
    let found = said(&report(&[&good("sm_80"), &good("sm_90"), &hole], &context()));
    let wanted = |variant: &str| {
        format!(
            "kernel-coverage | volley-kernels-sm_86: {} | `spike` missing (present in 4 other places)",
            dir("sm_86", variant)
        )
    };
    assert_eq!(found, [wanted("fixed"), wanted("float")]);

    let one = with("sm_86", &["fixed"], &table()).seal();
    let found = said(&report(&[&good("sm_80"), &one], &context()));
    assert_eq!(found, ["kernel-coverage | volley-kernels-sm_86 | variant `float` missing (1 other target has it)"]);

    let nowhere = with("sm_86", &["fixed"], &table()[..1]).seal();
    let found = said(&report(&[&nowhere], &context()));
    assert!(found[0].ends_with("`spike` missing (declared, compiled for no target)"), "{found:?}");
}

#[test]
fn damaged_device_code_is_incomplete_and_nothing_is_guessed() {
    let path = format!("{}/all.cubin", dir("sm_90", "fixed"));
    let mut bytes = cubin(SM_90, &table(), false);
    bytes[48] = 0;
    let report = report(&[&package("sm_90").file(&path, bytes).seal()], &context());
    assert_eq!(said(&report), [""; 0]);
    assert_eq!(report.verdict(), Verdict::Incomplete);
    assert_eq!(report.incomplete[0].topic, "device-code");
}

#[test]
fn device_code_in_core_is_named() {
    let core = Tree::core().file("share/volley/k.fatbin", fatbin(SM_90, &cubin(SM_90, &table(), false))).seal();
    denies(&[&core], &["core-device-code | volley-core: share/volley/k.fatbin | core holds device code: sm_90"]);
    passes(&[&Tree::core().file("share/volley/k.txt", "sm_90").seal()]);
}

#[test]
fn one_package_in_two_formats_counts_once() {
    let hole = with("sm_86", &["fixed"], &table()[..1]).seal();
    let whole = with("sm_80", &["fixed"], &table()).seal();
    let found = said(&report(&[&whole, &whole, &hole, &hole], &context()));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with("`spike` missing (present in 1 other place)"), "{found:?}");
}

/// What nvcc makes of a source text; the test's directory of a toolkit is `SIMPACK_TEST_CUDA`.
fn nvcc(toolkit: &std::path::Path, source: &str, flags: &[&str], name: &str) -> Vec<u8> {
    let work = tempfile::tempdir().unwrap();
    let (from, to) = (work.path().join("k.cu"), work.path().join(name));
    std::fs::write(&from, source).unwrap();
    let mut args = vec![from.to_str().unwrap(), "-o", to.to_str().unwrap()];
    args.extend(flags);
    crate::elf_fixture::run(toolkit.join("bin/nvcc").to_str().unwrap(), &args);
    std::fs::read(to).unwrap()
}

#[test]
fn code_of_the_real_compiler() {
    let Some(toolkit) = crate::skip::set_up("SIMPACK_TEST_CUDA") else { return };
    let source = "extern \"C\" __global__ void decay(float *v, int n) { if (n) v[threadIdx.x] *= 0.5f; }\n\
                  extern \"C\" __global__ void spike(float *v, const int *post, int n) { v[post[n]] += 1; }";
    let bundle = |target: &str, name: &str, flags: &[&str], source: &str| {
        let path = format!("{}/{name}", dir(target, "fixed"));
        package(target).file(&path, nvcc(&toolkit, source, flags, name)).seal()
    };
    for (target, arch) in [("sm_75", "sm_75"), ("sm_90", "sm_90"), ("sm_90a", "sm_90a"), ("sm_100f", "sm_100f")] {
        passes(&[&bundle(target, "k.cubin", &["-cubin", &format!("-arch={arch}")], source)]);
    }
    passes(&[&bundle("compute_75", "k.ptx", &["-ptx", "-arch=compute_75"], source)]);
    let lints = |bundle: &Sealed| -> Vec<String> {
        report(&[bundle], &context()).findings.into_iter().map(|finding| finding.lint).collect()
    };
    assert_eq!(lints(&bundle("sm_90", "k.cubin", &["-cubin", "-arch=sm_90a"], source)), ["kernel-capability"; 2]);
    assert_eq!(
        lints(&bundle("sm_90", "k.cubin", &["-cubin", "-arch=sm_90", "-rdc=true"], source)),
        ["kernel-relocatable"]
    );
    assert_eq!(lints(&bundle("sm_90", "k.cubin", &["-cubin", "-arch=sm_90", "-G"], source)), ["device-debug"]);
    let wide = source.replace("decay(float *v, int n)", "decay(float *v, long n)");
    assert_eq!(lints(&bundle("sm_90", "k.cubin", &["-cubin", "-arch=sm_90"], &wide)), ["kernel-abi"]);
    let shared = ["-shared", "-Xcompiler", "-fPIC", "-arch=sm_90", "-cudart", "none"];
    let mut core = Tree::core();
    core = core.file("lib/volley/p.so", nvcc(&toolkit, source, &shared, "p.so"));
    let found = lints(&core.seal());
    assert!(found.iter().filter(|lint| *lint == "core-device-code").count() >= 2, "{found:?}");
}
