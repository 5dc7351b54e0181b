/* Loaded with LD_PRELOAD: counts the calls that change files below one directory, and makes the N-th of them go wrong.
 *
 *   fault_arm(root, n, mode, error)   from here on; n = 0 only counts
 *   fault_count()                     calls so far, also those of a child that is gone (shared memory)
 *
 * Modes: 0 the N-th call fails; 1 the N-th call, if it is a write, writes half; 2 the process ends at the N-th call;
 * 3 from the N-th call on all that needs room fails.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FAILS, SHORT, KILLS, FULL };

static char root[4096];
static int armed, mode, error_number;
static long at;
static long *count;

__attribute__((constructor)) static void start(void) {
    count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void fault_arm(const char *where, long n, int how, int error) {
    snprintf(root, sizeof root, "%s", where);
    *count = 0;
    at = n, mode = how, error_number = error, armed = 1;
}

long fault_count(void) { return *count; }

static int below(const char *path) {
    size_t length = strlen(root);
    return armed && path && strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int descriptor_below(int fd) {
    char link[64], path[4096];
    if (!armed) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

/* Count one call. 0: go on. -1: fail with errno. 1: write half. */
static int step(int writes, int needs_room) {
    long number = ++*count;
    if (!at || number < at || (mode != FULL && number > at)) return 0;
    if (mode == KILLS) _exit(77);
    if (mode == SHORT) return writes ? 1 : 0;
    if (mode == FULL && !needs_room) return 0;
    errno = error_number;
    return -1;
}

#define REAL(name, result, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int opens(const char *path, int flags) {
    if (!(flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) || !below(path)) return 0;
    return step(0, flags & O_CREAT);
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(#name, int, const char *, int, ...); \
        va_list rest; \
        va_start(rest, flags); \
        int access = va_arg(rest, int); \
        va_end(rest); \
        return opens(path, flags) ? -1 : real(path, flags, access); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int at_fd, const char *path, int flags, ...) { \
        REAL(#name, int, int, const char *, int, ...); \
        va_list rest; \
        va_start(rest, flags); \
        int access = va_arg(rest, int); \
        va_end(rest); \
        return opens(path, flags) ? -1 : real(at_fd, path, flags, access); \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *data, size_t size) {
    REAL("write", ssize_t, int, const void *, size_t);
    int fate = descriptor_below(fd) ? step(1, 1) : 0;
    return fate < 0 ? -1 : real(fd, data, fate ? (size + 1) / 2 : size);
}

#define PWRITE(name, offset_type) \
    ssize_t name(int fd, const void *data, size_t size, offset_type offset) { \
        REAL(#name, ssize_t, int, const void *, size_t, offset_type); \
        int fate = descriptor_below(fd) ? step(1, 1) : 0; \
        return fate < 0 ? -1 : real(fd, data, fate ? (size + 1) / 2 : size, offset); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int number) {
    REAL("writev", ssize_t, int, const struct iovec *, int);
    int fate = descriptor_below(fd) ? step(1, 1) : 0;
    return fate < 0 ? -1 : real(fd, parts, fate && number > 1 ? 1 : number);
}

#define ON_DESCRIPTOR(name) \
    int name(int fd) { \
        REAL(#name, int, int); \
        return descriptor_below(fd) && step(0, 0) ? -1 : real(fd); \
    }
ON_DESCRIPTOR(fsync)
ON_DESCRIPTOR(fdatasync)

#define TRUNCATE(name, offset_type) \
    int name(int fd, offset_type size) { \
        REAL(#name, int, int, offset_type); \
        return descriptor_below(fd) && step(0, 0) ? -1 : real(fd, size); \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

int rename(const char *old, const char *new) {
    REAL("rename", int, const char *, const char *);
    return below(new) && step(0, 0) ? -1 : real(old, new);
}

int unlink(const char *path) {
    REAL("unlink", int, const char *);
    return below(path) && step(0, 0) ? -1 : real(path);
}

int mkdir(const char *path, mode_t access) {
    REAL("mkdir", int, const char *, mode_t);
    return below(path) && step(0, 1) ? -1 : real(path, access);
}
