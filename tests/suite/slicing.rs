//! `simpack slice` on libraries made here by the CUDA compiler for six capabilities and PTX, judged by
//! the loader, by `cuobjdump`, `strip` and `readelf`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::patching::{compile, compiler};
use crate::support::{Ran, files, need, python, scratch, set_up, simpack, tool};

const CAPABILITIES: [&str; 6] = ["75", "80", "86", "89", "90", "100"];

/// Kernels of two translation units behind host code with exceptions and thread-local data.
const FIRST: &str = r#"
#include <cuda_runtime.h>
#include <stdexcept>
thread_local int caught = 0;
__global__ void scale(float *x, float f, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= f; }
__global__ void add(float *x, const float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += y[i]; }
extern "C" int host_answer(int x) {
    try { if (x < 0) throw std::runtime_error("negative"); return x + 1; }
    catch (const std::exception &) { return 100 + ++caught; }
}
extern "C" int run_scale(float *x, int n) { scale<<<1, 32>>>(x, 2, n); add<<<1, 32>>>(x, x, n); return cudaGetLastError(); }
"#;
const SECOND: &str = r#"
#include <cuda_runtime.h>
__global__ void waves(double *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { double v = x[i]; for (int k = 0; k < 10; k++) v = sin(v) * exp(v) + pow(v, 1.5) + erf(v) + tgamma(v); x[i] = v; }
}
extern "C" int run_waves(double *x, int n) { waves<<<1, 32>>>(x, n); return cudaGetLastError(); }
"#;

/// A program that loads a library and calls its host code: exceptions are caught, thread-local data counts.
const CALLER: &str = "#include <dlfcn.h>\n#include <stdio.h>\n\
    int main(int count, char **args) {\n\
        void *library = dlopen(args[1], RTLD_NOW);\n\
        if (!library) { puts(dlerror()); return 1; }\n\
        int (*answer)(int) = (int (*)(int))dlsym(library, \"host_answer\");\n\
        return answer && answer(41) == 42 && answer(-1) == 101 && answer(-1) == 102 ? 0 : 2; }";

/// A directory with sources, compilers and a program that loads libraries.
pub struct Workshop {
    pub dir: tempfile::TempDir,
    pub cuda: PathBuf,
    cuobjdump: PathBuf,
}

impl Workshop {
    pub fn new() -> Option<Self> {
        let cuda = set_up("SIMPACK_TEST_CUDA")?;
        let mut python = python()?;
        let dir = scratch();
        let find = "import importlib.metadata as m; print(next(f.locate() for f in m.files('nvidia-cuda-cuobjdump') if f.name == 'cuobjdump'))";
        let found = Ran::of(python.args(["-c", find])).exit(0);
        let cuobjdump = dir.path().join("cuobjdump");
        fs_err::copy(found.stdout.trim(), &cuobjdump).unwrap();
        simpack::fs::set_mode(&cuobjdump, 0o755).unwrap();
        fs_err::write(dir.path().join("first.cu"), FIRST).unwrap();
        fs_err::write(dir.path().join("second.cu"), SECOND).unwrap();
        compile(dir.path(), "caller", CALLER, &["-ldl"]);
        Some(Self { dir, cuda, cuobjdump })
    }

    pub fn nvcc(&self, output: &str, flags: &[&str]) -> PathBuf {
        let mut command = Command::new(self.cuda.join("bin/nvcc"));
        command.current_dir(self.dir.path()).args(["-o", output, "-Xcompiler", "-fPIC"]).args(flags);
        Ran::of(&mut command).exit(0);
        self.dir.path().join(output)
    }

    /// A library for six capabilities and PTX.
    pub fn library(&self, name: &str, flags: &[&str]) -> PathBuf {
        let codes = gencode();
        let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
        if flags != ["-dlto"] {
            return self.nvcc(name, &[&["-shared", "first.cu", "second.cu"], flags, &codes].concat());
        }
        // Objects hold LTO-IR beside machine code; without `-dlto` the link leaves it in the library.
        let both: Vec<&str> = codes.iter().copied().chain(["-gencode=arch=compute_90,code=lto_90"]).collect();
        for source in ["first", "second"] {
            let (object, source) = (format!("lto-{source}.o"), format!("{source}.cu"));
            self.nvcc(&object, &[&["-dc", &source], &both[..]].concat());
        }
        self.nvcc(name, &[&["-shared", "-rdc=true", "lto-first.o", "lto-second.o"], &codes[..]].concat())
    }

