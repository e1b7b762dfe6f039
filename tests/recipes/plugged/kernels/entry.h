// The one thing that a library of kernels exports: of which kernel ABI it is, and how its kernels are launched.
struct Entry {
    const char *kernel_abi;
    int (*scale)(float *values, float factor, int count);
};
