# The ring of ring.cpp, described in Python, fires at the same times.
set -eu
prefix=$1 source=$2
g++ -std=c++17 -O1 -I"$prefix/include" -o ring "$source/simpack/ring.cpp" -L"$prefix/lib" -larborio -larborenv -larbor -lunits -lpthread \
    -Wl,-rpath,"$prefix/lib" -Wl,--no-undefined
./ring > cxx
python3.11 "$source/simpack/ring.py" > python
cat python
cmp cxx python && echo "the same in C++"
