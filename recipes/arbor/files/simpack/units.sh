# Upstream's unit tests for the CPU that need nothing but what is installed, the source's own googletest and, for what the tests say by them,
# private headers that are templates alone. Those of what a shared library hides, of GPUs and of catalogues that upstream's build makes are left out.
set -eu
prefix=$1 source=$2
tests="any_cast any_ptr any_visitor asc cable_cell event_delivery event_generators expected hash lexcmp lif_cell_group math mcable_map mechcat
    morph_components morph_embedding morph_expr morph_place morph_primitives morph_stitch morphology pp_util recipe schedule scope_exit
    segment_tree simd simulation swcio uninitialized unique_any v_clamp version"
unit=$source/test/unit google=$source/ext/googletest/googletest
flags="-std=c++17 -w -I$prefix/include -I$source/arbor -I$google/include -I$google '-DDATADIR=\"$source/test/swc\"' '-DLIBDIR=\".\"'"

# Whose mechanisms a test of catalogues loads, and a library that is none.
"$prefix/share/arbor/catalogue.sh" "$prefix" "$unit/dummy" dummy g++
ln -s "$prefix/lib/libarbor.so" .

{
    echo "objects ="
    for file in "$google/src/gtest-all.cc" "$unit/test.cpp" "$unit/stats.cpp" "$source/test/common_cells.cpp" \
        $(printf "$unit/test_%s.cpp " $tests); do
        object=$(basename "$file" | tr . _).o
        printf 'objects += %s\n%s:\n\tg++ %s -c %s -o $@\n' "$object" "$object" "$flags" "$file"
    done
    printf 'units: $(objects)\n\tg++ -o $@ $(objects) -L%s/lib -larborio -larborenv -larbor -lunits -lpthread -Wl,-rpath,%s/lib\n' "$prefix" "$prefix"
} > Makefile
make -s -j"$(getconf _NPROCESSORS_ONLN)" units > log 2>&1 || { cat log; exit 1; }
./units --gtest_brief=1
