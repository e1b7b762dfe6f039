{
  lib,
  rustPlatform,
}:
rustPlatform.buildRustPackage {
  pname = "simpack";
  version = "0.1.0";
  # Without what builds leave in a checkout.
  src = lib.cleanSourceWith {
    src = ../.;
    filter =
      path: type:
      lib.cleanSourceFilter path type
      && !(
        type == "directory"
        && lib.elem (baseNameOf path) [
          "target"
          "dist"
        ]
      );
  };
  # Every crate comes from the registry with its checksum in the lock: nothing else is to be pinned.
  cargoLock.lockFile = ../Cargo.lock;
  # The tests fetch toolchains; `bash tests/run` runs them.
  doCheck = false;
  meta = {
    description = "Turns one recipe of a GPU simulator into a distribution";
    license = lib.getLicenseFromSpdxId "BSD-3-Clause";
    platforms = [ "x86_64-linux" ];
    mainProgram = "simpack";
  };
}
