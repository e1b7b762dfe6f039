#!/bin/sh
# A catalogue of a user's mechanisms: modcc writes C++ and CUDA of them, the user's compilers make a library of that.
# catalogue.sh PREFIX MODEL NAME CXX [NVCC ITS-CXX CUDA-ROOT CODES]
set -eu
prefix=$1 model=$2 cxx=$4 nvcc=${5-} ccbin=${6-} cuda=${7-} codes=${8-}
name=$(printf %s "$3" | tr -c 'a-zA-Z0-9_' _)
if ! test -d "$prefix/include/arbor"; then
    echo "error: Arbor's headers are not in $prefix: install arbor-dev" >&2
    exit 1
fi
mkdir made
"$prefix/bin/modcc" ${nvcc:+-t gpu} -t cpu -N arb -c "$name" -o made "$model"/*.mod
cd made
flags="-std=c++17 -O2 -DSTANDALONE=1 -I$prefix/include"
link="-Wl,-rpath,$prefix/lib"
if test -n "$nvcc"; then
    flags="$flags -DARB_CUDA -DARB_HAVE_GPU -DARB_GPU_ENABLED -I$cuda/include"
    link="$link -L$cuda/lib64 -L$cuda/lib -lcudart_static -ldl -lrt -lpthread"
    for file in ./*.cu; do
        "$nvcc" -ccbin "$ccbin" $codes $flags -Xcompiler -fPIC -c "$file" -o "$file.o"
    done
else
    # Headers of an Arbor with GPUs ask for a part of each mechanism that nvcc compiles; on the CPU it is not called.
    for file in *_cpu.cpp; do
        mechanism=${file%_cpu.cpp}
        {
            echo '#include <arbor/mechanism_abi.h>'
            echo "extern \"C\" arb_mechanism_interface* make_arb_${name}_catalogue_${mechanism}_interface_gpu() { return nullptr; }"
        } > "${mechanism}_none.cpp"
    done
fi
for file in ./*.cpp; do
    "$cxx" $flags -fPIC -c "$file" -o "$file.o"
done
"$cxx" -shared -o "../$name-catalogue.so" ./*.o "$prefix"/lib/libarbor.so.*.* $link -Wl,--no-undefined
