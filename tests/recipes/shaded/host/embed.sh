#!/bin/sh
# Writes C++ that holds every module below a directory: embed.sh DIRECTORY
set -eu
cd "$1"
number=0
list=
for module in */*/*.spv; do
    printf 'asm(".section .rodata\\n.balign 4\\nmodule%s:\\n.incbin \\"%s/%s\\"\\nend%s:\\n.previous");\n' \
        "$number" "$1" "$module" "$number"
    printf 'extern "C" const char module%s[], end%s[];\n' "$number" "$number"
    list="$list    {\"/$module\", module$number, end$number},
"
    number=$((number + 1))
done
printf 'const Module modules[] = {\n%s};\n' "$list"
