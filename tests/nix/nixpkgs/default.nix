# A stand-in for nixpkgs: the attributes that generated expressions may use, each with the file of nixpkgs and the
# revision at which it was read. Any other attribute is missing, so an expression that uses one does not evaluate.
# Functions take the arguments that the named files give them, and no others.
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
  driver = builtins.getEnv "STANDIN_DRIVER";

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

  # Arguments that run a text. With a trap bash stays to the end: nix takes a builder that closes its output, as the
  # programs of coreutils do before they leave, for one that has ended, and kills it.
  script = text: [
    "-c"
    "trap : EXIT\n${text}"
  ];

  lib = values {
    hasPrefix = {
      at = "lib/strings.nix@00f9c30eaa17";
      value = prefix: text: builtins.substring 0 (builtins.stringLength prefix) text == prefix;
    };
    replaceStrings = {
      at = "lib/strings.nix@00f9c30eaa17";
      value = builtins.replaceStrings;
    };
    cmakeFeature = {
      at = "lib/strings.nix@00f9c30eaa17";
      value =
        name: text:
        assert builtins.isString name && builtins.isString text;
        "-D${name}:STRING=${text}";
    };
    escapeShellArg = {
      at = "lib/strings.nix@00f9c30eaa17";
      value = word: "'" + builtins.replaceStrings [ "'" ] [ "'\\''" ] word + "'";
    };
    escapeShellArgs = {
      at = "lib/strings.nix@00f9c30eaa17";
      value =
        words:
        builtins.concatStringsSep " " (
          map (word: "'" + builtins.replaceStrings [ "'" ] [ "'\\''" ] word + "'") words
        );
    };
    makeLibraryPath = {
      at = "lib/strings.nix@00f9c30eaa17";
      value = packages: builtins.concatStringsSep ":" (map (package: "${package.lib or package}/lib") packages);
    };
    filter = {
      at = "lib/lists.nix@00976b194fe3";
      value = builtins.filter;
    };
    optionals = {
      at = "lib/lists.nix@00976b194fe3";
      value = condition: list: if condition then list else [ ];
    };
    genAttrs = {
      at = "lib/attrsets.nix@00976b194fe3";
      value =
        names: function:
        builtins.listToAttrs (
          map (name: {
            inherit name;
            value = function name;
          }) names
        );
    };
    versionAtLeast = {
      at = "lib/strings.nix@00f9c30eaa17";
      value = one: other: builtins.compareVersions one other >= 0;
    };
    subtractLists = {
      at = "lib/lists.nix@00976b194fe3";
      value = remove: list: builtins.filter (one: !(builtins.elem one remove)) list;
    };
    concatStringsSep = {
      at = "lib/strings.nix@00f9c30eaa17";
      value = builtins.concatStringsSep;
    };
    elem = {
      at = "lib/lists.nix@00976b194fe3";
      value = builtins.elem;
    };
    concatMap = {
      at = "lib/lists.nix@00976b194fe3";
      value = builtins.concatMap;
    };
    cleanSource = {
      at = "lib/sources.nix@040b6a6f5df7";
      value =
        directory:
        builtins.path {
          path = directory;
          name = "source";
        };
    };
    cleanSourceFilter = {
      at = "lib/sources.nix@040b6a6f5df7";
      value = path: _type: baseNameOf path != ".git";
    };
    cleanSourceWith = {
      at = "lib/sources.nix@040b6a6f5df7";
      value =
        { src, filter }:
        builtins.path {
          inherit filter;
          path = src;
          name = "source";
        };
    };
    maintainers = {
      at = "lib/default.nix@cad8bbe58905";
      value = {
        somebody = {
          github = "somebody";
        };
      };
    };
    licenses = {
      at = "lib/licenses.nix@00976b194fe3";
      value = {
        bsd3 = {
          spdxId = "BSD-3-Clause";
        };
        mit = {
          spdxId = "MIT";
        };
      };
    };
    getLicenseFromSpdxId = {
      at = "lib/meta.nix@0148e16d1446";
      value = id: { spdxId = id; };
    };
  };

  # Unpacks, builds by CMake unless that is turned off, and runs what comes after installing and fixing up. What nixpkgs
  # wants of new packages is required; tools that run here are the machine's, so that strictDeps changes nothing.
  mkDerivation =
    argument:
    let
      attributes =
        if builtins.isFunction argument then argument (attributes // { finalPackage = result; }) else argument;
      passed =
        builtins.removeAttrs attributes [
          "passthru"
          "meta"
        ]
        // {
          # Who links against a package gets its headers and its libraries.
          buildInputs = map (input: input.dev or input) (attributes.buildInputs or [ ]);
          linkInputs = map (input: input.lib or input) (attributes.buildInputs or [ ]);
        };
      package = raw (
        passed
        // {
          name = "${attributes.pname}-${attributes.version}";
          args = [ ./stdenv.sh ];
        }
      );
      result = package // (attributes.passthru or { }) // { inherit (attributes) meta; };
    in
    assert attributes.strictDeps && attributes.__structuredAttrs;
    result;

  tool =
    name:
    raw {
      inherit name;
      args = script "mkdir -p $out/bin; ln -s $(command -v ${name}) $out/bin/${name}";
    };

  # A file of a directory of the machine, which nix itself digests.
  fetched =
    name: hash: directory:
    raw {
      inherit name;
      outputHash = hash;
      outputHashAlgo = "sha256";
      outputHashMode = "flat";
      args = script "cp '${directory}/${name}' $out";
    };

  # What importCargoLock (pkgs/build-support/rust/import-cargo-lock.nix@0145c6da2896) asks of a lock file: packages of
  # registries with a checksum. Packages of git would need hashes beside the lock.
  crates =
    lockFile:
    let
      outside = builtins.filter (package: package ? source) (builtins.fromTOML (builtins.readFile lockFile)).package;
      crate =
        package:
        assert builtins.substring 0 9 package.source == "registry+";
        {
          name = "${package.name}-${package.version}";
          inherit (package) checksum;
          file = fetched "${package.name}-${package.version}.crate" package.checksum (builtins.getEnv "STANDIN_CRATES");
        };
    in
    map crate outside;

  # Vendors the crates and lets cargo resolve the package with nothing else; compiling is not what is tested here.
  buildRustPackage =
    {
      pname,
      version,
      src,
      cargoLock,
      doCheck ? true,
      meta,
    }:
    let
      locked = crates cargoLock.lockFile;
    in
    raw {
      name = "${pname}-${version}";
      inherit src doCheck;
      crates = builtins.getEnv "STANDIN_CRATES";
      checksums = builtins.concatStringsSep "" (map (crate: "${crate.checksum}  ${crate.name}.crate\n") locked);
      passAsFile = [ "checksums" ];
      args = [ ./cargo.sh ];
    }
    // {
      inherit meta;
      crates = map (crate: crate.file) locked;
    };

  # Files of one of the vendor's wheels, by its RECORD, as links below a directory. nixpkgs' components are split as the wheels
  # are: what one of them lacks is missing here, too.
  wheel = name: directory: ''
    cut -d, -f1 ${cuda}/nvidia_${name}-*.dist-info/RECORD | while IFS= read -r file; do
      file=''${file#nvidia/cu13/}
      case $file in *dist-info/* | .metadata/*) continue ;; esac
      mkdir -p "${directory}/$(dirname "$file")"
      [ -e "${directory}/$file" ] || ln -s "${cuda}/$file" "${directory}/$file"
    done
  '';

  # nixpkgs refuses packages of CUDA's licence that the configuration does not allow (pkgs/stdenv/generic/check-meta.nix).
  unfree =
    name: package:
    if config.allowUnfree or false then
      package
    else
      throw "Package ‘${name}’ has an unfree license (‘CUDA EULA’), refusing to evaluate.";

  # A component of CUDA with nixpkgs' outputs, out of the machine's CUDA.
  component =
    name: files:
    unfree name (raw {
      inherit name;
      outputs = [
        "out"
        "lib"
        "dev"
      ];
      args = script ''
          mkdir -p $out $lib/lib $dev/include
          ${files}
        '';
    });

  cudaPackages = values {
    cudaMajorMinorVersion = {
      at = "pkgs/top-level/cuda-packages.nix@03652d51808a";
      value = config.standinRelease or "13.0";
    };
    flags = {
      at = "pkgs/development/cuda-modules/_cuda/lib/flags.nix@bd8fef5650d9";
      # nixpkgs refuses what its CUDA release does not compile for.
      value.cudaCapabilities = map (
        capability:
        if builtins.compareVersions capability "7.5" >= 0 then
          capability
        else
          throw "CUDA 13.0 compiles for no ${capability}"
      ) (config.cudaCapabilities or [ "7.5" ]);
    };
    cuda_cccl = {
      at = "pkgs/development/cuda-modules/packages/cuda_cccl.nix@c10e8fecb907";
      value = component "cuda_cccl" (wheel "cuda_cccl" "$dev");
    };
    cuda_crt = {
      at = "pkgs/development/cuda-modules/packages/cuda_crt.nix@72f16858c84c";
      value = component "cuda_crt" (wheel "cuda_crt" "$dev");
    };
    backendStdenv = {
      at = "pkgs/development/cuda-modules/packages/backendStdenv.nix@c10e8fecb907";
      value = {
        inherit mkDerivation;
        # pkgs/development/cuda-modules/_cuda/db has the releases of CUDA of each capability.
        supportedCudaCapabilities = [
          "7.5"
          "8.0"
          "8.6"
          "8.7"
          "8.9"
          "9.0"
          "9.0a"
          "10.0"
          "12.0"
        ];
      };
    };
    # One output; NVVM is copied into it from CUDA 13 on, and its profile names the headers of CCCL, but those of neither the
    # runtime nor crt.
    cuda_nvcc = {
      at = "pkgs/development/cuda-modules/packages/cuda_nvcc.nix@c9cd016bbdd2";
      value = unfree "cuda_nvcc" (raw {
        name = "cuda_nvcc";
        outputs = [ "out" ];
        args = script ''
          mkdir -p $out/bin
          # nvcc looks for its parts beside the file that it is.
          cp ${cuda}/bin/nvcc $out/bin/nvcc
          sed 's|$(TOP)/$(_TARGET_DIR_)/include/cccl|${cudaPackages.cuda_cccl.dev}/include/cccl|' \
            ${cuda}/bin/nvcc.profile > $out/bin/nvcc.profile
          ${wheel "cuda_nvcc" "$out"}
          ${wheel "nvvm" "$out"}
        '';
      });
    };
    cuda_nvrtc = {
      at = "pkgs/development/cuda-modules/_cuda/fixups/cuda_nvrtc.nix@aa3dc258eb95";
      value = component "cuda_nvrtc" ''
        ln -s ${cuda}/lib/libnvrtc.so.* $lib/lib/
        ln -s ${cuda}/include/nvrtc.h $dev/include/
      '';
    };
    cuda_cudart = {
      at = "pkgs/development/cuda-modules/_cuda/fixups/cuda_cudart.nix@4436175e8fbb";
value = component "cuda_cudart" "${wheel "cuda_runtime" "$dev"} ln -s ${cuda}/lib/libcudart.so.* ${cuda}/lib/libcudart_static.a ${cuda}/lib/libcudadevrt.a $lib/lib/";
    };
    libcufft = {
      at = "pkgs/development/cuda-modules/_cuda/fixups/libcufft.nix@aa3dc258eb95";
      value = component "libcufft" "";
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
    cudaPackages_13_0 = cudaPackages;
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
      at = "pkgs/stdenv/generic/make-derivation.nix@000b58721fef";
      value = {
        inherit mkDerivation;
        # The machine's own libraries are where the loader looks.
        cc.cc.lib = raw {
          name = "gcc-lib";
          args = script "mkdir -p $out/lib";
        };
      };
    };
    stdenvNoCC = {
      at = "pkgs/stdenv/generic/make-derivation.nix@000b58721fef";
      value = { inherit mkDerivation; };
    };
    cmake = {
      at = "pkgs/by-name/cm/cmake/package.nix@013635633ffe";
      value = tool "cmake";
    };
    patchelf = {
      at = "pkgs/development/tools/misc/patchelf/default.nix@0145c6da2896";
      value = tool "patchelf";
    };
    unzip = {
      at = "pkgs/by-name/un/unzip/package.nix@b6fea07f806d";
      value = tool "unzip";
    };
    # After it the search paths of what is built hold the directories of what it needs.
    autoPatchelfHook = {
      at = "pkgs/by-name/au/auto-patchelf/package.nix@5e75569f322a";
      value = raw {
        name = "auto-patchelf-hook";
        args = script "mkdir -p $out/nix-support";
      };
    };
    ninja = {
      at = "pkgs/by-name/ni/ninja/package.nix@1b8a4c60523a";
      value = tool "ninja";
    };
    shaderc = {
      at = "pkgs/by-name/sh/shaderc/package.nix@19ab29e2d4f8";
      value = raw {
        name = "shaderc";
        args = script "mkdir -p $out/bin; ln -s $(command -v glslc) $out/bin/glslc";
      };
    };
    symlinkJoin = {
      at = "pkgs/build-support/trivial-builders/default.nix@00ee9b64aafe";
      value =
        { name, paths }:
        raw {
          inherit name paths;
          args = script "mkdir -p $out; for one in $paths; do cp -rsn $one/. $out/; chmod -R u+w $out; done";
        };
    };
    autoAddDriverRunpath = {
      at = "pkgs/by-name/au/autoAddDriverRunpath/package.nix@5e3666d1e47b";
      value = raw {
        name = "auto-add-driver-runpath-hook";
        # After it a test's own driver.
        args = script "mkdir -p $out/nix-support; echo /run/opengl-driver/lib:${driver} > $out/nix-support/driver";
      };
    };
    nix-update-script = {
      at = "pkgs/by-name/ni/nix-update/nix-update-script.nix@2faec4eca3b0";
      value =
        {
          attrPath ? null,
          extraArgs ? [ ],
        }:
        [ "nix-update" ] ++ extraArgs ++ lib.optionals (attrPath != null) [ attrPath ];
    };
    # Runs the program and looks for the version in what it says.
    testers = {
      at = "pkgs/build-support/testers/default.nix@013635633ffe";
      value = {
        testVersion =
          { package }:
          raw {
            name = "${package.name}-test-version";
            args = script "${package}/bin/${package.meta.mainProgram} --version | grep -F ${package.version} > $out";
          };
      };
    };
    runCommand = {
      at = "pkgs/build-support/trivial-builders/default.nix@00ee9b64aafe";
      value =
        name: attributes: text:
        raw (
          attributes
          // {
            inherit name;
            args = script text;
          }
        );
    };
    rustPlatform = {
      at = "pkgs/build-support/rust/build-rust-package/default.nix@00ed845c1e26";
      value = { inherit buildRustPackage; };
    };
    fetchPypi = {
      at = "pkgs/build-support/fetchpypi/default.nix@13c8ddb845ee";
      value =
        {
          pname,
          version,
          extension ? "tar.gz",
          hash,
        }:
        fetched "${pname}-${version}.${extension}" hash (builtins.getEnv "STANDIN_PYPI");
    };
    fetchurl = {
      at = "pkgs/build-support/fetchurl/default.nix@005b8027ceae";
      value =
        { url, hash }:
        fetched (baseNameOf url) hash (dirOf (builtins.replaceStrings [ "file://" ] [ "" ] url));
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
