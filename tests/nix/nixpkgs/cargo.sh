# What of nixpkgs' cargo hooks matters for a lock file: vendored crates in the place of the registry.
set -euo pipefail
export HOME=$PWD CARGO_HOME=$PWD/cargo
cp -r "$src" source
chmod -R u+w source
(cd "$crates" && sha256sum --check --quiet "$checksumsPath")
mkdir -p vendor source/.cargo
while read -r checksum file; do
  tar -xzf "$crates/$file" -C vendor
  printf '{"files":{},"package":"%s"}' "$checksum" >"vendor/${file%.crate}/.cargo-checksum.json"
done <"$checksumsPath"
cat >source/.cargo/config.toml <<END
[source.crates-io]
replace-with = "vendored"
[source.vendored]
directory = "$PWD/vendor"
END
cd source
mkdir "$out"
cargo metadata --locked --offline --format-version 1 >"$out/metadata.json"
