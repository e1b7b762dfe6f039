#!/usr/bin/env bash
# Written by `simpack generate`. Builds the host part of volley with its own build systems and installs it:
# bash host.sh [COMPONENT...], from the top of the source, with PREFIX set.
set -euo pipefail
shopt -s extglob globstar dotglob
prefix=$PREFIX
jobs=${CPU_COUNT:-1}
# conda-forge's packages of CUDA have their headers where only its own compiler of CUDA looks.
if [ -d "$PREFIX/targets/x86_64-linux/include" ]; then
  export CPATH=$PREFIX/targets/x86_64-linux/include${CPATH:+:$CPATH}
fi
top=$PWD
[ $# -gt 0 ] || set -- core source
# Everything is installed below this directory first, where nothing of others lies.
dest=$top/simpack-dest
tree=$dest$prefix
mkdir -p "$tree"

build_core() {
  # shellcheck disable=SC2086 # a list of arguments from the compilers' activation
  cmake ${CMAKE_ARGS:-} -G Ninja -S . -B "$top/simpack-build-core" \
    -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_INSTALL_SO_NO_EXE=1 \
    -DVOLLEY_INSTALL_KERNELS=OFF \
    -DVOLLEY_KERNEL_ABI=k66cf847a4db4
  cmake --build "$top/simpack-build-core" --parallel "$jobs"
  DESTDIR=$dest cmake --install "$top/simpack-build-core"
}

build_source() {
  local file
  while IFS= read -r -d '' file; do
    file=${file#./}
    if [[ $file == kernels/* ]]; then
      install -D -m 644 ./"$file" "$tree/share/volley/$file"
      continue
    fi
  done < <(cd . && find . -path './simpack-*' -prune -o -type f -print0)
}

for component in "$@"; do
  "build_$component"
done

# Libraries are found beside the file that needs them, and the driver where volley's recipe says.
set_search_path() {
  local from
  from=$(realpath --relative-to="$(dirname "$1")" "$tree/lib")
  case $from in
    .) from='$ORIGIN' ;;
    *) from="\$ORIGIN/$from" ;;
  esac
  patchelf --set-rpath "$from":/usr/local/nvidia/lib64:/usr/local/nvidia/lib:/.singularity.d/libs:/usr/lib/wsl/lib:/run/opengl-driver/lib "$1"
}
if [ -z "${KEEP_SEARCH_PATHS:-}" ]; then
  while IFS= read -r -d '' file; do
    # Only dynamic ELF files have a search path to print.
    if patchelf --print-rpath "$file" >/dev/null 2>&1; then
      set_search_path "$file"
    fi
  done < <(find "$tree" -type f -print0)
fi
mkdir -p "$prefix"
cp -a "$tree/." "$prefix/"
rm -rf "$dest"
