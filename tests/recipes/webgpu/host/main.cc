// ringed [--version | CELLS CYCLES LEAK KEEP_REST]: what the shaders compute, by the processor. Prints all cells as JSON; without arguments
// the directory of its shaders.
#include "ring.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

int main(int argc, char **argv) {
    if (argc == 1) return puts(ABI) < 0;
    if (argc == 2 && std::strcmp(argv[1], "--version") == 0) return puts("ringed 0.1.0") < 0;
    if (argc != 5) return 2;
    const uint32_t count = atoi(argv[1]), cycles = atoi(argv[2]);
    const int leak = atoi(argv[3]), keep_rest = atoi(argv[4]);
    std::vector<Cell> cells(count, Cell{});
    for (uint32_t cycle = 0; cycle < cycles; ++cycle) {
        for (uint32_t i = 0; i < count; ++i) {
            Cell &cell = cells[i];
            const int32_t drive = 900 + int32_t((i * 37 + cycle * 11) % 200);
            const int32_t next = cell.potential - (cell.potential >> leak) + drive + cell.arriving;
            cell.arriving = 0;
            cell.fired = 0;
            if (keep_rest && cell.rest > 0) {
                --cell.rest;
            } else if (next >= 6000) {
                cell.potential = 0;
                cell.fired = 1;
                cell.rest = 2;
                ++cell.spikes;
            } else {
                cell.potential = next;
            }
        }
        for (uint32_t i = 0; i < count; ++i)
            cells[i].arriving += cells[(i + count - 1) % count].fired ? 350 : 0;
    }
    printf("[");
    for (uint32_t i = 0; i < count; ++i)
        printf("%s[%d, %u, %u, %u]", i ? ", " : "", cells[i].potential, cells[i].fired, cells[i].rest, cells[i].spikes);
    printf("]\n");
}
