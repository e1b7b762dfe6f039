{
  lib,
  rustPlatform,
}:
rustPlatform.buildRustPackage {
  pname = "simpack";
  version = "0.1.0";
  src = lib.cleanSource ../.;
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
