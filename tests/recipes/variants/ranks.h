#pragma once

// The ranks of the job that this process belongs to, and the sum over all of them of what each contributes.
struct RanksResult {
    const char *mpi;
    int size;
    long sum;
};

extern "C" const char ranks_kernel_abi[];
extern "C" RanksResult ranks_sum(long own);
