#define _GNU_SOURCE /* seals */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without these seals a peer could truncate the file and turn our next read into SIGBUS. */
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

/* map refuses what is not sealed before it maps it: afterwards would be too late. */
static int map(sg_map *m, int fd, int writable, const char *name, sg_error *err)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0)
        return sg_fail_system(err, errno, "map segment \"%s\": it is no memfd", name);
    if ((seals & SEALS) != SEALS)
        return sg_fail(err, SG_E_NOT_SEALED, 0, "map segment \"%s\": seals are %#x, need shrink, grow and seal (%#x)",
                       name, seals, SEALS);
    if (fstat(fd, &st) != 0)
        return sg_fail_system(err, errno, "map segment \"%s\"", name);
    if (st.st_size <= 0 || (uint64_t)st.st_size > MAX_SEGMENT)
        return sg_fail(err, SG_E_QUARANTINE, SG_REASON_SIZE, "map segment \"%s\": size %lld out of range", name,
                       (long long)st.st_size);
    m->size = (size_t)st.st_size;
    /* Populate: the first lap around a ring shall not take a page fault a slot. */
    void *b = mmap(NULL, m->size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (b == MAP_FAILED)
        return sg_fail_system(err, errno, "map segment \"%s\" of %zu bytes", name, m->size);
    m->b = b;
    return SG_OK;
}

sg_map *sg_map_segment(int fd, int writable, const char *name, sg_error *err)
{
    sg_map *m = calloc(1, sizeof *m);
    int code = m == NULL ? sg_fail_system(err, ENOMEM, "map segment \"%s\"", name) : map(m, fd, writable, name, err);
    close(fd);
    if (code != SG_OK) {
        free(m);
        return NULL;
    }
    atomic_init(&m->holders, 1);
    return m;
}

/* The last holder unmaps. Each drop sees what the others did with the memory before. */
void sg_map_drop(sg_map *m)
{
    if (m == NULL || atomic_fetch_sub_explicit(&m->holders, 1, memory_order_acq_rel) != 1)
        return;
    munmap(m->b, m->size);
    free(m);
}

/* One comparison for both ends: an address below b wraps to a very large distance. */
void *sg_hold(const sg_client *c, const void *p)
{
    for (int i = 0; i < c->now.streams; i++) {
        sg_map *m = c->now.stream[i].map;
        if (m != NULL && (uintptr_t)p - (uintptr_t)m->b < m->size) {
            atomic_fetch_add_explicit(&m->holders, 1, memory_order_relaxed);
            return m;
        }
    }
    return NULL;
}

void sg_release(void *held) { sg_map_drop(held); }
