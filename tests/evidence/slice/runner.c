/* Loads the library it is given, calls its host code, launches its kernels, and prints results as digests. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 20 };

static uint64_t digest(const void *bytes, size_t size) {
    uint64_t value = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) value = (value ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return value;
}

int main(int count, char **args) {
    void *library = count > 1 ? dlopen(args[1], RTLD_NOW) : 0;
    if (!library) return printf("not loaded: %s\n", count > 1 ? dlerror() : "no library"), 1;
    int (*answer)(int) = (int (*)(int))dlsym(library, "host_answer");
    const char *(*text)(int) = (const char *(*)(int))dlsym(library, "error_text");
    int (*scale)(float *, int) = (int (*)(float *, int))dlsym(library, "run_scale");
    int (*waves)(double *, int) = (int (*)(double *, int))dlsym(library, "run_waves");
    int (*which)(int *) = (int (*)(int *))dlsym(library, "run_which");
    if (!answer || !text || !scale || !waves || !which) return puts("a function is missing"), 1;
    printf("host %d %d\n", answer(41), answer(-1));
    float *x = malloc(N * sizeof *x);
    double *y = malloc(N * sizeof *y);
    for (int i = 0; i < N; i++) x[i] = i % 1000 * 0.001f, y[i] = i % 777 * 0.003 - 1;
    int error = scale(x, N);
    if (error) printf("scale error %d %s\n", error, text(error));
    else printf("scale %016lx\n", (unsigned long)digest(x, N * sizeof *x));
    error = waves(y, N);
    if (error) printf("waves error %d %s\n", error, text(error));
    else printf("waves %016lx\n", (unsigned long)digest(y, N * sizeof *y));
    int made_for = 0;
    error = which(&made_for);
    if (error) printf("which error %d %s\n", error, text(error));
    else printf("which %d\n", made_for);
    return 0;
}