    pub fn slice(&self, args: &[&str]) -> Ran {
        let args: Vec<&str> = ["slice"].into_iter().chain(args.iter().copied()).collect();
        Ran::of(&mut simpack(self.dir.path(), &args))
    }

    /// What `cuobjdump` lists: `sm_90` for machine code, `compute_90` for PTX, sorted.
    pub fn listed(&self, file: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for (flag, prefix) in [("-lelf", "sm_"), ("-lptx", "compute_")] {
            let ran = Ran::of(Command::new(&self.cuobjdump).arg(flag).arg(file));
            let lines = ran.stdout.lines().filter(|line| line.contains(" file "));
            found.extend(lines.map(|line| {
                let target = line.rsplit_once(".sm_").unwrap().1;
                format!("{prefix}{}", target.split('.').next().unwrap())
            }));
        }
        found.sort();
        found
    }

    /// The machine code for one capability as `cuobjdump` takes it out, in the file's order.
    fn cubins(&self, file: &Path, target: &str) -> Vec<Vec<u8>> {
        let dir = tempfile::tempdir_in(self.dir.path()).unwrap();
        let mut command = Command::new(&self.cuobjdump);
        Ran::of(command.current_dir(dir.path()).args(["-xelf", "all"]).arg(std::path::absolute(file).unwrap())).exit(0);
        let entries = fs_err::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let named = |path: &PathBuf| path.to_str().unwrap().contains(&format!(".{target}."));
        let mut found: Vec<PathBuf> = entries.filter(named).collect();
        found.sort();
        assert!(!found.is_empty(), "{}", file.display());
        found.iter().map(|path| fs_err::read(path).unwrap()).collect()
    }

