//! Device code in files of every kind, and against NVIDIA's own tools where they are given.

use std::path::{Path, PathBuf};

use super::*;
use crate::arch::KernelTarget;
use crate::arch::Suffix;
use crate::elf::fixture as host;
use crate::gpu::containers::in_data::containers_in;
use crate::gpu::fixture::{self, PTX, Store, container, entry};

/// A host object whose section `name` holds `content`.
fn object(dir: &Path, name: &str, content: &[u8]) -> PathBuf {
    let data = dir.join("content");
    std::fs::write(&data, content).unwrap();
    let source = format!(".section {name},\"a\"\n.balign 8\n.incbin \"{}\"\n", data.display());
    let text = dir.join("object.s");
    std::fs::write(&text, source).unwrap();
    let object = dir.join("object.o");
    host::run("gcc", &["-c", "-o", object.to_str().unwrap(), text.to_str().unwrap()]);
    object
}

fn sample() -> Vec<u8> {
    let cubin = fixture::cubin(8, 0x0600_5a04, &[2, 9, 1, 0], None);
    container(&[
        entry(2, 90, 0x10_0011, &cubin, Store::Zstd),
        entry(1, 75, 0x11, PTX.as_bytes(), Store::Lz4),
        entry(0x40, 90, 0x11, b"future", Store::Raw),
    ])
}

fn targets(code: &DeviceCode) -> Vec<String> {
    code.targets().iter().map(ToString::to_string).collect()
}

