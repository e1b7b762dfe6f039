//! A real CUDA does what its description promises. `SIMPACK_TEST_CUDA` and `SIMPACK_TEST_CUDA_SYSTEM`
//! name directories as `CUDA_HOME` does; without them there is nothing to look at.

use std::path::PathBuf;

use crate::lastrun::VersionCache;
use crate::process::Call;
use crate::toolchain::{HostSearch, SystemSearch, nvcc_host_compiler, system_cuda};

const KERNEL: &str = "extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n";

/// Loads NVRTC as libvolley_rtc does, the builtins first, and compiles to machine code.
const NVRTC: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
typedef struct program *program;
int main(int count, char **args) {
  if (count > 2 && !dlopen(args[2], RTLD_NOW)) return 10;
  void *library = dlopen(args[1], RTLD_NOW);
  if (!library) return 11;
  int (*create)(program *, const char *, const char *, int, const char **, const char **) = dlsym(library, "nvrtcCreateProgram");
  int (*compile)(program, int, const char **) = dlsym(library, "nvrtcCompileProgram");
  int (*size_of)(program, size_t *) = dlsym(library, "nvrtcGetCUBINSize");
  program it;
  size_t size = 0;
  const char *option = "--gpu-architecture=sm_75";
  if (create(&it, "extern \"C\" __global__ void k(float *x) { *x = sinf(*x); }", "k.cu", 0, 0, 0)) return 12;
  int result = compile(it, 1, &option);
  if (result) return result;
  if (size_of(it, &size)) return 13;
  printf("%zu\n", size);
  return size > 1000 ? 0 : 14;
}
"#;

#[test]
fn compiles_links_and_compiles_at_run_time() {
    for name in ["SIMPACK_TEST_CUDA", "SIMPACK_TEST_CUDA_SYSTEM"] {
        if let Some(home) = crate::skip::set_up(name) {
            check(home);
        }
    }
}

fn check(home: PathBuf) {
    let cuda = system_cuda(&SystemSearch { home: Some(home), path: None }, None, &VersionCache::default()).unwrap();
    let newest = if cuda.cuda.major < 12 { 11 } else { 15 };
    let host = nvcc_host_compiler(&HostSearch::from_env(), 9, newest, &VersionCache::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let cxx = host.cxx.to_str().unwrap();
    let nvcc = || Call::new(&cuda.nvcc).dir(dir.path()).args(["-ccbin", cxx, "-arch=sm_75"]);

    file("t.cu", KERNEL);
    nvcc().args(["-cubin", "-o", "t.cubin", "t.cu"]).read().unwrap();
    let header = Call::new("readelf").dir(dir.path()).args(["-h", "t.cubin"]).read().unwrap();
    assert!(header.contains("NVIDIA CUDA"), "{header}");

    file("m.cu", &format!("{KERNEL}int main() {{ int n; return cudaGetDeviceCount(&n) == cudaErrorInvalidValue; }}\n"));
    nvcc().args(["-cudart", "shared", "-cudadevrt", "none", "-o", "m", "m.cu"]).read().unwrap();
    let lib = cuda.lib();
    Call::new(dir.path().join("m")).env("LD_LIBRARY_PATH", lib.to_str().unwrap()).read().unwrap();
    assert!(cuda.include().join("cuda_runtime.h").is_file());

    let Some(nvrtc) = &cuda.nvrtc else { return };
    file("n.c", NVRTC);
    let cc = Call::new("cc").dir(dir.path());
    cc.args(["-x", "c", "-w", "-o", "n", "n.c", "-ldl"]).read().unwrap();
    let run = Call::new(dir.path().join("n")).arg(nvrtc.library.to_str().unwrap());
    run.clone().arg(nvrtc.builtins.to_str().unwrap()).read().unwrap();
    if cuda.cuda.major == 13 && cuda.cuda.minor == 0 {
        // What the order is for: NVRTC_ERROR_BUILTIN_OPERATION_FAILURE.
        assert_eq!(run.run().unwrap().status.code(), Some(7));
    }
}