    /// The loader takes it and its host code works.
    pub fn loads(&self, file: &Path) {
        let mut command = Command::new(self.dir.path().join("caller"));
        command.arg(std::path::absolute(file).unwrap()).env("LD_LIBRARY_PATH", self.cuda.join("lib"));
        Ran::of(&mut command).exit(0);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// Flags for code of six capabilities, and for PTX beside machine code.
pub fn gencode() -> Vec<String> {
    let flag = |number: &&str| format!("-gencode=arch=compute_{number},code=sm_{number}");
    let mut flags: Vec<String> = CAPABILITIES.iter().map(flag).collect();
    flags.push("-gencode=arch=compute_90,code=compute_90".to_owned());
    flags
}

/// `readelf` has nothing to say against the file.
pub fn is_sound(file: &Path) {
    let ran = Ran::of(Command::new("readelf").env("LC_ALL", "C").args(["-lSdrsW"]).arg(file)).exit(0);
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
}

/// Sections whose content is none of the device code.
fn other_sections(file: &Path) -> Vec<(String, u64, Vec<u8>)> {
    use object::{Object, ObjectSection};
    let bytes = fs_err::read(file).unwrap();
    let parsed = object::File::parse(&*bytes).unwrap();
    let kept =
        |name: &str| [".text", ".rodata", ".data", ".eh_frame", ".eh_frame_hdr", ".gcc_except_table"].contains(&name);
    parsed
        .sections()
        .filter(|section| kept(section.name().unwrap()))
        .map(|section| (section.name().unwrap().to_owned(), section.address(), section.data().unwrap().to_vec()))
        .collect()
}

/// Every way to build a fat library: the slices hold what was asked, load, and can be stripped and
/// sliced again.
#[test]
fn every_kind_of_library_is_sliced_and_loads() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let Some(shop) = Workshop::new() else { return };
    let kinds: [(&str, &[&str]); 8] = [
        ("plain", &["-cudart", "static"]),
        ("shared", &["-cudart", "shared"]),
        ("rdc", &["-rdc=true"]),
        ("lto", &["-dlto"]),
        ("none", &["--compress-mode=none"]),
        ("size", &["--compress-mode=size"]),
        ("speed", &["--compress-mode=speed"]),
        ("balance", &["--compress-mode=balance"]),
    ];
    for (kind, flags) in kinds {
        let name = format!("lib{kind}.so");
        let fat = shop.library(&name, flags);
        if kind == "lto" {
            for (rule, expected) in [("needed", 0), ("keep", 2), ("drop", 0)] {
                let ran = shop.slice(&[&name, "--capability", "9.0", "--lto", rule, "--dry-run", "--json"]).exit(0);
                let targets = ran.json()["slices"][0]["plan"]["targets"].clone();
                let lto = targets.as_array().unwrap().iter().find(|target| target["target"] == "lto_90").cloned();
                assert_eq!(lto.unwrap()["kept"], expected, "{rule}: {targets}");
            }
        }
        let before = shop.listed(&fat);
        for (capability, sm) in [("9.0", "sm_90"), ("8.6", "sm_86")] {
            let out = format!("{kind}-{sm}");
            shop.slice(&[&name, "--capability", capability, "--output", &out]).exit(0);
            let slice = shop.path(&out).join(&name);
            let expected: Vec<String> = before.iter().filter(|target| *target == sm).cloned().collect();
            assert!(!expected.is_empty(), "{kind}: {before:?}");
            assert_eq!(shop.listed(&slice), expected, "{kind} {capability}");
            let (old, new) = (fs_err::metadata(&fat).unwrap().len(), fs_err::metadata(&slice).unwrap().len());
            assert!(new < old - 16_000, "{kind} {capability}: {old} -> {new}");
            assert_eq!(other_sections(&slice), other_sections(&fat), "{kind} {capability}");
            is_sound(&slice);
            shop.loads(&slice);
            if sm == "sm_86" {
                continue;
            }
            for strip in ["strip", "llvm-strip"] {
                let Some(program) = tool(strip) else { continue };
                let stripped = shop.path(&out).join("stripped.so");
                Ran::of(Command::new(program).arg("-o").arg(&stripped).arg(&slice)).exit(0);
                shop.loads(&stripped);
                assert_eq!(shop.listed(&stripped), expected, "{kind} {capability} {strip}");
                let again = format!("{out}-again");
                let from = format!("{out}/stripped.so");
                shop.slice(&[&from, "--capability", capability, "--output", &again]).exit(0);
                shop.loads(&shop.path(&again).join("stripped.so"));
            }
        }
    }
}

/// Concatenated groups, which CUDA 13.5 makes with `-concat`, lose members and keep the others as they were.
#[test]
fn groups_of_the_newest_cuda_lose_members() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let (Some(mut shop), Some(newest)) = (Workshop::new(), set_up("SIMPACK_TEST_CUDA_NEWEST")) else { return };
    (shop.cuobjdump, shop.cuda) = (newest.join("bin/cuobjdump"), newest);
    let targets = ["75", "86", "90"].map(|number| format!("-gencode=arch=compute_{number},code=sm_{number}"));
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    for (name, mode) in [("libgroups.so", &["-concat"][..]), ("librdc.so", &["-concat", "-rdc=true"])] {
        let fat = shop.nvcc(name, &[&["-shared", "first.cu"], mode, &targets].concat());
        shop.slice(&[name, "--capability", "8.6", "--output", "cut"]).exit(0);
        let slice = shop.path("cut").join(name);
        let expected: Vec<String> = shop.listed(&fat).into_iter().filter(|target| target == "sm_86").collect();
        assert!(!expected.is_empty());
        assert_eq!(shop.listed(&slice), expected, "{name}");
        assert_eq!(shop.cubins(&slice, "sm_86"), shop.cubins(&fat, "sm_86"), "{name}");
        shop.loads(&slice);
        is_sound(&slice);
    }
}

/// Two capabilities and PTX, then one of them: the same bytes as in one step.
#[test]
fn a_second_slice_gives_what_one_slice_gives() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let Some(shop) = Workshop::new() else { return };
    shop.library("libfat.so", &[]);
    shop.slice(&["libfat.so", "--capability", "9.0", "--output", "one"]).exit(0);
    shop.slice(&["libfat.so", "--capability", "8.6,9.0", "--ptx", "keep", "--output", "both"]).exit(0);
    assert_eq!(
        shop.listed(&shop.path("both/libfat.so")),
        ["compute_90", "compute_90", "sm_86", "sm_86", "sm_86", "sm_90", "sm_90", "sm_90"]
    );
    shop.slice(&["both/libfat.so", "--capability", "9.0", "--output", "two"]).exit(0);
    let read = |name: &str| fs_err::read(shop.path(name)).unwrap();
    assert!(read("one/libfat.so") == read("two/libfat.so"), "two steps give other bytes than one");
    shop.slice(&["one/libfat.so", "--capability", "9.0", "--output", "three"]).exit(0);
    assert!(read("one/libfat.so") == read("three/libfat.so"), "slicing a slice changes it");
}

