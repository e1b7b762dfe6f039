//! A kernel is compiled again when a file that it includes changes, or another would be found first;
//! and not for anything else.

use std::path::PathBuf;

use crate::support::{CacheView, Ran, changed, digests, scratch, simpack};

/// A recipe of one kernel that includes through two directories and the include path.
struct Tiny {
    dir: tempfile::TempDir,
    view: CacheView,
}

const KERNEL: &str = "\
#include \"near.h\"
#include <scale.h>
#include <cuda_fp16.h>
#if __has_include(<maybe.h>)
#include <maybe.h>
#endif
#ifdef __CUDA_ARCH__
#include \"device only.h\"
#endif
extern \"C\" __global__ void tiny_step(float *v, const float *input, unsigned count, float decay) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) v[i] = v[i] * decay * SCALE + NEAR * input[i];
}
";

impl Tiny {
    fn new() -> Self {
        let tiny = Self { dir: scratch(), view: CacheView::new(&[]) };
        Ran::of(&mut simpack(tiny.dir.path(), &["init", "tiny", "--dir", "tiny"])).exit(0);
        tiny.write("kernels/tiny.cu", KERNEL);
        tiny.write("kernels/near.h", "#include \"../shared/deep.h\"\n#define NEAR DEEP\n");
        tiny.write("kernels/unused.h", "#error nobody includes this\n");
        tiny.write("kernels/device only.h", "// nothing\n");
        tiny.write("shared/deep.h", "#define DEEP 1\n");
        tiny.write("second/scale.h", "#define SCALE 2\n");
        tiny.write("first/other.h", "// nothing\n");
        let recipe = fs_err::read_to_string(tiny.path("simpack.toml")).unwrap();
        // One step a capability is enough here.
        let (before, variants) = recipe.split_once("[kernels.main.variants").unwrap();
        let (_, after) = variants.split_once("\n\n").unwrap();
        let recipe = format!("{before}{after}");
        let flags = "flags = [\"-O3\", \"-I\", \"first\", \"-I\", \"second\", ";
        tiny.write("simpack.toml", &recipe.replacen("flags = [\"-O3\", ", flags, 1));
        tiny
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join("tiny").join(below)
    }

    fn write(&self, below: &str, text: &str) {
        fs_err::create_dir_all(self.path(below).parent().unwrap()).unwrap();
        fs_err::write(self.path(below), text).unwrap();
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = simpack(self.dir.path(), args);
        // A link of the source leads to a file beside it, which the user allows.
        command.env("SIMPACK_SOURCE_LINKS", self.dir.path());
        Ran::of(command.env("SIMPACK_CACHE_DIR", self.view.root.path()))
    }

    fn build(&self) -> Ran {
        let what = ["--component", "kernels", "--capability", "9.0", "--ptx", "none"];
        self.run(&[&["build", "tiny", "--json"], &what[..]].concat())
    }

    /// Whether a build compiles anything.
    fn compiles(&self) -> bool {
        let summary = self.build().exit(0).json();
        let steps = summary["steps"].as_array().unwrap();
        assert_eq!(steps.len(), 1);
        steps[0]["cached"] == false
    }
}

#[test]
fn editing_a_header_compiles_what_includes_it_and_nothing_else() {
    let tiny = Tiny::new();
    assert!(tiny.compiles());
    let first = digests(&tiny.dir.path().join("dist"));
    assert!(!tiny.compiles());
    tiny.write("kernels/unused.h", "#error another one\n");
    assert!(!tiny.compiles(), "a header that is not included");
    tiny.write("first/another.h", "// new\n");
    assert!(!tiny.compiles(), "a new header that nobody looks for");
    assert_eq!(changed(&first, &digests(&tiny.dir.path().join("dist"))), [""; 0]);

    tiny.write("kernels/near.h", "#include \"../shared/deep.h\"\n#define NEAR (DEEP + 1)\n");
    assert!(tiny.compiles(), "an included header");
    let why = tiny.run(&["plan", "--why-rebuilt"]).exit(0).stdout;
    assert!(why.contains("kernels/tiny.cu sm_90") && why.contains("header kernels/near.h"), "{why}");
    assert!(!why.contains("shared/deep.h"), "{why}");
    let second = digests(&tiny.dir.path().join("dist"));
    assert_ne!(changed(&first, &second), [""; 0]);

    tiny.write("shared/deep.h", "#define DEEP 3\n");
    assert!(tiny.compiles(), "a header that a header includes, outside of the unit's directory");
    tiny.write("kernels/device only.h", "// more\n");
    assert!(tiny.compiles(), "a header of the device's pass alone, with a blank in its name");
    tiny.write("first/scale.h", "#define SCALE 5\n");
    assert!(tiny.compiles(), "a new header that is found before the old one");
    tiny.write("second/maybe.h", "#undef SCALE\n#define SCALE 7\n");
    assert!(tiny.compiles(), "a header that was asked for and not there");
    tiny.write("second/cuda_fp16.h", "#include_next <cuda_fp16.h>\n");
    assert!(tiny.compiles(), "a header that hides one of the toolchain");

    // Back to an earlier state: every state's list is remembered.
    for gone in ["first/scale.h", "second/maybe.h", "second/cuda_fp16.h"] {
        fs_err::remove_file(tiny.path(gone)).unwrap();
    }
    tiny.write("kernels/device only.h", "// nothing\n");
    tiny.write("shared/deep.h", "#define DEEP 1\n");
    assert!(!tiny.compiles());
    assert_eq!(changed(&second, &digests(&tiny.dir.path().join("dist"))), [""; 0]);
}