#[test]
fn objects_archives_and_loose_files() {
    let dir = host::dir();
    let object = object(dir.path(), ".nv_fatbin", &sample());
    let archive = dir.path().join("lib.a");
    host::run("ar", &["rc", archive.to_str().unwrap(), object.to_str().unwrap()]);
    for (path, place) in [(&object, ".nv_fatbin"), (&archive, "object.o: .nv_fatbin")] {
        let code = device_code(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(targets(&code), ["compute_75", "sm_90a"]);
        assert_eq!(code.images[0].place.to_string(), place);
        assert_eq!(code.images.len(), 3, "unknown kinds are listed");
        assert_eq!(code.unexamined.len(), 1, "and said to be unknown: {:?}", code.unexamined);
        let kernels: Vec<_> = code.targets().iter().map(|target| code.kernels_of(*target)).collect();
        assert_eq!(kernels[0], kernels[1]);
    }
    // A member that is the code itself has no section.
    let member = dir.path().join("code.fatbin");
    std::fs::write(&member, sample()).unwrap();
    let archive = dir.path().join("loose.a");
    host::run("ar", &["rc", archive.to_str().unwrap(), member.to_str().unwrap()]);
    let inside = device_code(&std::fs::read(archive).unwrap()).unwrap();
    assert_eq!(inside.images[0].place, CodePlace::of_member("code.fatbin"));
    assert_eq!(
        (inside.images[0].place.to_string(), inside.images[0].place.member()),
        ("code.fatbin".into(), "code.fatbin")
    );
    let loose = device_code(&sample()).unwrap();
    assert_eq!(targets(&loose), ["compute_75", "sm_90a"]);
    assert_eq!(targets(&device_code(PTX.as_bytes()).unwrap()), ["compute_75"]);
    assert_eq!(targets(&device_code(&fixture::cubin(8, 0x0600_5a04, &[], None)).unwrap()), ["sm_90"]);
    assert!(device_code(b"some text").unwrap().is_empty());
    assert!(device_code(&std::fs::read("/proc/self/exe").unwrap()).unwrap().is_empty());
}

#[test]
fn listing_reads_no_kernels() {
    let code = device_code_with(&sample(), Look::default()).unwrap();
    assert_eq!(targets(&code), ["compute_75", "sm_90a"]);
    assert!(code.images.iter().all(|image| image.kernels.is_empty()));
}

/// The release does not hang on the PTX, which a slice may lack.
#[test]
fn listing_tells_the_compiler_of_each_capability() {
    let cubin = |padding: usize| {
        let mut bytes = fixture::cubin(8, 0x0600_5a04, &[2, 9, 1, 0], Some("-arch sm_90a"));
        bytes.resize(bytes.len() + padding, 0);
        bytes
    };
    let entries = [cubin(8000), cubin(9000)].map(|bytes| entry(2, 90, 0x10_0011, &bytes, Store::Zstd));
    let code = device_code_with(&container(&entries), Look::default()).unwrap();
    let compilers: Vec<_> = code.images.iter().map(|image| image.compilers.concat()).collect();
    assert_eq!(compilers, ["ptxas 13.0, V13.0.88", ""]);
}

#[test]
fn hidden_containers_are_found_when_asked() {
    let dir = host::dir();
    let object = object(dir.path(), ".data.hidden", &[vec![1; 24], sample()].concat());
    let bytes = std::fs::read(object).unwrap();
    assert!(device_code(&bytes).unwrap().is_empty());
    let code = device_code_with(&bytes, Look { kernels: true, deep: true }).unwrap();
    assert_eq!(targets(&code), ["compute_75", "sm_90a"]);
    assert!(code.images.iter().all(|image| image.hidden));
}

/// A library with a container in its data, as cuFFT is; `code` is C beside it.
fn library_with_data(dir: &Path, code: &str, flags: &[&str]) -> Vec<u8> {
    let data = dir.join("data");
    std::fs::write(&data, [vec![1; 24], sample()].concat()).unwrap();
    let assembly = format!(".section .ldata,\\\"aw\\\"\\n.balign 8\\n.incbin \\\"{}\\\"\\n.text\\n", data.display());
    let source = format!("#include <dlfcn.h>\n__asm__(\"{assembly}\");\n{code}\n");
    let all = [&["-shared", "-fPIC", "-O1"], flags].concat();
    std::fs::read(host::compile(dir, "libdata.so", &source, &all)).unwrap()
}

#[test]
fn data_of_files_that_name_cuda_are_always_searched() {
    let dir = host::dir();
    let opens = "void *f(void) { return dlopen(\"libcuda.so.1\", 1); }";
    let named = ["-Wl,-soname,libcudata.so.1"];
    let registers = "extern void __cudaRegisterFatBinary(void *); void f(void) { __cudaRegisterFatBinary(0); }";
    for (code, flags) in [(opens, &[][..]), ("int a;", &named[..]), (registers, &[][..])] {
        let bytes = library_with_data(dir.path(), code, flags);
        for look in [Look::default(), Look { kernels: true, deep: false }] {
            let found = device_code_with(&bytes, look).unwrap();
            assert_eq!(targets(&found), ["compute_75", "sm_90a"], "{code}");
            assert!(found.images.iter().all(|image| image.hidden && image.place.to_string() == "data"));
        }
    }
    // The driver's name alone, in a file that opens nothing, or another name.
    for code in ["const char *name = \"libcuda.so.1\";", "void *f(void) { return dlopen(\"libm.so.6\", 1); }"] {
        let bytes = library_with_data(dir.path(), code, &[]);
        assert!(device_code(&bytes).unwrap().is_empty(), "{code}");
        assert!(!device_code_with(&bytes, Look { kernels: false, deep: true }).unwrap().is_empty());
    }
}

#[test]
fn code_without_kernels_is_told_by_a_look_at_headers_too() {
    let ptx = "//\n.version 8.0\n.target sm_75\n.address_size 64\n";
    let stub =
        container(&[entry(1, 75, 0x11, ptx.as_bytes(), Store::Raw), entry(1, 75, 0x11, PTX.as_bytes(), Store::Raw)]);
    for look in [Look::default(), Look { kernels: true, deep: false }] {
        let found = device_code_with(&stub, look).unwrap();
        assert_eq!(found.images.iter().map(|image| image.empty).collect::<Vec<_>>(), [true, false]);
        assert_eq!(found.targets().len(), 1);
    }
}

/// Found by fuzzing: slices of containers that lie in each other were larger than the file.
#[test]
fn a_hidden_container_does_not_reach_into_a_known_one() {
    let known = sample();
    let entry = fixture::entry(2, 90, 0x11, &[0; 64], fixture::Store::Raw);
    let mut first = fixture::container(&[entry]);
    let before = first.len();
    let bytes = [first.clone(), known.clone()].concat();
    let budget = crate::budget::Budget::of(&bytes);
    let mut seen = super::Ranges::default();
    assert!(seen.add(before as u64, bytes.len() as u64));
    assert!(!seen.add(0, before as u64 + 1) && !seen.add(bytes.len() as u64 - 1, u64::MAX));
    assert_eq!(containers_in(&bytes, &[(0, u64::MAX)], &seen, &budget, None).len(), 1);
    // One entry of it is the known container.
    let size = u64::from_le_bytes(first[24..32].try_into().unwrap()) + known.len() as u64;
    first[24..32].copy_from_slice(&size.to_le_bytes());
    let size = u64::from_le_bytes(first[8..16].try_into().unwrap()) + known.len() as u64;
    first[8..16].copy_from_slice(&size.to_le_bytes());
    let bytes = [first, known].concat();
    assert_eq!(containers_in(&bytes, &[(0, u64::MAX)], &super::Ranges::default(), &budget, None).len(), 1);
    assert_eq!(containers_in(&bytes, &[(0, u64::MAX)], &seen, &budget, None).len(), 0);
}

/// The search goes window by window, in each part by itself.
#[test]
fn a_hidden_container_is_found_in_the_last_part_and_across_windows() {
    let size = 20 << 20;
    for at in [64, (8 << 20) - 4, (8 << 20), (16 << 20) - 1, size] {
        let bytes = [vec![0; at], sample(), vec![0; size - at]].concat();
        let budget = crate::budget::Budget::of(&bytes);
        let all = bytes.len() as u64;
        for parts in [vec![(0, all)], vec![(0, 16), (32, at as u64), (at as u64, all)]] {
            let found = containers_in(&bytes, &parts, &super::Ranges::default(), &budget, None);
            assert_eq!(found.iter().map(|container| container.at).collect::<Vec<_>>(), [at as u64], "{at} {parts:?}");
        }
    }
}

#[test]
fn bundles_of_hip_name_their_targets() {
    let dir = host::dir();
    let ids = ["host-x86_64-unknown-linux-gnu-", "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"];
    let bundle = fixture::offload_bundle(&ids);
    let object = object(dir.path(), ".hip_fatbin", &bundle);
    let pieces = host::dir();
    let piece = self::object(pieces.path(), "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx942", b"code");
    for (bytes, place, label) in [
        (std::fs::read(object).unwrap(), ".hip_fatbin", "gfx90a:xnack-"),
        (std::fs::read(piece).unwrap(), "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx942", "gfx942"),
        (bundle, "", "gfx90a:xnack-"),
    ] {
        let code = device_code(&bytes).unwrap();
        assert_eq!(code.unexamined, [""; 0]);
        let [image] = &code.images[..] else { panic!("{:?}", code.images) };
        assert_eq!((image.kind, image.place.to_string().as_str()), (CodeKind::Offload, place));
        assert_eq!((image.label.as_deref(), image.target()), (Some(label), None));
    }
}

#[test]
fn slim_objects_say_that_nothing_can_be_said() {
    let dir = host::dir();
    let source = dir.path().join("lto.c");
    std::fs::write(&source, "int f(void) { return 1; }\n").unwrap();
    for (flags, said) in [(vec!["-fno-fat-lto-objects"], 1), (vec!["-ffat-lto-objects"], 0)] {
        let output = dir.path().join("lto.o");
        let common = ["-flto", "-c", "-o", output.to_str().unwrap(), source.to_str().unwrap()];
        host::run("gcc", &[&common[..], &flags].concat());
        let code = device_code(&std::fs::read(&output).unwrap()).unwrap();
        assert_eq!(code.unexamined.len(), said, "{:?}", code.unexamined);
        assert!(code.unexamined.iter().all(|reason| reason.contains("slim LTO")));
    }
}

#[test]
fn an_entry_that_lies_about_its_code_is_not_examined() {
    let cubin = fixture::cubin(8, 0x0600_5a04, &[], None);
    let code = device_code(&container(&[entry(2, 80, 0x11, &cubin, Store::Raw)])).unwrap();
    assert!(code.unexamined[0].contains("says 8.0 and holds code for 9.0"), "{:?}", code.unexamined);
}

/// Where CUDA is installed; tests against it are skipped without.
fn cuda() -> Option<PathBuf> {
    crate::skip::set_up("SIMPACK_TEST_CUDA")
}

const SOURCE: &str = r#"
struct S { char a; double b; short c; };
struct __align__(16) Q { float x[5]; };
struct B { char x[20000]; };
extern "C" __global__ void one(float *a, int n, double d, char c, S s, Q q) {
    __shared__ float t[32];
    t[threadIdx.x % 32] = a[n];
    __syncthreads();
    a[threadIdx.x] = t[31 - threadIdx.x % 32] + n + d + c + s.b + q.x[2];
}
__global__ void __launch_bounds__(256) two(unsigned char f, long long *p, const int *q) { p[0] = f + q[1]; }
__global__ void none() {}
extern "C" __global__ void big(const __grid_constant__ B b, int *p) { *p = b.x[threadIdx.x]; }
extern "C" __global__ void mixed(int a, double b, char c, short d, float3 e, int4 f, void *g, bool h, long long i) {
    *(double *)g = a + b + c + d + e.x + f.y + h + i;
}
template <int N> __global__ void many(double *d, long long q) { d[q] = N; }
template __global__ void many<3>(double *, long long);
"#;

fn nvcc(cuda: &Path, dir: &Path, output: &str, flags: &[&str]) -> Vec<u8> {
    let source = dir.join("kernels.cu");
    std::fs::write(&source, SOURCE).unwrap();
    let output = dir.join(output);
    let mut args = vec!["-o", output.to_str().unwrap(), source.to_str().unwrap()];
    args.extend(flags);
    host::run(cuda.join("bin/nvcc").to_str().unwrap(), &args);
    std::fs::read(output).unwrap()
}

#[test]
fn nvcc_cubins_agree_with_its_ptx() {
    let Some(cuda) = cuda() else { return };
    let dir = host::dir();
    for arch in ["75", "80", "86", "89", "90", "90a", "100", "100a", "100f", "120", "120a", "120f"] {
        let capability = Capability::from_arch(arch).unwrap();
        let sass = device_code(&nvcc(&cuda, dir.path(), "k.cubin", &["-cubin", &format!("-arch=sm_{arch}")])).unwrap();
        let text = device_code(&nvcc(&cuda, dir.path(), "k.ptx", &["-ptx", &format!("-arch=compute_{arch}")])).unwrap();
        assert_eq!(sass.targets(), [KernelTarget::Sass(capability)]);
        assert_eq!(text.targets(), [KernelTarget::Ptx(capability)]);
        let kernels = sass.kernels_of(KernelTarget::Sass(capability));
        assert_eq!(kernels.len(), 6);
        assert_eq!(kernels, text.kernels_of(KernelTarget::Ptx(capability)), "{arch}");
        assert!(sass.images[0].compilers[0].starts_with("ptxas "), "{:?}", sass.images[0].compilers);
    }
}

#[test]
fn nvcc_objects_in_every_mode() {
    let Some(cuda) = cuda() else { return };
    let dir = host::dir();
    let all = [
        "-c",
        "-gencode=arch=compute_80,code=sm_80",
        "-gencode=arch=compute_90a,code=sm_90a",
        "-gencode=arch=compute_100f,code=sm_100f",
        "-gencode=arch=compute_75,code=compute_75",
    ];
    let expected = ["compute_75", "sm_80", "sm_90a", "sm_100f"];
    let modes: &[&[&str]] = &[
        &[],
        &["-rdc=true"],
        &["-G"],
        &["-lineinfo"],
        &["--compress-mode=size"],
        &["--compress-mode=speed"],
        &["--compress-mode=none"],
        &["-Xfatbin=-compress-all"],
        &["-static-global-template-stub=false"],
    ];
    for mode in modes {
        let flags = [&all[..], mode].concat();
        let code = device_code(&nvcc(&cuda, dir.path(), "k.o", &flags)).unwrap();
        assert_eq!(code.unexamined, [""; 0], "{mode:?}");
        assert_eq!(targets(&code), expected, "{mode:?}");
        let kernels = code.kernels_of(code.targets()[0]);
        assert_eq!(kernels.len(), 6);
        for target in code.targets() {
            assert_eq!(code.kernels_of(target), kernels, "{mode:?} {target}");
        }
        assert_eq!(code.images.iter().all(|image| image.debug), mode.contains(&"-G"), "{mode:?}");
        assert_eq!(code.images.iter().any(|image| image.relocatable), mode.contains(&"-rdc=true"), "{mode:?}");
        assert!(code.images.iter().any(|image| image.capability.is_some_and(|it| it.suffix == Suffix::Family)));
    }
    if host::run(cuda.join("bin/nvcc").to_str().unwrap(), &["--help"]).contains("--concat") {
        let code = device_code(&nvcc(&cuda, dir.path(), "g.o", &["-c", "-concat", "-arch=all"])).unwrap();
        assert_eq!(code.unexamined, [""; 0]);
        assert!(code.targets().len() > 8, "{:?}", targets(&code));
        assert!(code.targets().iter().all(|target| code.kernels_of(*target).len() == 6));
    }
    let lto = device_code(&nvcc(&cuda, dir.path(), "l.o", &["-c", "-dlto", "-arch=sm_90"])).unwrap();
    assert!(lto.images.iter().any(|image| image.kind == CodeKind::LtoIr), "{lto:?}");
}

/// Found by fuzzing: a head of so many bytes can end between the two letters that begin a comment.
#[test]
fn a_comment_that_the_head_cuts_may_be_code() {
    let text = format!("{}// by hand\n.version 8.0\n.target sm_80\n", "\n".repeat(63));
    assert!(super::may_hold_code(&text.as_bytes()[..64]) && super::may_hold_code(text.as_bytes()));
    assert!(!super::may_hold_code(b"text"));
}
