# Written by `simpack generate nix`: change the recipe of volley or the template, not this file.
{
  lib,
  config,
  stdenv,
  cmake,
  ninja,
  symlinkJoin,
  autoAddDriverRunpath,
  cudaPackages,
  # Capabilities whose device code is built; PTX is built all the same.
  cudaCapabilities ? config.cudaCapabilities or [ ],
}:
let
  inherit (cudaPackages) backendStdenv cuda_nvcc;

  # What the recipe builds by default, by CUDA release.
  recipeTargets = {
    "13.0" = [
      "sm_75"
      "sm_80"
      "sm_86"
      "sm_89"
      "sm_90"
      "sm_100"
      "sm_120"
      "compute_75"
      "compute_120"
    ];
  };
  release = cudaPackages.cudaMajorMinorVersion;
  targets = recipeTargets.${release} or recipeTargets."13.0";
  isPtx = lib.hasPrefix "compute_";
  wanted = map (capability: "sm_" + lib.replaceStrings [ "." ] [ "" ] capability) cudaCapabilities;
  kernelTargets = if cudaCapabilities == [ ] then targets else wanted ++ lib.filter isPtx targets;

  # For consumers that expect CUDA in one directory.
  cudaMerged = symlinkJoin {
    name = "cuda-merged-${release}";
    paths = lib.concatMap (component: map (output: component.${output}) component.outputs) [
      cuda_nvcc
      cudaPackages.cuda_nvrtc
    ];
  };
  mkDerivation = backendStdenv.mkDerivation;
in
mkDerivation (finalAttrs: {
  pname = "volley";
  version = "1.0.0";

  outputs = [
    "out"
    "lib"
    "dev"
  ];

  src = lib.cleanSource ../../recipes/volley;

  strictDeps = true;

  nativeBuildInputs = [
    cmake
    ninja
    cuda_nvcc
    autoAddDriverRunpath
  ];

  buildInputs = [
    cudaPackages.cuda_nvrtc
  ];

  # A name that host.sh does not take for sources.
  cmakeBuildDir = "simpack-build-core";
  cmakeFlags = [
    # Outputs are told apart below, by the recipe's globs.
    (lib.cmakeFeature "CMAKE_INSTALL_LIBDIR" "lib")
    (lib.cmakeFeature "VOLLEY_INSTALL_KERNELS" "OFF")
    (lib.cmakeFeature "VOLLEY_KERNEL_ABI" "k66cf847a4db4")
  ];

  postInstall = ''
    cd "$NIX_BUILD_TOP/$sourceRoot"
    export CPU_COUNT=$((NIX_BUILD_CORES > 0 ? NIX_BUILD_CORES : 1)) KEEP_SEARCH_PATHS=1
    PREFIX=$out bash ${./host.sh} source
    PREFIX=$out CUDA_RELEASE=${release} bash ${./kernels.sh} ${lib.escapeShellArgs kernelTargets}
    moveToOutput 'lib/libvolley.so.*' "$lib"
    moveToOutput include "$dev"
    moveToOutput lib/cmake "$dev"
    moveToOutput lib/pkgconfig "$dev"
    moveToOutput 'lib/lib*.so' "$lib"
    moveToOutput 'lib/libvolley_rtc.so.*' "$lib"
    moveToOutput lib/volley "$lib"
  '';

  postFixup = ''
    # Files that were installed for one prefix name the library's output where they mean its directory.
    find "$dev" -name '*.cmake' -exec sed -i "s|\''${_IMPORT_PREFIX}/lib/|$lib/lib/|g" {} +
    find "$dev" -name '*.pc' -exec sed -i "s|^libdir=.*|libdir=$lib/lib|" {} +
    if [ -d "$out/bin" ]; then
      find "$out/bin" -type f -exec sh -c 'patchelf --add-rpath "$0" "$1" 2>/dev/null || true' "$lib/lib" {} \;
    fi
    # These open cuda-nvrtc when they run, so that no entry of theirs names it.
    find "$lib/lib" -type f -name 'libvolley_rtc.so*' \
      -exec patchelf --add-rpath ${lib.makeLibraryPath [ cudaPackages.cuda_nvrtc ]} {} \;
    # A stub of the driver that is found at run time stops every program.
    for output in $(getAllOutputNames); do
      if find "''${!output}" -type f -exec patchelf --print-rpath {} \; 2>/dev/null | grep -q /stubs; then
        echo "a search path of output $output names a directory of stubs" >&2
        exit 1
      fi
    done
  '';

  passthru = {
    kernelAbi = "k66cf847a4db4";
    inherit cudaMerged kernelTargets;
  };

  meta = {
    description = "spiking networks on CPU and GPU";
    license = lib.getLicenseFromSpdxId "BSD-3-Clause";
    platforms = [ "x86_64-linux" ];
    mainProgram = "volley";
  };
})