/// PTX alone, slices that keep the size, and a directory for each capability.
#[test]
fn ptx_room_and_directories() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let Some(shop) = Workshop::new() else { return };
    let fat = shop.library("libfat.so", &[]);
    shop.slice(&["libfat.so", "--capability", "9.0", "--ptx", "only", "--output", "ptx", "--allow-missing"]).exit(0);
    assert_eq!(shop.listed(&shop.path("ptx/libfat.so")), ["compute_90", "compute_90"]);
    shop.loads(&shop.path("ptx/libfat.so"));
    for flag in ["--zero", "--sparse"] {
        shop.slice(&["libfat.so", "--capability", "9.0", flag, "--output", flag.trim_start_matches('-')]).exit(0);
        let slice = shop.path(flag.trim_start_matches('-')).join("libfat.so");
        assert_eq!(fs_err::metadata(&slice).unwrap().len(), fs_err::metadata(&fat).unwrap().len());
        assert_eq!(shop.listed(&slice), ["sm_90", "sm_90", "sm_90"]);
        shop.loads(&slice);
    }
    let read = |name: &str| fs_err::read(shop.path(name)).unwrap();
    assert!(read("zero/libfat.so") == read("sparse/libfat.so"), "holes read differently from zeros");
    shop.slice(&["libfat.so", "--capability", "8.0,9.0", "--per-capability", "--output", "each"]).exit(0);
    for sm in ["sm_80", "sm_90"] {
        assert_eq!(shop.listed(&shop.path("each").join(sm).join("libfat.so")), [sm, sm, sm]);
    }
}

/// Kernels that would have no code are named, and nothing is written; a dry run writes nothing either.
#[test]
fn what_would_be_lost_is_refused_by_name() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let Some(shop) = Workshop::new() else { return };
    let flags = ["-shared", "first.cu", "-gencode=arch=compute_80,code=sm_80"];
    shop.nvcc("libnarrow.so", &flags);
    let ran = shop.slice(&["libnarrow.so", "--capability", "9.0"]).exit(1);
    assert!(
        ran.stdout.contains("refused") && ran.stdout.contains("2 kernels have no code for 9.0 in the fat file"),
        "{}",
        ran.stdout
    );
    assert!(!shop.path("sliced").exists());
    let ran = shop.slice(&["libnarrow.so", "--capability", "9.0", "--json"]).exit(1);
    let lost = &ran.json()["slices"][0]["plan"]["losses"][0];
    assert_eq!((lost["capability"].as_str(), lost["in-fat"].as_bool()), (Some("9.0"), Some(false)), "{lost}");
    assert!(!ran.stdout.contains("the fat file has code for them"), "{}", ran.stdout);
    let ran = shop.slice(&["libnarrow.so", "--capability", "8.0", "--ptx", "only"]).exit(1);
    assert!(ran.stdout.contains("2 kernels lose their code for 8.0:\n            add(float*"), "{}", ran.stdout);
    assert!(ran.stdout.contains("the fat file has code for them"), "{}", ran.stdout);
    shop.slice(&["libnarrow.so", "--capability", "9.0", "--allow-missing"]).exit(0);
    shop.loads(&shop.path("sliced/libnarrow.so"));
    let ran = shop.slice(&["libnarrow.so", "--capability", "8.6", "--dry-run", "--output", "dry"]).exit(0);
    assert!(ran.stdout.contains("would write") && ran.stdout.contains("sm_80"), "{}", ran.stdout);
    assert!(!shop.path("dry").exists());
    shop.slice(&["libnarrow.so", "--capability", "8.0", "--output", "."]).exit(2);
    shop.slice(&["caller", "--capability", "8.0"]).exit(6);
    shop.slice(&["libnarrow.so", "--capability", "9.2"]).exit(2);
}

