/* Fails the k-th call of certain kinds on files below one folder, once or from then on. Preloaded; told by ctypes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { OPEN = 1, READ = 2, WRITE = 4, SYNC = 8, SIZE = 16, NAME = 32, MAKE = 64 };
#define MOST_FILES 4096

static char folder[PATH_MAX];
static size_t folder_length;
static int kinds, fault, armed, forever;
static long countdown, calls;
static char watched[MOST_FILES];

void faulty_watch(const char *path) {
    strncpy(folder, path, sizeof folder - 1);
    folder_length = strlen(folder);
}

void faulty_arm(int of_kinds, int with_errno, long at, int for_ever) {
    kinds = of_kinds; fault = with_errno; countdown = at; forever = for_ever; calls = 0; armed = 1;
}

long faulty_disarm(void) { armed = 0; return calls; }

static int fails(int kind) {
    if (!armed || !(kinds & kind)) return 0;
    calls++;
    if (countdown <= 0 || calls < countdown || (calls > countdown && !forever)) return 0;
    errno = fault;
    return 1;
}

static int below(const char *path) {
    if (!folder_length || !path) return 0;
    if (path[0] == '/') return strncmp(path, folder, folder_length) == 0;
    char here[PATH_MAX];
    return getcwd(here, sizeof here) && strncmp(here, folder, folder_length) == 0;
}

static int is_watched(int fd) { return fd >= 0 && fd < MOST_FILES && watched[fd]; }

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int opened(int fd, const char *path) {
    if (fd >= 0 && fd < MOST_FILES) watched[fd] = (char)below(path);
    return fd;
}

#define OPENER(name) \
    int name(const char *path, int flags, ...) { \
        REAL(int, #name, const char *, int, ...); \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        if (below(path) && (fails(OPEN) || ((flags & O_CREAT) && access(path, F_OK) && fails(MAKE)))) return -1; \
        return opened(real(path, flags, mode), path); \
    }
OPENER(open)
OPENER(open64)

#define OPENER_AT(name) \
    int name(int at, const char *path, int flags, ...) { \
        REAL(int, #name, int, const char *, int, ...); \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        if (below(path) && (fails(OPEN) || ((flags & O_CREAT) && access(path, F_OK) && fails(MAKE)))) return -1; \
        return opened(real(at, path, flags, mode), path); \
    }
OPENER_AT(openat)
OPENER_AT(openat64)

int close(int fd) {
    REAL(int, "close", int);
    if (fd >= 0 && fd < MOST_FILES) watched[fd] = 0;
    return real(fd);
}

#define ON_FILE(type, name, kind, parameters, ...) \
    type name parameters { \
        static type (*real) parameters; \
        if (!real) real = (type (*) parameters)dlsym(RTLD_NEXT, #name); \
        if (is_watched(fd) && fails(kind)) return -1; \
        return real(__VA_ARGS__); \
    }
ON_FILE(ssize_t, read, READ, (int fd, void *to, size_t size), fd, to, size)
ON_FILE(ssize_t, pread, READ, (int fd, void *to, size_t size, off_t at), fd, to, size, at)
ON_FILE(ssize_t, pread64, READ, (int fd, void *to, size_t size, off64_t at), fd, to, size, at)
ON_FILE(ssize_t, write, WRITE, (int fd, const void *from, size_t size), fd, from, size)
ON_FILE(ssize_t, pwrite, WRITE, (int fd, const void *from, size_t size, off_t at), fd, from, size, at)
ON_FILE(ssize_t, pwrite64, WRITE, (int fd, const void *from, size_t size, off64_t at), fd, from, size, at)
ON_FILE(int, fsync, SYNC, (int fd), fd)
ON_FILE(int, fdatasync, SYNC, (int fd), fd)
ON_FILE(int, ftruncate, SIZE, (int fd, off_t size), fd, size)
ON_FILE(int, ftruncate64, SIZE, (int fd, off64_t size), fd, size)

#define ON_NAME(name, kind, path, parameters, ...) \
    int name parameters { \
        static int (*real) parameters; \
        if (!real) real = (int (*) parameters)dlsym(RTLD_NEXT, #name); \
        if (below(path) && fails(kind)) return -1; \
        return real(__VA_ARGS__); \
    }
ON_NAME(rename, NAME, to, (const char *from, const char *to), from, to)
ON_NAME(renameat, NAME, to, (int a, const char *from, int b, const char *to), a, from, b, to)
ON_NAME(unlink, NAME, path, (const char *path), path)
ON_NAME(unlinkat, NAME, path, (int at, const char *path, int flags), at, path, flags)
ON_NAME(rmdir, NAME, path, (const char *path), path)
ON_NAME(mkdir, MAKE, path, (const char *path, mode_t mode), path, mode)
ON_NAME(mkdirat, MAKE, path, (int at, const char *path, mode_t mode), at, path, mode)
ON_NAME(link, MAKE, to, (const char *from, const char *to), from, to)
ON_NAME(linkat, MAKE, to, (int a, const char *from, int b, const char *to, int flags), a, from, b, to, flags)
