// As in kernels/entry.h: the kernel ABI tag tells whether both are the same.
struct Entry {
    const char *kernel_abi;
    int (*scale)(float *values, float factor, int count);
};