/// Objects and static archives hold one capability afterwards, link, and the result loads.
#[test]
fn objects_and_archives_are_sliced_and_link() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let Some(shop) = Workshop::new() else { return };
    let codes = gencode();
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    for (kind, rdc) in [("whole", "-rdc=false"), ("rdc", "-rdc=true")] {
        let objects = ["first", "second"].map(|name| format!("{kind}-{name}-with-a-long-name.o"));
        for (object, source) in objects.iter().zip(["first.cu", "second.cu"]) {
            shop.nvcc(object, &[&["-c", rdc, source], &codes[..]].concat());
        }
        let run = |program: &str, args: &[&str]| {
            Ran::of(Command::new(program).current_dir(shop.dir.path()).args(args)).exit(0);
        };
        let (archive, merged) = (format!("lib{kind}.a"), format!("{kind}-merged.o"));
        run("ar", &["rcs", &archive, &objects[0], &objects[1]]);
        run("ld", &["-r", "-o", &merged, &objects[0], &objects[1]]);
        let out = format!("{kind}-out");
        let inputs = [archive.as_str(), &merged, &objects[0], &objects[1]];
        shop.slice(&[&inputs[..], &["--capability", "9.0", "--output", &out]].concat()).exit(0);
        for (name, count) in [(&archive, 2), (&merged, 2), (&objects[0], 1)] {
            let slice = shop.path(&out).join(name);
            assert_eq!(shop.listed(&slice), vec!["sm_90"; count], "{name}");
            let (old, new) =
                (fs_err::metadata(shop.path(name)).unwrap().len(), fs_err::metadata(&slice).unwrap().len());
            assert!(new < old - 6_000, "{name}: {old} -> {new}");
        }
        is_sound(&shop.path(&out).join(&merged));
        // The archive's symbol index must be right, or the linker finds nothing.
        let whole = format!("{out}/{archive}");
        let library = format!("{out}/liblinked.so");
        let wanted = "-Xlinker=-u,host_answer,-u,run_waves";
        shop.nvcc(&library, &["-shared", rdc, "-arch=sm_90", wanted, &whole]);
        shop.loads(&shop.path(&library));
        let expected = if rdc == "-rdc=true" { 1 } else { 2 };
        let listed = shop.listed(&shop.path(&library));
        assert!(listed.iter().filter(|target| *target == "sm_90").count() >= expected, "{listed:?}");
        if kind == "whole" {
            let library = format!("{out}/libmerged.so");
            shop.nvcc(&library, &["-shared", "-arch=sm_90", &format!("{out}/{merged}")]);
            shop.loads(&shop.path(&library));
        }
    }
}

/// Nobody knows who points at the containers: each stays where it is, with a gap behind it.
#[test]
fn containers_that_cannot_move_leave_a_gap_each() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let Some(shop) = Workshop::new() else { return };
    let fat = shop.library("libfat.so", &["--compress-mode=none"]);
    // The wrappers are where they were, under a name that says nothing.
    let rename = ["--rename-section", ".nvFatBinSegment=.other"];
    Ran::of(Command::new("objcopy").args(rename).arg(&fat)).exit(0);
    let ran = shop.slice(&["libfat.so", "--capability", "8.6", "--json"]).exit(0);
    let plan = &ran.json()["slices"][0]["plan"];
    let note = plan["notes"][0].as_str().unwrap();
    assert!(note.contains("there is no .nvFatBinSegment"), "{note}");
    let gaps: Vec<u64> = plan["gaps"].as_array().unwrap().iter().map(|gap| gap[1].as_u64().unwrap()).collect();
    assert!(gaps.len() >= 2 && gaps.iter().all(|gap| gap % 4096 == 0), "{plan}");
    let slice = shop.path("sliced/libfat.so");
    let (old, new) = (fs_err::metadata(&fat).unwrap().len(), fs_err::metadata(&slice).unwrap().len());
    // New section headers take a little of it.
    let saved: u64 = gaps.iter().sum();
    assert!(new < old && old - new <= saved && saved - (old - new) < 4096, "{old} -> {new}: {gaps:?}");
    // `cuobjdump` reads one section of that name; the others are behind gaps.
    assert_eq!(shop.listed(&slice), ["sm_86"]);
    let counted = |file: &Path| {
        let json = Ran::of(simpack(shop.dir.path(), &["inspect", "--json"]).arg(file)).exit(0).json();
        let images = json["subjects"][0]["files"][0]["images"].as_array().unwrap().clone();
        images.iter().filter(|image| image["target"] == "sm_86").count()
    };
    assert!(counted(&slice) > 1 && counted(&slice) == counted(&fat));
    assert_eq!(other_sections(&slice), other_sections(&fat));
    is_sound(&slice);
    shop.loads(&slice);
    let stripped = shop.path("sliced/stripped.so");
    Ran::of(Command::new("strip").arg("-o").arg(&stripped).arg(&slice)).exit(0);
    shop.loads(&stripped);
    shop.slice(&["sliced/libfat.so", "--capability", "8.6", "--output", "again"]).exit(0);
    assert!(fs_err::read(shop.path("again/libfat.so")).unwrap() == fs_err::read(&slice).unwrap());
}

