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

# Where libraries lie, by name.
declare -A places=() holds=()
while IFS= read -r -d '' file; do
  places[${file##*/}]+="$(dirname "$file") "
  holds[$(dirname "$file")]=yes
done < <(find "$tree" ! -type d \( -name '*.so' -o -name '*.so.*' \) -printf '%P\0')

# Directories with libraries that a file's build let it search, that of each library it needs, lib, and the driver where
# volley's recipe says.
set_search_path() {
  local here entry name place directory path='' own=()
  here=$(dirname "$1")
  while IFS= read -r -d : entry; do
    # shellcheck disable=SC2016 # the loader's word
    case $entry in '$ORIGIN' | '$ORIGIN'/*) ;; *) continue ;; esac
    directory=$(realpath -ms --relative-base="$tree" "$tree/$here/${entry#'$ORIGIN'}")
    [ -z "${holds[$directory]:-}" ] || [[ " ${own[*]} " == *" $directory "* ]] || own+=("$directory")
  done < <(patchelf --print-rpath "$tree/$1" | tr '\n' :)
  while IFS= read -r name; do
    place=${places[$name]:-}
    # Nobody knows which of two is meant.
    case "$place" in '' | *' '*' ' | 'lib ') continue ;; esac
    [[ " ${own[*]} " == *" $place"* ]] || own+=("${place% }")
  done < <(patchelf --print-needed "$tree/$1")
  [[ " ${own[*]} " == *" lib "* ]] || own+=(lib)
  for directory in "${own[@]}"; do
    directory=$(realpath -ms --relative-to="$tree/$here" "$tree/$directory")
    # shellcheck disable=SC2016 # the loader's word
    case $directory in
      .) path+=${path:+:}'$ORIGIN' ;;
      *) path+=${path:+:}'$ORIGIN'/$directory ;;
    esac
  done
  patchelf --set-rpath "$path":/usr/local/nvidia/lib64:/usr/local/nvidia/lib:/.singularity.d/libs:/usr/lib/wsl/lib:/run/opengl-driver/lib "$tree/$1"
}
if [ -z "${KEEP_SEARCH_PATHS:-}" ]; then
  while IFS= read -r -d '' file; do
    # Only dynamic ELF files have a search path to print.
    if patchelf --print-rpath "$tree/$file" >/dev/null 2>&1; then
      set_search_path "$file"
    fi
  done < <(find "$tree" -type f -printf '%P\0')
fi
mkdir -p "$prefix"
cp -a "$tree/." "$prefix/"
rm -rf "$dest"
