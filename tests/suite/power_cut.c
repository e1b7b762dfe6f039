// A machine that loses power: at the n-th call that changes a file system, everything below a directory that was not
// flushed is emptied, and the process ends.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ino_t flushed[1 << 16];
static size_t count;
static long left = -1;

static void keep(ino_t inode) {
    if (count < sizeof flushed / sizeof *flushed) flushed[count++] = inode;
}

static int keep_one(const char *path, const struct stat *data, int kind, struct FTW *at) {
    (void)path, (void)at;
    if (kind == FTW_F) keep(data->st_ino);
    return 0;
}

static int lose_one(const char *path, const struct stat *data, int kind, struct FTW *at) {
    (void)at;
    if (kind != FTW_F || data->st_size == 0) return 0;
    for (size_t i = 0; i < count; i++)
        if (flushed[i] == data->st_ino) return 0;
    return truncate(path, 0), 0;
}

__attribute__((constructor)) static void start(void) {
    const char *after = getenv("POWER_CUT_AFTER"), *root = getenv("POWER_CUT_ROOT");
    if (!after || !root || strcmp(program_invocation_short_name, "simpack") != 0) return;
    left = atol(after);
    nftw(root, keep_one, 16, FTW_PHYS);
}

static void tick(void) {
    pthread_mutex_lock(&lock);
    if (left > 0 && --left == 0) {
        nftw(getenv("POWER_CUT_ROOT"), lose_one, 16, FTW_PHYS);
        _exit(99);
    }
    pthread_mutex_unlock(&lock);
}

static void keep_file(int file) {
    struct stat data;
    pthread_mutex_lock(&lock);
    if (left > 0 && fstat(file, &data) == 0) keep(data.st_ino);
    pthread_mutex_unlock(&lock);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int file) {
    tick();
    int result = NEXT(fsync)(file);
    keep_file(file);
    return result;
}

int fdatasync(int file) {
    tick();
    int result = NEXT(fdatasync)(file);
    keep_file(file);
    return result;
}

int syncfs(int file) {
    tick();
    pthread_mutex_lock(&lock);
    if (left > 0) nftw(getenv("POWER_CUT_ROOT"), keep_one, 16, FTW_PHYS);
    pthread_mutex_unlock(&lock);
    return NEXT(syncfs)(file);
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t size, unsigned flags) {
    tick();
    return NEXT(copy_file_range)(from, from_at, to, to_at, size, flags);
}

ssize_t write(int file, const void *bytes, size_t size) {
    if (file > 2) tick();
    return NEXT(write)(file, bytes, size);
}

int rename(const char *from, const char *to) {
    tick();
    int result = NEXT(rename)(from, to);
    tick();
    return result;
}

int renameat(int from_dir, const char *from, int to_dir, const char *to) {
    tick();
    int result = NEXT(renameat)(from_dir, from, to_dir, to);
    tick();
    return result;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags) {
    tick();
    int result = NEXT(renameat2)(from_dir, from, to_dir, to, flags);
    tick();
    return result;
}

int mkdirat(int dir, const char *path, mode_t mode) {
    tick();
    return NEXT(mkdirat)(dir, path, mode);
}

int unlinkat(int dir, const char *path, int flags) {
    tick();
    return NEXT(unlinkat)(dir, path, flags);
}

int symlinkat(const char *text, int dir, const char *path) {
    tick();
    return NEXT(symlinkat)(text, dir, path);
}

int mkdir(const char *path, mode_t mode) {
    tick();
    return NEXT(mkdir)(path, mode);
}

int unlink(const char *path) {
    tick();
    return NEXT(unlink)(path);
}

int symlink(const char *text, const char *path) {
    tick();
    return NEXT(symlink)(text, path);
}