/// The wheel `fat` with the library in it.
fn fat_wheel(shop: &Workshop) -> &'static str {
    shop.library("libfat.so", &[]);
    let make = "import zipfile\n\
        with zipfile.ZipFile('fat-1.0-py3-none-any.whl', 'w', zipfile.ZIP_DEFLATED) as wheel:\n\
        \twheel.writestr('fat/__init__.py', 'x = 1\\n')\n\
        \twheel.write('libfat.so', 'fat/libfat.so')\n\
        \twheel.writestr('fat-1.0.data/data/share/fat.txt', 'text')\n\
        \twheel.writestr('fat-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: fat\\nVersion: 1.0\\n\\nVersion: of a text\\n')\n\
        \twheel.writestr('fat-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n\\n')\n\
        \twheel.writestr('fat-1.0.dist-info/RECORD', ''.join(f'{name},,\\n' for name in [*wheel.namelist(), 'fat-1.0.dist-info/RECORD']))\n";
    Ran::of(python().unwrap().current_dir(shop.dir.path()).args(["-c", make])).exit(0);
    "fat-1.0-py3-none-any.whl"
}

/// A wheel stays a wheel: another version, digests that hold, and installers take it.
#[test]
fn wheels_are_sliced_and_install() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let Some(shop) = Workshop::new() else { return };
    let fat = fat_wheel(&shop);
    shop.slice(&[fat, "--capability", "9.0", "--output", "wheels"]).exit(0);
    let slice = shop.path("wheels/sm_90/fat-1.0+sm90-py3-none-any.whl");
    assert_eq!(files(&shop.path("wheels")), ["sm_90/fat-1.0+sm90-py3-none-any.whl"], "more than the wheel is left");
    // What a slice is called does not depend on the order of the call, nor on what was cut before.
    shop.slice(&[fat, "--capability", "9.0,8.0", "--output", "both"]).exit(0);
    let both = "both/sm_80-sm_90/fat-1.0+sm80.sm90-py3-none-any.whl";
    shop.slice(&[both, "--capability", "9.0", "--output", "again"]).exit(0);
    assert_eq!(files(&shop.path("again")), files(&shop.path("wheels")));
    // The digests, one by one, as another reader has them; what was no part of the change is as it was.
    let check = "import base64, csv, hashlib, sys, zipfile\n\
        wheel, fat = zipfile.ZipFile(sys.argv[1]), zipfile.ZipFile(sys.argv[2])\n\
        info = 'fat-1.0+sm90.dist-info/'\n\
        assert wheel.read(info + 'WHEEL') == fat.read('fat-1.0.dist-info/WHEEL')\n\
        assert wheel.read(info + 'METADATA').decode().endswith('Version: 1.0+sm90\\n\\nVersion: of a text\\n')\n\
        for name, digest, size in csv.reader(wheel.read(info + 'RECORD').decode().splitlines()):\n\
        \tif digest:\n\
        \t\tdata = wheel.read(name)\n\
        \t\tassert digest == 'sha256=' + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode(), name\n\
        \t\tassert int(size) == len(data), name\n";
    Ran::of(python().unwrap().args(["-c", check]).arg(&slice).arg(shop.path(fat))).exit(0);
    let verified =
        Ran::of(simpack(shop.dir.path(), &["verify", "--json", "--allow", "device-coverage"]).arg(&slice)).json();
    let lints: Vec<_> = verified["findings"].as_array().unwrap().iter().map(|finding| &finding["lint"]).collect();
    assert!(!lints.iter().any(|lint| **lint == "record-mismatch"), "{lints:?}");
    let ran = shop.slice(&[fat, "--capability", "12.0", "--ptx", "drop", "--output", "none"]).exit(1);
    assert!(ran.stdout.contains("refused") && ran.stdout.contains("waves"), "{}", ran.stdout);
    assert!(fs_err::read_dir(shop.path("none")).unwrap().next().is_none());
}

