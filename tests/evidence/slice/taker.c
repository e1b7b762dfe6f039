/* Loads the container that a library embeds by cuModuleLoadData, as its owner would, and runs a kernel of it. */
#include <dlfcn.h>
#include <stdio.h>
typedef int (*any)();
static any find(void *library, const char *name) {
    any found = (any)dlsym(library, name);
    if (!found) { printf("no %s\n", name); }
    return found;
}
int main(int count, char **args) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) { puts(dlerror()); return 1; }
    void *library = dlopen(args[1], RTLD_NOW);
    if (!library) { puts(dlerror()); return 1; }
    const void *(*given)(void) = (const void *(*)(void))dlsym(library, "given");
    int device; void *context, *module, *kernel; unsigned long long memory; float x[4] = {1, 2, 3, 4}; int n = 4;
    if (find(driver, "cuInit")(0) || find(driver, "cuDeviceGet")(&device, 0)) { puts("no device"); return 1; }
    if (find(driver, "cuDevicePrimaryCtxRetain")(&context, device) || find(driver, "cuCtxSetCurrent")(context)) { puts("no context"); return 1; }
    int error = find(driver, "cuModuleLoadData")(&module, given());
    if (error) { printf("cuModuleLoadData error %d\n", error); return 2; }
    error = find(driver, "cuModuleGetFunction")(&kernel, module, "twice");
    if (error) { printf("cuModuleGetFunction error %d\n", error); return 2; }
    find(driver, "cuMemAlloc_v2")(&memory, (size_t)16);
    find(driver, "cuMemcpyHtoD_v2")(memory, x, (size_t)16);
    void *parameters[] = {&memory, &n};
    error = find(driver, "cuLaunchKernel")(kernel, 1, 1, 1, 32, 1, 1, 0, (void *)0, parameters, (void *)0);
    if (error) { printf("cuLaunchKernel error %d\n", error); return 2; }
    error = find(driver, "cuMemcpyDtoH_v2")(x, memory, (size_t)16);
    if (error) { printf("cuMemcpyDtoH error %d\n", error); return 2; }
    printf("twice %g %g %g %g\n", x[0], x[1], x[2], x[3]);
    return 0;
}
