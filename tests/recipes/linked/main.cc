#include <cstdio>
#include <cstring>
#include <mpi.h>

#include "field.h"

int main(int count, char **words) {
    if (count == 2 && std::strcmp(words[1], "--version") == 0) {
        std::puts("linked 0.4.0");
        return 0;
    }
    if (count != 2) {
        std::fprintf(stderr, "usage: linked FILE\n");
        return 2;
    }
    MPI_Init(&count, &words);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double sum = linked_round_trip(words[1], 100);
    std::printf("{\"rank\": %d, \"size\": %d, \"sum\": %.1f}\n", rank, size, sum);
    MPI_Finalize();
    return sum == 5050.0 ? 0 : 1;
}
