# A program of a user's is compiled against the packages and runs, with a mechanism that is compiled for it, too.
set -eu
prefix=$1 source=$2
flags="-std=c++17 -O1 -I$prefix/include"
mkdir model
cp "$source/mechanisms/default/hh.mod" model
"$prefix/share/arbor/catalogue.sh" "$prefix" model mine g++ &
g++ $flags -o ring "$source/simpack/ring.cpp" -L"$prefix/lib" -larborio -larborenv -larbor -lunits -lpthread \
    -Wl,-rpath,"$prefix/lib" -Wl,--no-undefined
wait $!
./ring > built-in
./ring -1 ./mine-catalogue.so > compiled
cat built-in
cmp built-in compiled && echo "the same with a mechanism of the user's"
