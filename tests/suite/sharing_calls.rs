//! One compiler call may serve several capabilities of a unit, and nobody can tell by what comes out: not by bytes, nor
//! by what is rebuilt, nor by what is said when something fails.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::support::{Ran, Tiny, changed, digests, scratch, set_up};

/// A unit that looks at everything that a call for several capabilities could show differently: the list of
/// capabilities, names of its own, which hold the name of its first definition, and headers of some passes only.
const UNIT: &str = "\
#include \"common.h\"
#if __has_include(\"maybe.h\")
#include \"maybe.h\"
#endif
#if __CUDA_ARCH__ >= 900
#include \"newest.h\"
__device__ int first_of_all = NEWEST;
#endif
#if __CUDA_ARCH__ < MINIMUM
#error told to fail
#endif
#define WORDS_(x) #x
#define WORDS(x) WORDS_(x)
namespace {
__device__ int table[32];
__device__ __noinline__ float deep(float x) { return x * table[static_cast<int>(x)] * FACTOR; }
}
__device__ const int known[] = { __CUDA_ARCH_LIST__ };
__device__ const char named[] = WORDS(__CUDA_ARCH_LIST__);
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
__device__ int feature = 1;
#endif
extern \"C\" __global__ void tiny_step(float *v, unsigned count) {
  if (count > 1) *v = deep(*v) + known[count % (sizeof known / sizeof *known)] + named[count % sizeof named];
}
";

/// So much waits beside the unit that a call takes all of its capabilities.
const OTHER: &str = "extern \"C\" __global__ void zero_step(float *v) { *v = 0; }\n";

const TABLE: &str = r#"
edition = 1
[[kernel]]
name = "tiny_step"
source = "tiny.cu"
params = [{ name = "v", type = "ptr" }, { name = "count", type = "u32" }]
[[kernel]]
name = "zero_step"
source = "zero.cu"
params = [{ name = "v", type = "ptr" }]
"#;

struct Scene {
    tiny: Tiny,
}

impl Scene {
    fn new(cuda: PathBuf, release: &str, capabilities: &str) -> Self {
        let tiny = Tiny::at(scratch(), Some(cuda));
        tiny.change("cuda = [\"13.0\"]", &format!("cuda = [\"{release}\"]"));
        tiny.change("capabilities = [\"8.0\", \"9.0\"]", &format!("capabilities = [{capabilities}]"));
        tiny.change("[\"kernels/tiny.cu\"]", "[\"kernels/tiny.cu\", \"kernels/zero.cu\"]");
        tiny.write("recipe/kernels/table.toml", TABLE);
        tiny.write("recipe/kernels/tiny.cu", UNIT);
        tiny.write("recipe/kernels/zero.cu", OTHER);
        tiny.write("recipe/kernels/common.h", "#define FACTOR 2\n#define MINIMUM 700\n");
        tiny.write("recipe/kernels/newest.h", "#define NEWEST 90\n");
        Self { tiny }
    }

    /// Four capabilities with the CUDA of most tests, one of them with features of its own.
    fn newer() -> Option<Self> {
        Some(Self::new(set_up("SIMPACK_TEST_CUDA")?, "13.0", "\"7.5\", \"8.0\", \"9.0a\", \"10.0\""))
    }

    /// Builds the kernels into `name`, from nothing when that is new.
    fn build(&self, name: &str, args: &[&str]) -> Ran {
        let at = |kind: &str| format!("{name}/{kind}");
        let what = ["build", "recipe", "--toolchain", "system", "--component", "kernels", "--allow", "device-coverage"];
        let mut command = self.tiny.simpack(&what);
        command.args(["--dist", &at("dist"), "--work", &at("work")]).args(args);
        Ran::of(command.env("SIMPACK_CACHE_DIR", self.tiny.path(&at("cache"))))
    }

    /// What differs between the packages of two builds.
    fn changed(&self, one: &str, other: &str) -> Vec<String> {
        let packages = |name: &str| digests(&self.tiny.path(&format!("{name}/dist")));
        assert!(packages(one).len() > 4);
        changed(&packages(one), &packages(other))
    }

    /// For which targets the unit was compiled by calls that served others, too.
    fn shared(&self, name: &str) -> BTreeSet<String> {
        let logs = format!("{name}/work/logs");
        let unit = |name: &String| name.contains("kernels-tiny-cu");
        let shared = self.tiny.names(&logs).into_iter().filter(unit).filter(|name| {
            let log = fs_err::read_to_string(self.tiny.path(&logs).join(name)).unwrap();
            log.matches("-gencode=").count() > 1
        });
        shared.map(|name| name.split("tiny-cu-").nth(1).unwrap().split('-').next().unwrap().to_owned()).collect()
    }
}

/// Ids of the steps that a build compiled.
fn compiled(ran: &Ran) -> Vec<String> {
    let json = ran.json();
    let steps = json["steps"].as_array().unwrap().iter().filter(|step| step["cached"] == false);
    steps.map(|step| step["id"].as_str().unwrap().to_owned()).collect()
}

fn all_the_same(scene: &Scene, targets: [&str; 4]) {
    scene.build("alone", &["--jobs", "64"]).exit(0);
    assert_eq!(scene.shared("alone"), [].into());
    scene.build("together", &["--jobs", "1"]).exit(0);
    assert_eq!(scene.shared("together"), targets.map(str::to_owned).into());
    assert_eq!(scene.changed("alone", "together"), [""; 0]);
}

