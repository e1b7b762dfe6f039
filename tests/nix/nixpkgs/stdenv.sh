# What of nixpkgs' setup.sh and hooks generated packages rely on, with the machine's own tools.
set -euo pipefail
# With structured attributes lists are arrays, and outputs an array by name; setup.sh exports these.
. "$NIX_ATTRS_SH_FILE"
names=()
for name in "${!outputs[@]}"; do
  export "$name=${outputs[$name]}"
  names+=("$name")
done
for input in "${nativeBuildInputs[@]}"; do
  PATH=$input/bin:$PATH
done
export CC=gcc CXX=g++ CPATH= LIBRARY_PATH=
for input in "${buildInputs[@]}"; do
  CPATH=$input/include:$CPATH
done
for input in "${linkInputs[@]}"; do
  LIBRARY_PATH=$input/lib:$LIBRARY_PATH
done
CPATH=${CPATH%:} LIBRARY_PATH=${LIBRARY_PATH%:}
export PATH NIX_BUILD_TOP=$PWD NIX_BUILD_CORES=${NIX_BUILD_CORES:-1} sourceRoot=source HOME=$PWD
if [ -z "${dontUnpack:-}" ] && [ -d "$src" ]; then
  cp -r "$src" source
  chmod -R u+w source
elif [ -z "${dontUnpack:-}" ]; then
  # The directory that an archive holds is the source's root.
  tar -xf "$src"
  sourceRoot=$(find . -mindepth 1 -maxdepth 1 -type d -printf '%f')
else
  mkdir source
fi
runHook() {
  eval "${!1:-}"
}
getAllOutputNames() {
  echo "${names[*]}"
}
# moveToOutput PATTERN DIRECTORY, as setup-hooks/multiple-outputs.sh: out of every other output, keeping the path.
moveToOutput() {
  local output file below
  for output in "${names[@]}"; do
    [ "${!output}" != "$2" ] || continue
    for file in "${!output}"/$1; do
      [ -e "$file" ] || [ -L "$file" ] || continue
      below=${file#"${!output}/"}
      mkdir -p "$2/$(dirname "$below")"
      mv "$file" "$2/$below"
    done
  done
}
cd "$sourceRoot"
for patch in "${patches[@]}"; do
  patch -p1 <"$patch"
done
eval "${postPatch:-}"
if [ -z "${dontConfigure:-}" ]; then
  mkdir "${cmakeBuildDir:=build}"
  (
    cd "$cmakeBuildDir"
    cmake "${cmakeDir:-..}" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_INSTALL_PREFIX=$out" \
      "-DCMAKE_INSTALL_INCLUDEDIR=${dev:-$out}/include" "${cmakeFlags[@]}"
    cmake --build .
    cmake --install .
  )
fi
# A phase of the package's own says itself when hooks run. The standard one installs what has a makefile.
if [ -n "${installPhase:-}" ]; then
  eval "$installPhase"
else
  if [ -e Makefile ]; then
    make install "prefix=$out"
  fi
  eval "${postInstall:-}"
fi
eval "${postFixup:-}"
# The hook that adds the driver's directory.
for input in "${nativeBuildInputs[@]}"; do
  [ -e "$input/nix-support/driver" ] || continue
  for output in "${names[@]}"; do
    [ -d "${!output}" ] || continue
    while IFS= read -r -d '' file; do
      if patchelf --print-rpath "$file" >/dev/null 2>&1; then
        patchelf --add-rpath "$(cat "$input/nix-support/driver")" "$file"
      fi
    done < <(find "${!output}" -type f -print0)
  done
done
for output in "${names[@]}"; do
  [ -e "${!output}" ] || mkdir -p "${!output}"
done
