#!/usr/bin/env bash
# Written by `simpack generate`. Compiles the device code of volley with nvcc and installs it:
# bash kernels.sh [TARGET...], from the top of the source, with PREFIX set. CUDA_RELEASE says which release
# compiles; without TARGETs (sm_90, compute_75) it compiles for the recipe's.
set -euo pipefail
release=${CUDA_RELEASE:-13.0}
if [ $# = 0 ]; then
  case $release in
    13.0) set -- sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 compute_75 compute_120 ;;
    *)
      echo "the recipe has no CUDA $release" >&2
      exit 1
      ;;
  esac
fi
nvcc=${NVCC:-nvcc}
jobs=${CPU_COUNT:-1}
root=$PREFIX/lib/volley/kernels/k66cf847a4db4/cuda${release%%.*}

# compile SOURCE VARIANT TARGET ARGUMENT...
compile() {
  local source=$1 variant=$2 target=$3 mode=-cubin ending=cubin file
  shift 3
  case $target in compute_*) mode=-ptx ending=ptx ;; esac
  file=${source##*/}
  mkdir -p "$root/$variant/$target"
  # nvcc derives names from the path of the source: this one is the same wherever the source lies.
  "$nvcc" "$mode" "-arch=$target" "$@" -Xcudafe --orig_src_path_name -Xcudafe "/opt/simpack/source/$source" \
    -o "$root/$variant/$target/${file%.*}.$ending" "$source"
}

running=0
start() {
  if [ "$running" -ge "$jobs" ]; then
    wait -n
    running=$((running - 1))
  fi
  compile "$@" &
  running=$((running + 1))
}

for target in "$@"; do
  number=${target#*_}
  number=${number%[af]}
  # network
  when=()
  if [ "$number" -lt 80 ]; then
    when+=(-DNO_ASYNC_COPY)
  fi
  for source in kernels/neuron.cu kernels/synapse.cu; do
    start "$source" fixed "$target" -O3 --fmad=false -std=c++17 -DACCUMULATE_FIXED "${when[@]}"
    start "$source" float "$target" -O3 --fmad=false -std=c++17 -DACCUMULATE_FLOAT "${when[@]}"
    start "$source" none "$target" -O3 --fmad=false -std=c++17 -DACCUMULATE_GATHER "${when[@]}"
  done
done
while [ "$running" -gt 0 ]; do
  wait -n
  running=$((running - 1))
done
