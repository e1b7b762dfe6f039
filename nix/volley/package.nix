# Written by `simpack generate nix`: change the recipe of volley or the template, not this file.
{
  lib,
  config,
  cmake,
  ninja,
  cudaPackages,
  autoAddDriverRunpath,
  nix-update-script,
  testers,
  stdenvNoCC,
  patchelf,
  symlinkJoin,
  runCommand,
  # Capabilities whose device code is built: those of the configuration, as far as nixpkgs finds them good for its CUDA
  # release; the recipe's without any.
  cudaCapabilities ? lib.optionals (
    (config.cudaCapabilities or [ ]) != [ ]
  ) cudaPackages.flags.cudaCapabilities,
  # PTX, for GPUs that are newer than all of them.
  cudaForwardCompat ? config.cudaForwardCompat or true,
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
  targets = recipeTargets.${release} or [ ];
  isPtx = lib.hasPrefix "compute_";

  # nixpkgs holds the configuration's capabilities against its CUDA release; those of an override are held against it here.
  unsupported = lib.subtractLists backendStdenv.supportedCudaCapabilities cudaCapabilities;
  machineCode =
    if cudaCapabilities == [ ] then
      lib.filter (target: !isPtx target) targets
    else if unsupported != [ ] then
      throw "CUDA ${release} compiles for no ${lib.concatStringsSep ", " unsupported}"
    else
      map (capability: "sm_" + lib.replaceStrings [ "." ] [ "" ] capability) cudaCapabilities;
  kernelTargets = machineCode ++ lib.optionals cudaForwardCompat (lib.filter isPtx targets);

  # For consumers that expect CUDA in one directory.
  cudaMerged = symlinkJoin {
    name = "cuda-merged-${release}";
    paths = lib.concatMap (component: map (output: component.${output}) component.outputs) [
      cuda_nvcc
      cudaPackages.cuda_nvrtc
    ];
  };

  # Device code for one target. nvcc's own package has neither the headers of the runtime nor those of its own libraries, from
  # CUDA 13 on not even those that its output includes.
  kernelsFor =
    target:
    backendStdenv.mkDerivation (finalAttrs: {
      pname = "volley-kernels-${finalAttrs.kernelTarget}";
      inherit (core) version src;
      kernelTarget = target;

      __structuredAttrs = true;
      strictDeps = true;

      nativeBuildInputs = [ cuda_nvcc ];
      buildInputs = [
        cudaPackages.cuda_cudart
        cudaPackages.cuda_cccl
      ]
      ++ lib.optionals (lib.versionAtLeast release "13.0") [ cudaPackages.cuda_crt ];

      dontConfigure = true;
      dontBuild = true;

      installPhase = ''
        runHook preInstall
        export CPU_COUNT=$((NIX_BUILD_CORES > 0 ? NIX_BUILD_CORES : 1))
        PREFIX=$out CUDA_RELEASE=${release} bash ${./kernels.sh} "$kernelTarget"
        runHook postInstall
      '';

      meta = meta // {
        description = "${meta.description} (device code for ${finalAttrs.kernelTarget})";
      };
    });
  kernels = lib.genAttrs kernelTargets kernelsFor;

  meta = {
    description = "Spiking networks on CPU and GPU";
    license = lib.licenses.bsd3;
    platforms = [ "x86_64-linux" ];
    # The recipe knows no targets for other releases of CUDA.
    broken = !(recipeTargets ? ${release});
  };

  # The host part. No capability enters it, so that another list of them does not build it again.
  core = backendStdenv.mkDerivation {
    pname = "volley-core";
    version = "1.0.0";
    src = lib.cleanSource ../../recipes/volley;

    __structuredAttrs = true;

    outputs = [
      "out"
      "lib"
      "dev"
    ];

    strictDeps = true;

    nativeBuildInputs = [
      cmake
      ninja
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

    meta = meta // {
      mainProgram = "volley";
    };
  };
in
# Core and kernels, joined: the simulator looks for device code beside its library, so the library is a copy. Nothing is compiled.
stdenvNoCC.mkDerivation (finalAttrs: {
  pname = "volley";
  inherit (core) version outputs;

  __structuredAttrs = true;
  strictDeps = true;

  nativeBuildInputs = [ patchelf ];

  dontUnpack = true;
  dontConfigure = true;
  dontBuild = true;

  installPhase = ''
    runHook preInstall
    # Each output of core, and the one that takes its place.
    declare -A ours=(
      [${core.out}]=$out
      [${core.lib}]=$lib
      [${core.dev}]=$dev
    )
    for from in "''${!ours[@]}"; do
      cp -r "$from" "''${ours[$from]}"
      chmod -R u+w "''${ours[$from]}"
    done
    for from in ${lib.escapeShellArgs (map (target: "${kernels.${target}}") kernelTargets)}; do
      mkdir -p "$lib/lib"
      cp -r --no-preserve=mode "$from/lib/." "$lib/lib/"
    done
    for output in "''${ours[@]}"; do
      find "$output" -type l -print0 | while IFS= read -r -d "" file; do
        to=$(readlink "$file")
        for from in "''${!ours[@]}"; do to=''${to//"$from"/"''${ours[$from]}"}; done
        ln -sfn "$to" "$file"
      done
      find "$output" -type f -print0 | while IFS= read -r -d "" file; do
        if path=$(patchelf --print-rpath "$file" 2>/dev/null); then
          for from in "''${!ours[@]}"; do path=''${path//"$from"/"''${ours[$from]}"}; done
          patchelf --set-rpath "$path" "$file"
        elif grep -qI . "$file"; then
          for from in "''${!ours[@]}"; do sed -i "s|$from|''${ours[$from]}|g" "$file"; done
        fi
      done
    done
    runHook postInstall
  '';

  passthru = {
    kernelAbi = "k66cf847a4db4";
    inherit
      core
      cudaMerged
      kernels
      kernelTargets
      ;
    # What is updated.
    inherit (core) src;
    updateScript = nix-update-script { };
    tests = {
      version = testers.testVersion { package = finalAttrs.finalPackage; };
      # On a machine with a GPU: one of the kernels runs on it.
      gpuCheck = runCommand "volley-gpu-check" { requiredSystemFeatures = [ "cuda" ]; } ''
        cd ${finalAttrs.finalPackage}
        for target in ${lib.escapeShellArgs kernelTargets}; do
          if bin/volley run share/volley/examples/balanced.toml --json --backend cuda --device 0 --code "$target" > $out; then exit 0; fi
        done
        exit 1
      '';
    };
  };

  meta = meta // {
    mainProgram = "volley";
  };
})
