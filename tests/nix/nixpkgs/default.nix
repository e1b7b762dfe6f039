# A stand-in for nixpkgs: the attributes that generated expressions may use, each with the file of nixpkgs and the
# revision at which it was read. Any other attribute is missing, so an expression that uses one does not evaluate.
# Derivations are raw ones that run with the machine's own tools: what is built here is built for real.
{
  system ? builtins.currentSystem,
  config ? { },
  overlays ? [ ],
}:
let
  values = builtins.mapAttrs (_name: attribute: attribute.value);

  # The machine's tools by directory, and CUDA; nothing where expressions are only evaluated.
  path = builtins.getEnv "STANDIN_PATH";
  cuda = builtins.getEnv "STANDIN_CUDA";

  raw =
    attributes:
    derivation (
      {
        inherit system;
        builder = "/bin/bash";
        PATH = path;
      }
      // attributes
    );

  lib = values {
    hasPrefix = {
      at = "lib/strings.nix@99bc90e3019c";
      value = prefix: text: builtins.substring 0 (builtins.stringLength prefix) text == prefix;
    };
    replaceStrings = {
      at = "lib/strings.nix@99bc90e3019c";
      value = builtins.replaceStrings;
    };
    cmakeFeature = {
      at = "lib/strings.nix@99bc90e3019c";
      value =
        name: text:
        assert builtins.isString name && builtins.isString text;
        "-D${name}:STRING=${text}";
    };
    escapeShellArgs = {
      at = "lib/strings.nix@99bc90e3019c";
      value =
        words:
        builtins.concatStringsSep " " (
          map (word: "'" + builtins.replaceStrings [ "'" ] [ "'\\''" ] word + "'") words
        );
    };
    makeLibraryPath = {
      at = "lib/strings.nix@99bc90e3019c";
      value = packages: builtins.concatStringsSep ":" (map (package: "${package.lib or package}/lib") packages);
    };
    filter = {
      at = "lib/lists.nix@45e8de9a7d45";
      value = builtins.filter;
    };
    concatMap = {
      at = "lib/lists.nix@45e8de9a7d45";
      value = builtins.concatMap;
    };
    cleanSource = {
      at = "lib/sources.nix@bcd8c6b8dce4";
      value =
        directory:
        builtins.path {
          path = directory;
          name = "source";
        };
    };
    getLicenseFromSpdxId = {
      at = "lib/meta.nix@b3532f906247";
      value = id: { spdxId = id; };
    };
  };

  # Unpacks, builds by CMake unless that is turned off, and runs what comes after installing and fixing up.
  mkDerivation =
    argument:
    let
      attributes = if builtins.isFunction argument then argument attributes else argument;
      passed = builtins.removeAttrs attributes [
        "passthru"
        "meta"
      ];
      package = raw (
        passed
        // {
          name = "${attributes.pname}-${attributes.version}";
          args = [ ./stdenv.sh ];
        }
      );
    in
    package // (attributes.passthru or { }) // { inherit (attributes) meta; };

  tool =
    name:
    raw {
      inherit name;
      args = [
        "-c"
        "mkdir -p $out/bin; ln -s $(command -v ${name}) $out/bin/${name}"
      ];
    };

  # A component of CUDA with nixpkgs' outputs, out of the machine's CUDA.
  component =
    name: files:
    raw {
      inherit name;
      outputs = [
        "out"
        "lib"
        "dev"
      ];
      args = [
        "-c"
        ''
          mkdir -p $out $lib/lib $dev/include
          ${files}
        ''
      ];
    };

  cudaPackages = values {
    cudaMajorMinorVersion = {
      at = "pkgs/top-level/cuda-packages.nix@03652d51808a";
      value = config.standinRelease or "13.0";
    };
    backendStdenv = {
      at = "pkgs/development/cuda-modules/packages/backendStdenv.nix@c10e8fecb907";
      value = { inherit mkDerivation; };
    };
    cuda_nvcc = {
      at = "pkgs/development/cuda-modules/_cuda/fixups/cuda_nvcc.nix@c1d241a1e859";
      value = component "cuda_nvcc" ''
        mkdir -p $out/bin
        printf '#!/bin/sh\nexec ${cuda}/bin/nvcc "$@"\n' > $out/bin/nvcc
        chmod 755 $out/bin/nvcc
      '';
    };
    cuda_nvrtc = {
      at = "pkgs/development/cuda-modules/_cuda/fixups/cuda_nvrtc.nix@b0ebdb3b903d";
      value = component "cuda_nvrtc" ''
        ln -s ${cuda}/lib/libnvrtc.so.* $lib/lib/
        ln -s ${cuda}/include/nvrtc.h $dev/include/
      '';
    };
    cuda_cudart = {
      at = "pkgs/development/cuda-modules/_cuda/fixups/cuda_cudart.nix@4436175e8fbb";
      value = component "cuda_cudart" "ln -s ${cuda}/lib/libcudart.so.* $lib/lib/";
    };
    libcurand = {
      at = "pkgs/development/cuda-modules/_cuda/fixups/libcurand.nix@aa3dc258eb95";
      value = component "libcurand" "";
    };
  };

  makeOverridable =
    function: arguments:
    function arguments
    // {
      override = more: makeOverridable function (arguments // more);
    };

  packages = final: {
    inherit lib config cudaPackages;
    callPackage =
      file: more:
      let
        function = import file;
        wanted = builtins.functionArgs function;
        arguments = builtins.intersectAttrs wanted final // more;
      in
      makeOverridable function arguments;
  }
  // values {
    stdenv = {
      at = "pkgs/stdenv/generic/make-derivation.nix@8c2682d3dfa1";
      value = { inherit mkDerivation; };
    };
    cmake = {
      at = "pkgs/by-name/cm/cmake/package.nix@94840b536d01";
      value = tool "cmake";
    };
    ninja = {
      at = "pkgs/by-name/ni/ninja/package.nix@9c806764f95f";
      value = tool "ninja";
    };
    symlinkJoin = {
      at = "pkgs/build-support/trivial-builders/default.nix@77d57157d61d";
      value =
        { name, paths }:
        raw {
          inherit name paths;
          args = [
            "-c"
            "mkdir -p $out; for one in $paths; do cp -rsn $one/. $out/; chmod -R u+w $out; done"
          ];
        };
    };
    autoAddDriverRunpath = {
      at = "pkgs/by-name/au/autoAddDriverRunpath/package.nix@5e3666d1e47b";
      value = raw {
        name = "auto-add-driver-runpath-hook";
        args = [
          "-c"
          "mkdir -p $out/nix-support; echo /run/opengl-driver/lib > $out/nix-support/driver"
        ];
      };
    };
    rustPlatform = {
      at = "pkgs/build-support/rust/build-rust-package/default.nix@1666f82b5d4e";
      value = {
        buildRustPackage =
          attributes:
          assert builtins.pathExists attributes.cargoLock.lockFile;
          raw {
            name = "${attributes.pname}-${attributes.version}";
            inherit (attributes) src;
          };
      };
    };
    fetchurl = {
      at = "pkgs/build-support/fetchurl/default.nix@81392dd68a58";
      value =
        { url, hash }:
        raw {
          name = baseNameOf url;
          inherit url;
          outputHash = hash;
          outputHashAlgo = "sha256";
          outputHashMode = "flat";
          args = [
            "-c"
            "cp \${url#file://} $out"
          ];
        };
    };
  };

  extended = builtins.foldl' (
    previous: overlay: final:
    let
      before = previous final;
    in
    before // overlay final before
  ) packages overlays;
  fixed = extended fixed;
in
fixed
