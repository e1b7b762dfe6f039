"${CXX:-c++}" -O"$LEVEL" -DLEVEL="$LEVEL" -c every.cc -o every.o
mkdir -p "$PREFIX/lib"
ar rcsD "$PREFIX/lib/libevery.a" every.o
