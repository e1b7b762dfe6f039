/* For each library named on standard input: loads it in a process of its own, calls what says its
   version, and prints one line about it. The arguments are loaded first, for everybody. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *texts[] = {
    "BZ2_bzlibVersion", "LZ4_versionString", "Py_GetVersion", "TIFFGetVersion", "XML_ExpatVersion", "ZSTD_versionString",
    "archive_version_string", "cairo_version_string", "curl_version", "curses_version", "hb_version_string", "isl_version",
    "lzma_version_string", "mpc_get_version", "mpfr_get_version", "opj_version", "pango_version_string",
    "pixman_version_string", "sqlite3_libversion", "uv_version_string", "zlibVersion", 0};
static const char *numbers[] = {
    "BrotliDecoderVersion", "BrotliEncoderVersion", "FcGetVersion", "LZ4_versionNumber", "OpenSSL_version_num",
    "WebPGetDecoderVersion", "WebPGetEncoderVersion", "XXH_versionNumber", "ZSTD_versionNumber", "archive_version_number",
    "cairo_version", "hwloc_get_api_version", "lzma_version_number", "magic_version", "omp_get_num_procs", "pango_version",
    "pixman_version", "png_access_version_number", "sqlite3_libversion_number", "uv_version", 0};

static const char *left[] = {"/dev/shm/sem.faketime_sem_%d", "/dev/shm/faketime_shm_%d", 0};

/* The function, if this library itself has it. */
static void *own(void *library, const char *name, const char *path) {
    Dl_info info;
    void *found = dlsym(library, name);
    return found && dladdr(found, &info) && info.dli_fname && !strcmp(info.dli_fname, path) ? found : 0;
}

/* A text on the same line. */
static void say(int out, const char *name, const char *text) {
    char line[1024];
    snprintf(line, sizeof line, ", %s %s", name, text ? text : "");
    for (char *c = line; *c; c++) if (*c == '\n') *c = ' ';
    write(out, line, strlen(line));
}

static void load(const char *path, int out) {
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0), dup2(null, 1), dup2(null, 2);
    alarm(30);
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        const char *why = dlerror(), *rest = strstr(why, ": ");
        dprintf(out, "no: %s", rest ? rest + 2 : why);
        _exit(0);
    }
    dprintf(out, "loads");
    for (const char **name = texts; *name; name++) {
        const char *(*call)(void) = own(library, *name, path);
        if (call) say(out, *name, call());
    }
    for (const char **name = numbers; *name; name++) {
        unsigned (*call)(void) = own(library, *name, path);
        if (call) dprintf(out, ", %s %u", *name, call());
    }
    _exit(0);
}

int main(int count, char **args) {
    char line[4096];
    int out = dup(1);
    for (int index = 1; index < count; index++) dlopen(args[index], RTLD_LAZY | RTLD_GLOBAL);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        pid_t child = fork();
        if (child == 0) load(line, out);
        int status;
        waitpid(child, &status, 0);
        /* libfaketime's files, which only a proper end removes: another process of this number would meet them. */
        for (const char **name = left; *name; name++) {
            snprintf(line, sizeof line, *name, child);
            unlink(line);
        }
        if (status) dprintf(out, "no: ended by %d", status);
        dprintf(out, "\n");
    }
}
