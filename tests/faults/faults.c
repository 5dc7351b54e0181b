/* Loaded with LD_PRELOAD: counts the calls that change files below one directory, and makes the N-th of them go wrong.
 *
 *   fault_arm(root, n, mode, error)   from here on; n = 0 only counts
 *   fault_count()                     calls so far, also those of a child that is gone (shared memory)
 *
 * Modes: 0 the N-th call fails; 1 the N-th call, if it is a write, writes half; 2 the process ends at the N-th call;
 * 3 from the N-th call on all that needs room fails.
 *
 * With FAULT_TRACE and FAULT_ROOT in the environment nothing fails: this process and its children append a line to the
 * file FAULT_TRACE for every such call below FAULT_ROOT: `operation<TAB>path[<TAB>new path]` (`syncs.py` reads them).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FAILS, SHORT, KILLS, FULL };

static char root[4096];
static int armed, mode, error_number, trace = -1;
static long at;
static long *count;

__attribute__((constructor)) static void start(void) {
    count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const char *where = getenv("FAULT_ROOT"), *to = getenv("FAULT_TRACE");
    if (!where || !to) return;
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    snprintf(root, sizeof root, "%s", where);
    trace = real(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    armed = 1;
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

static int path_of(int fd, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return 1;
}

static int descriptor_below(int fd) {
    char path[4096];
    return armed && path_of(fd, path, sizeof path) && below(path);
}

/* What was done, once it has succeeded. */
static void note(const char *what, const char *path, const char *new) {
    int before = errno;
    if (trace >= 0 && (below(path) || below(new))) dprintf(trace, "%s\t%s\t%s\n", what, path, new ? new : "");
    errno = before;
}

static void note_descriptor(const char *what, int fd) {
    char path[4096];
    if (trace < 0) return;
    int before = errno;
    if (path_of(fd, path, sizeof path)) note(what, path, NULL);
    errno = before;
}

/* The whole path of one that is relative to an open directory. */
static const char *whole(int at_fd, const char *path, char *room, size_t size) {
    if (trace < 0 || path[0] == '/' || !path_of(at_fd, room, size)) return path;
    size_t length = strlen(room);
    snprintf(room + length, size - length, "/%s", path);
    return room;
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

/* What opening it does to it: a name that was not there, or other content. */
static const char *opened(const char *path, int flags) {
    struct stat known;
    if (trace < 0 || !below(path)) return NULL;
    int before = errno, there = stat(path, &known) == 0;
    errno = before;
    return !there && flags & O_CREAT ? "create" : flags & O_TRUNC ? "write" : NULL;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(#name, int, const char *, int, ...); \
        va_list rest; \
        va_start(rest, flags); \
        int access = va_arg(rest, int); \
        va_end(rest); \
        if (opens(path, flags)) return -1; \
        const char *how = opened(path, flags); \
        int fd = real(path, flags, access); \
        if (fd >= 0 && how) note(how, path, NULL); \
        return fd; \
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
        if (opens(path, flags)) return -1; \
        const char *how = opened(path, flags); \
        int fd = real(at_fd, path, flags, access); \
        if (fd >= 0 && how) note(how, path, NULL); \
        return fd; \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *data, size_t size) {
    REAL("write", ssize_t, int, const void *, size_t);
    int fate = descriptor_below(fd) ? step(1, 1) : 0;
    ssize_t written = fate < 0 ? -1 : real(fd, data, fate ? (size + 1) / 2 : size);
    if (written >= 0) note_descriptor("write", fd);
    return written;
}

#define PWRITE(name, offset_type) \
    ssize_t name(int fd, const void *data, size_t size, offset_type offset) { \
        REAL(#name, ssize_t, int, const void *, size_t, offset_type); \
        int fate = descriptor_below(fd) ? step(1, 1) : 0; \
        ssize_t written = fate < 0 ? -1 : real(fd, data, fate ? (size + 1) / 2 : size, offset); \
        if (written >= 0) note_descriptor("write", fd); \
        return written; \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int number) {
    REAL("writev", ssize_t, int, const struct iovec *, int);
    int fate = descriptor_below(fd) ? step(1, 1) : 0;
    ssize_t written = fate < 0 ? -1 : real(fd, parts, fate && number > 1 ? 1 : number);
    if (written >= 0) note_descriptor("write", fd);
    return written;
}

#define ON_DESCRIPTOR(name) \
    int name(int fd) { \
        REAL(#name, int, int); \
        int result = descriptor_below(fd) && step(0, 0) ? -1 : real(fd); \
        if (result == 0) note_descriptor("sync", fd); \
        return result; \
    }
ON_DESCRIPTOR(fsync)
ON_DESCRIPTOR(fdatasync)

#define TRUNCATE(name, offset_type) \
    int name(int fd, offset_type size) { \
        REAL(#name, int, int, offset_type); \
        int result = descriptor_below(fd) && step(0, 0) ? -1 : real(fd, size); \
        if (result == 0) note_descriptor("write", fd); \
        return result; \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

int rename(const char *old, const char *new) {
    REAL("rename", int, const char *, const char *);
    int result = below(new) && step(0, 0) ? -1 : real(old, new);
    if (result == 0) note("rename", old, new);
    return result;
}

int link(const char *old, const char *new) {
    REAL("link", int, const char *, const char *);
    int result = below(new) && step(0, 1) ? -1 : real(old, new);
    if (result == 0) note("link", old, new);
    return result;
}

int unlink(const char *path) {
    REAL("unlink", int, const char *);
    int result = below(path) && step(0, 0) ? -1 : real(path);
    if (result == 0) note("remove", path, NULL);
    return result;
}

int unlinkat(int at_fd, const char *path, int flags) {
    REAL("unlinkat", int, int, const char *, int);
    char room[8192];
    int result = real(at_fd, path, flags);
    if (result == 0) note("remove", whole(at_fd, path, room, sizeof room), NULL);
    return result;
}

int rmdir(const char *path) {
    REAL("rmdir", int, const char *);
    int result = real(path);
    if (result == 0) note("remove", path, NULL);
    return result;
}

#define SENDFILE(name, offset_type) \
    ssize_t name(int out, int in, offset_type *offset, size_t size) { \
        REAL(#name, ssize_t, int, int, offset_type *, size_t); \
        ssize_t written = real(out, in, offset, size); \
        if (written > 0) note_descriptor("write", out); \
        return written; \
    }
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

int mkdir(const char *path, mode_t access) {
    REAL("mkdir", int, const char *, mode_t);
    int result = below(path) && step(0, 1) ? -1 : real(path, access);
    if (result == 0) note("create", path, NULL);
    return result;
}
