//! Smoke tests of the doctor and programs it looks at before they run.

use crate::doctor_machine::{compiled, doctor, fired_of_cuda, stand_in};
use crate::support::{Prefix, Ran, scratch, set_up, skip};

/// The whole way: GPU found by the driver, three runs compared, the same in a record and in its replay.
#[test]
fn smoke_tests_are_recorded_and_replayed() {
    let Some(driver) = stand_in() else { return skip("no C++ compiler") };
    let prefix = Prefix::of(&["volley-core", "volley-kernels-sm_90", "volley-kernels-compute_75"]);
    let at = prefix.path().to_str().unwrap();
    let here = |args: &[&str]| {
        let mut command = doctor(args);
        Ran::of(command.env("LD_LIBRARY_PATH", driver.path()).env_remove("CUDA_VISIBLE_DEVICES"))
    };
    let replayed = |ran: Ran, code: i32| {
        let answer = ran.exit(code);
        let file = driver.path().join("machine.json");
        fs_err::write(&file, &answer.stdout).unwrap();
        let again = here(&["--replay", file.to_str().unwrap(), "--json"]).exit(code);
        assert_eq!(again.json(), answer.json());
        (answer.json(), here(&["--replay", file.to_str().unwrap()]).exit(code).stdout)
    };
    let (answer, page) = replayed(here(&[at, "--smoke", "--json"]), 0);
    let runs = answer["smoke"][0]["runs"].as_array().unwrap();
    let results: Vec<&str> = runs.iter().map(|run| run["result"]["kind"].as_str().unwrap()).collect();
    assert_eq!(results, ["passed"; 3]);
    assert!(page.contains("GPU 0  sm_90 (exact)       ok") && page.contains("GPU 0  compute_75 (PTX)    ok"), "{page}");
    // What fails there fails in the replay.
    fs_err::remove_file(prefix.path().join("share/volley/examples/balanced.toml")).unwrap();
    let (answer, page) = replayed(here(&[at, "--smoke", "--json"]), 1);
    assert_eq!(answer["smoke"][0]["runs"][0]["result"]["kind"], "failed");
    // What is broken comes first, and the last line knows of it.
    assert!(page.starts_with("broken    "), "{page}");
    assert!(page.contains("broken    volley 1.0.0: its smoke test fails on the CPU"), "{page}");
    assert!(page.trim_end().lines().last().unwrap().contains("broken") && !page.contains("nothing broken"), "{page}");
}

/// A program as brian2cuda makes it: generated code, the kernels and the host's part in one executable that is linked
/// with the CUDA runtime.
#[test]
fn a_generated_program_runs_where_its_code_does() {
    let Some(cuda) = set_up("SIMPACK_TEST_CUDA") else { return };
    let Some(driver) = stand_in() else { return skip("no C++ compiler") };
    let dir = scratch();
    let source = "__global__ void _run_kernel_neurongroup_stateupdater_codeobject(int n, double *v) {\n\
                  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) v[i] *= 0.5; }\n\
                  int main() { double *v; cudaMalloc(&v, 8 * 1024);\n\
                  _run_kernel_neurongroup_stateupdater_codeobject<<<4, 256>>>(1024, v);\n\
                  return cudaDeviceSynchronize() != cudaSuccess; }\n";
    let program = compiled(&cuda, dir.path(), "main", source, &["-arch=sm_86", "-cudart", "static"]);
    let run = |capability: &str, args: &[&str]| {
        let mut command = doctor(args);
        command.env("LD_LIBRARY_PATH", driver.path()).env("FAKE_CUDA_CAPABILITY", capability);
        Ran::of(command.arg(&program).env_remove("CUDA_VISIBLE_DEVICES"))
    };
    let page = run("8.9", &[]).exit(0).stdout;
    assert!(page.contains("GPU 0  Fake GPU  -> runs: sm_86 (as machine code)"), "{page}");
    // A problem of these files, not of the machine: the exit code stays.
    let answer = run("8.0", &["--json"]).exit(0).json();
    assert_eq!(fired_of_cuda(&answer), ["foreign-unserved"]);
    let page = run("8.0", &[]).exit(0).stdout;
    assert!(page.contains("problem   main: does not run on GPU 0 (Fake GPU, 8.0)"), "{page}");
    assert!(page.contains("main: compute_86: PTX of a higher capability than 8.0;"), "{page}");
    assert!(page.trim_end().lines().last().unwrap().contains("nothing broken"), "{page}");
    let github = run("8.0", &["--format", "github"]).exit(0).stdout;
    assert!(github.starts_with("::") && github.contains("does not run on GPU 0"), "{github}");
}