/// The list of what was read passes through nvcc and a shell on its way to the preprocessor; a header that the host's
/// pass alone would read is in no device code, and in no key.
#[test]
fn the_list_is_that_of_the_devices_pass_wherever_it_is_written() {
    let tiny = Tiny::new();
    tiny.write("kernels/host.h", "#define NEAR 1\n");
    tiny.write("kernels/near.h", "#ifndef __CUDA_ARCH__\n#include \"host.h\"\n#else\n#define NEAR 1\n#endif\n");
    let mut keys = Vec::new();
    for work in ["work", "w,o r'k"] {
        let view = CacheView::new(&[]);
        let what = ["build", "tiny", "--component", "kernels", "--capability", "9.0", "--ptx", "7.5", "--work", work];
        let run =
            |args: &[&str]| Ran::of(simpack(tiny.dir.path(), args).env("SIMPACK_CACHE_DIR", view.root.path())).exit(0);
        run(&what);
        let plan = run(&["plan", "tiny", "--json", "--capability", "9.0", "--ptx", "7.5"]).json();
        let steps = plan["steps"].as_array().unwrap().iter().filter(|step| step["action"]["kind"] == "kernel");
        let steps: Vec<String> = steps.map(|step| step.to_string()).collect();
        assert_eq!(steps.len(), 2);
        for step in &steps {
            assert!(step.contains("header kernels/device only.h") && !step.contains("host.h"), "{step}");
        }
        keys.push(steps);
    }
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn a_plan_says_which_headers_make_a_key() {
    let tiny = Tiny::new();
    let why = |tiny: &Tiny| {
        tiny.run(&["plan", "tiny", "--why", "sm_90", "--capability", "9.0", "--ptx", "none"]).exit(0).stdout
    };
    let before = why(&tiny);
    assert!(before.contains("headers  known after the first compilation"), "{before}");
    assert!(!before.contains("near.h"), "{before}");
    tiny.build().exit(0);
    let after = why(&tiny);
    for header in ["kernels/near.h", "shared/deep.h", "second/scale.h", "kernels/device only.h"] {
        assert!(after.contains(&format!("header {header}  ")), "{after}");
    }
    assert!(!after.contains("unused.h") && !after.contains("cuda_fp16.h"), "{after}");
    let digest = simpack::fs::Digest::of_file(&tiny.path("kernels/near.h")).unwrap();
    assert!(after.contains(&format!("header kernels/near.h  {}", digest.short(12))), "{after}");
}

#[test]
fn what_lies_outside_of_the_source_is_named() {
    let tiny = Tiny::new();
    fs_err::write(tiny.dir.path().join("outside.h"), "#define NEAR 1\n").unwrap();
    tiny.write("kernels/near.h", "#include \"../../outside.h\"\n");
    let outside = fs_err::canonicalize(tiny.dir.path()).unwrap().join("outside.h");
    let ran = tiny.build().exit(5);
    // In a sandbox the compiler does not find it; without, its own list names it.
    assert!(ran.stderr.contains(&format!("undeclared read: {}", outside.display())), "{}", ran.stderr);
    assert!(ran.stderr.contains("copy "), "{}", ran.stderr);
    let args = ["build", "tiny", "--component", "kernels", "--capability", "9.0", "--ptx", "none", "--sandbox", "off"];
    let ran = tiny.run(&args).exit(5);
    assert!(
        ran.stderr.contains(&format!("includes {}, which is not in the source", outside.display())),
        "{}",
        ran.stderr
    );
    // A link inside the tree is a declaration: the file's digest is in the key.
    fs_err::os::unix::fs::symlink("../../outside.h", tiny.path("kernels/inside.h")).unwrap();
    tiny.write("kernels/near.h", "#include \"inside.h\"\n");
    assert!(tiny.compiles());
    fs_err::write(tiny.dir.path().join("outside.h"), "#define NEAR 2\n").unwrap();
    assert!(tiny.compiles());
}