#[test]
fn a_shared_call_gives_what_calls_of_their_own_give() {
    let Some(scene) = Scene::newer() else { return };
    all_the_same(&scene, ["sm_75", "sm_80", "sm_90a", "sm_100"]);

    // And the next build takes it for that: a header of some capabilities compiles those, whoever made the others.
    scene.tiny.write("recipe/kernels/newest.h", "#define NEWEST 91\n");
    for (name, jobs) in [("together", "1"), ("alone", "64")] {
        let ran = scene.build(name, &["--json", "--jobs", jobs]).exit(0);
        let expected = ["kernels/tiny.cu sm_100 (default)", "kernels/tiny.cu sm_90a (default)"];
        assert_eq!(compiled(&ran), expected);
    }
    scene.tiny.write("recipe/kernels/maybe.h", "#undef FACTOR\n#define FACTOR 3\n");
    let ran = scene.build("together", &["--json", "--jobs", "1"]).exit(0);
    assert_eq!(compiled(&ran).len(), 4, "a header that every pass asked for");
    scene.build("alone", &["--jobs", "64"]).exit(0);
    assert_eq!(scene.changed("alone", "together"), [""; 0]);
}

#[test]
fn so_it_does_with_an_older_compiler() {
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA_SYSTEM") else { return };
    let scene = Scene::new(cuda, "11.8", "\"7.0\", \"7.5\", \"8.6\", \"9.0\"");
    all_the_same(&scene, ["sm_70", "sm_75", "sm_86", "sm_90"]);
}

#[test]
fn flags_that_a_shared_call_would_mix_up_keep_their_steps_alone() {
    let Some(scene) = Scene::newer() else { return };
    scene.tiny.change("flags = [\"-O3\"]", "flags = [\"-O3\", \"-Xptxas\", \"-v\"]");
    scene.build("together", &["--jobs", "1"]).exit(0);
    assert_eq!(scene.shared("together"), [].into());
}

#[test]
fn one_capability_that_fails_is_named_and_the_others_are_kept() {
    let Some(scene) = Scene::newer() else { return };
    scene.tiny.write("recipe/kernels/common.h", "#define FACTOR 2\n#define MINIMUM 800\n");
    let ran = scene.build("kept", &["--jobs", "1", "--keep-going", "--verbose"]).exit(5);
    let said = &ran.stderr;
    assert!(said.contains("kernels/tiny.cu sm_100 (default) and 3 more one by one: exit 1"), "{said}");
    assert!(said.contains("error: nvcc failed on kernels/tiny.cu sm_75 (default), exit 1"), "{said}");
    assert!(said.contains("told to fail") && said.contains("7 finished steps are kept"), "{said}");
    assert!(!said.contains("more steps failed"), "{said}");
    let quiet = scene.build("kept", &["--jobs", "1"]).exit(5).stderr;
    assert!(!quiet.contains("one by one") && quiet.contains("nvcc failed on kernels/tiny.cu sm_75"), "{quiet}");
    scene.tiny.write("recipe/kernels/common.h", "#define FACTOR 2\n#define MINIMUM 700\n");
    scene.build("kept", &["--jobs", "1"]).exit(0);
    scene.build("alone", &["--jobs", "64"]).exit(0);
    assert_eq!(scene.changed("alone", "kept"), [""; 0]);
}

/// A shared call that fails, lies or hangs costs its time and nothing else.
#[test]
fn whatever_a_shared_call_does_the_packages_are_the_same() {
    let Some(scene) = Scene::newer() else { return };
    // One compiler for all: its calls do what a file beside it says.
    let (count, does) = (scene.tiny.path("count"), scene.tiny.path("does"));
    let first = format!("case \"$*\" in *-gencode*) echo >> '{}'; . '{}';; esac", count.display(), does.display());
    scene.tiny.nvcc(&first);
    scene.build("alone", &["--jobs", "64", "--sandbox", "off"]).exit(0);
    for (name, what) in [
        ("crashes", "ulimit -c 0; kill -SEGV $$"),
        ("is-killed", "kill -KILL $$"),
        ("makes-nothing", "exit 0"),
        ("hangs", "sleep 600"),
        ("lists-nothing", "\"$NVCC\" \"$@\"; find '{work}' -path '*/kept/tiny.compute_80.cpp1.d' -delete; exit 0"),
    ] {
        let work = scene.tiny.path(&format!("{name}/work"));
        scene.tiny.write("does", &what.replace("{work}", &work.display().to_string()));
        // The compilers of this test leave marks outside of their step.
        let ran = scene.build(name, &["--jobs", "1", "--sandbox", "off", "--step-timeout", "5s"]).exit(0);
        assert!(!ran.stderr.contains("one by one") && !ran.stderr.contains("memory"), "{}", ran.stderr);
        let calls = fs_err::read_to_string(&count).unwrap().lines().count();
        // Who waits too long once does not wait again.
        let expected = if name == "hangs" { 1 } else { 2 };
        assert_eq!(calls, expected, "{name}");
        fs_err::remove_file(&count).unwrap();
        assert_eq!(scene.changed("alone", name), [""; 0], "{name}");
        let left = scene.tiny.names(&format!("{name}/work"));
        assert!(left.iter().all(|name| !name.starts_with("step-")), "{left:?}");
    }
}
