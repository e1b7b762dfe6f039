/* Runs cuRAND's own interface: numbers made on the GPU must be those that the library's host generators
   make on the CPU, bit by bit. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 20 };
typedef void *gen;

int main(int count, char **args) {
    if (count < 3) return 2;
    void *runtime = dlopen(args[1], RTLD_NOW | RTLD_GLOBAL), *library = runtime ? dlopen(args[2], RTLD_NOW) : 0;
    if (!library) return printf("not loaded: %s\n", dlerror()), 1;
    int (*cuda_malloc)(void **, size_t) = (int (*)(void **, size_t))dlsym(runtime, "cudaMalloc");
    int (*cuda_copy)(void *, const void *, size_t, int) = (int (*)(void *, const void *, size_t, int))dlsym(runtime, "cudaMemcpy");
    int (*cuda_wait)(void) = (int (*)(void))dlsym(runtime, "cudaDeviceSynchronize");
    int (*create)(gen *, int) = (int (*)(gen *, int))dlsym(library, "curandCreateGenerator");
    int (*create_host)(gen *, int) = (int (*)(gen *, int))dlsym(library, "curandCreateGeneratorHost");
    int (*seed)(gen, unsigned long long) = (int (*)(gen, unsigned long long))dlsym(library, "curandSetPseudoRandomGeneratorSeed");
    int (*uniform)(gen, float *, size_t) = (int (*)(gen, float *, size_t))dlsym(library, "curandGenerateUniform");
    int (*version)(int *) = (int (*)(int *))dlsym(library, "curandGetVersion");
    int number = 0, failed = 0;
    version(&number);
    printf("curand %d\n", number);
    static const struct { const char *name; int type; } types[] = {{"xorwow", 101}, {"mrg32k3a", 121}, {"philox4_32_10", 161}};
    float *device = 0, *from_gpu = calloc(N, 4), *from_cpu = calloc(N, 4);
    int error = cuda_malloc((void **)&device, N * 4);
    if (error) return printf("cudaMalloc error %d\n", error), 1;
    for (int i = 0; i < 3; i++) {
        gen gpu = 0, cpu = 0;
        int status = create(&gpu, types[i].type);
        if (!status) status = seed(gpu, 1234);
        if (!status) status = uniform(gpu, device, N);
        if (!status) status = cuda_wait();
        if (!status) status = cuda_copy(from_gpu, device, N * 4, 2);
        if (status) { printf("%s status %d\n", types[i].name, status), failed = 1; continue; }
        if (create_host(&cpu, types[i].type) || seed(cpu, 1234) || uniform(cpu, from_cpu, N)) return puts("no host generator"), 1;
        uint64_t value = 0xcbf29ce484222325u;
        for (size_t k = 0; k < N * 4ul; k++) value = (value ^ ((unsigned char *)from_gpu)[k]) * 0x100000001b3u;
        int same = !memcmp(from_gpu, from_cpu, N * 4ul);
        printf("%s %016lx %s\n", types[i].name, (unsigned long)value, same ? "as on the CPU" : "DIFFERS from the CPU");
        failed |= !same;
    }
    return failed;
}