/// Each slice lies in a directory that installers take as an index: pip and uv find there what they are asked for by the
/// plain version, and only that slice.
#[test]
fn pip_and_uv_take_the_slice_of_the_index_that_they_are_given() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let Some(shop) = Workshop::new() else { return };
    let fat = fat_wheel(&shop);
    shop.slice(&[fat, "--capability", "8.0,9.0", "--per-capability", "--output", "index"]).exit(0);
    shop.slice(&[fat, "--capability", "9.0", "--ptx", "only", "--allow-missing", "--output", "index"]).exit(0);
    fs_err::create_dir(shop.path("index/fat")).unwrap();
    fs_err::copy(shop.path(fat), shop.path("index/fat").join(fat)).unwrap();
    for (index, version, listed) in [
        ("sm_80", "1.0+sm80", "sm_80"),
        ("sm_90", "1.0+sm90", "sm_90"),
        ("compute_90", "1.0+ptx90", "compute_90"),
        ("fat", "1.0", ""),
    ] {
        let links = shop.path("index").join(index);
        for (client, requirement) in [("pip", "fat==1.0"), ("uv", "fat==1.0"), ("pip", "fat"), ("uv", "fat")] {
            let target = shop.path(&format!("installed/{client}/{index}/{}", requirement.len()));
            let mut install = match client {
                "pip" => Command::new("python3"),
                _ => python().unwrap(),
            };
            let verb: &[&str] = match client {
                "pip" => &["-m", "pip", "--disable-pip-version-check", "install", "--no-deps"],
                _ => &["-m", "uv", "pip", "install", "--no-deps", "--no-cache", "--python", "python3"],
            };
            install.args(verb).args(["--no-index", "--find-links"]).arg(&links).arg("--target").arg(&target);
            Ran::of(install.arg(requirement)).exit(0);
            assert!(target.join(format!("fat-{version}.dist-info")).is_dir(), "{client} {index}");
            if !listed.is_empty() {
                assert!(
                    shop.listed(&target.join("fat/libfat.so")).iter().all(|target| target == listed),
                    "{client} {index}"
                );
            }
        }
    }
}

/// What the driver must be does not follow from the PTX that a slice lacks; what the fat file lacks is no loss.
#[test]
fn slices_need_the_driver_that_the_fat_file_needs() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let Some(shop) = Workshop::new() else { return };
    let fat = fat_wheel(&shop);
    shop.slice(&[fat, "--capability", "9.0", "--ptx", "drop", "--output", "out"]).exit(0);
    let needs = |path: &str| {
        let answer = Ran::of(&mut simpack(shop.dir.path(), &["doctor", "--json", path])).json();
        answer["foreign"][0]["reach"]["machine-code"].clone()
    };
    let (before, after) = (needs(fat), needs("out/sm_90/fat-1.0+sm90-py3-none-any.whl"));
    assert_eq!((&before["cuda"], &before["driver"]), (&after["cuda"], &after["driver"]));
    assert!(after["because"].as_str().unwrap().contains("compiler"), "{after}");
    // A library with a kernel that was never compiled for 8.0.
    let codes = |numbers: &[&str]| -> Vec<String> {
        numbers.iter().map(|number| format!("-gencode=arch=compute_{number},code=sm_{number}")).collect()
    };
    for (name, numbers) in [("first", &["80", "90"][..]), ("second", &["90"])] {
        let source = format!("{name}.cu");
        let object = format!("{name}.o");
        let mut args = vec!["-c", source.as_str()];
        let codes = codes(numbers);
        args.extend(codes.iter().map(String::as_str));
        shop.nvcc(&object, &args);
    }
    shop.nvcc("libhole.so", &["-shared", "first.o", "second.o"]);
    let ran = shop.slice(&["libhole.so", "--capability", "8.0", "--output", "hole"]).exit(0);
    assert!(
        ran.stdout.contains("no code for 8.0 in the fat file either") && !ran.stdout.contains("lose"),
        "{}",
        ran.stdout
    );
    assert_eq!(shop.listed(&shop.path("hole/libhole.so")), ["sm_80"]);
    // Nothing of it runs on 5.0: a slice for that alone would be empty, one for 8.0, too, would promise too much.
    for asked in ["5.0", "5.0,8.0"] {
        let ran = shop.slice(&["libhole.so", "--capability", asked, "--output", "hole"]).exit(1);
        assert!(
            ran.stdout.contains("refused") && ran.stdout.contains("ask for capabilities that it serves"),
            "{}",
            ran.stdout
        );
    }
}

