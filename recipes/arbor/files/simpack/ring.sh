# A program of a user's is compiled against the packages and runs, with a mechanism that modcc compiles for it, too.
set -eu
prefix=$1 source=$2
flags="-std=c++17 -O1 -I$prefix/include"
"$prefix/bin/modcc" -t cpu -N arb -c mine -o . "$source/mechanisms/default/hh.mod"
# Headers of an Arbor with GPUs ask for a part of the mechanism that nvcc compiles; on the CPU it is not called.
cat > hh_gpu.cpp <<'END'
#include <arbor/mechanism_abi.h>
extern "C" arb_mechanism_interface* make_arb_mine_catalogue_hh_interface_gpu() { return nullptr; }
END
g++ $flags -fPIC -shared -DSTANDALONE=1 -o mine.so ./*.cpp -L"$prefix/lib" -larbor &
g++ $flags -o ring "$source/simpack/ring.cpp" -L"$prefix/lib" -larborio -larborenv -larbor -lunits -lpthread \
    -Wl,-rpath,"$prefix/lib" -Wl,--no-undefined
wait $!
./ring > built-in
./ring -1 ./mine.so > compiled
cat built-in
cmp built-in compiled && echo "the same with a mechanism of the user's"