/// A library that embeds a container as data and hands it to the driver itself (`cuModuleLoadData`), and what the
/// driver would be given: the container at that address, as long as it says.
const EMBEDDING: &str = "asm(\".section .rodata\\n.balign 8\\n.globl kernels\\nkernels: .incbin \\\"k.fatbin\\\"\\n.text\");\n\
    extern const unsigned char kernels[];\n\
    const void *given(void) { return kernels; }";
const TAKER: &str = "#include <dlfcn.h>\n#include <stdio.h>\n\
    int main(int count, char **args) {\n\
        void *library = dlopen(args[1], RTLD_NOW);\n\
        if (!library) { puts(dlerror()); return 1; }\n\
        const char *(*given)(void) = (const char *(*)(void))dlsym(library, \"given\");\n\
        FILE *file = fopen(args[2], \"wb\");\n\
        fwrite(given(), 1, 16 + *(unsigned long *)(given() + 8), file);\n\
        return fclose(file); }";

/// Where the bytes of a container lie in a library is what the driver is given: it reads as a container there.
#[test]
fn containers_in_data_are_cut_in_place_when_asked() {
    need!(compiler().is_some(), "no C compiler or no readelf");
    let Some(shop) = Workshop::new() else { return };
    let codes = ["80", "90"].map(|number| format!("-gencode=arch=compute_{number},code=sm_{number}"));
    shop.nvcc("k.fatbin", &["-fatbin", "first.cu", &codes[0], &codes[1], "-gencode=arch=compute_90,code=compute_90"]);
    let include = format!("-Wa,-I{}", shop.dir.path().display());
    compile(shop.dir.path(), "libdata.so", EMBEDDING, &["-shared", "-fPIC", &include]);
    compile(shop.dir.path(), "data.o", EMBEDDING, &["-c", "-fPIC", &include]);
    compile(shop.dir.path(), "taker", TAKER, &["-ldl"]);
    let ran = shop.slice(&["libdata.so", "--capability", "9.0"]).exit(6);
    assert!(ran.stderr.contains("no device code to slice") && ran.stderr.contains("--deep"), "{}", ran.stderr);
    for room in [&[][..], &["--zero"], &["--sparse"]] {
        let args = ["libdata.so", "data.o", "--capability", "9.0", "--deep"];
        let ran = shop.slice(&[&args, room].concat()).exit(0);
        assert!(ran.stdout.contains("warning   a container in ordinary data"), "{}", ran.stdout);
        // The object, too: linked, it gives what the slice of the library gives.
        let mut link = Command::new(compiler().unwrap());
        link.current_dir(shop.dir.path()).args(["-shared", "-o", "liblinked.so", "sliced/data.o"]);
        Ran::of(&mut link).exit(0);
        for library in ["sliced/libdata.so", "liblinked.so"] {
            is_sound(&shop.path(library));
            let taken = shop.path("taken.fatbin");
            Ran::of(Command::new(shop.path("taker")).arg(shop.path(library)).arg(&taken)).exit(0);
            assert_eq!(shop.listed(&taken), ["sm_90"], "{library} {room:?}");
            assert!(fs_err::metadata(&taken).unwrap().len() < fs_err::metadata(shop.path("k.fatbin")).unwrap().len());
        }
        let size = |name: &str| fs_err::metadata(shop.path(name)).unwrap().len();
        assert_eq!(size("sliced/libdata.so"), size("libdata.so"));
    }
}
