#define _POSIX_C_SOURCE 200809L
#include "reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The life of a client: attached, detached, attached anew. It has no thread of its own;
 * every call that gets the time looks after the socket on its way, once a millisecond. */

enum {
    FIRST_TIMEOUT_MS = 2000, /* of an attach that the caller waits for */
    AGAIN_TIMEOUT_MS = 500,  /* of one inside of another call */
    EVENTS_A_LOOK = 64
};
/* A look costs a system call. A millisecond is short against any frame, and long against
 * a publish, so it is nearly free; so long may an orphan be written into at most. */
#define LOOK_NS (1 * MS)
#define RETRY_MIN_NS (100 * MS)
#define RETRY_MAX_NS (5000 * MS)

int64_t sg_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

static sg_client *attach(int writer, const char *sock, const char *model, unsigned replica, sg_error *err)
{
    static const attachment none = {.fd = -1};
    sg_client *c = calloc(1, sizeof *c);
    if (c == NULL) {
        sg_fail(err, SG_E_SYSTEM, 0, "attach: no memory for a client");
        return NULL;
    }
    c->now.fd = -1;
    c->writer = writer;
    c->replica = replica;
    int code = sg_socket_path(c->path, sock, err);
    if (code == SG_OK && writer)
        code = sg_check_name("model", model, SG_E_ARGUMENT, err);
    if (code == SG_OK && writer)
        strcpy(c->model, model);
    if (code == SG_OK)
        code = sg_attach(c, &c->now, &none, FIRST_TIMEOUT_MS, err);
    if (code == SG_OK && !writer)
        code = sg_output_begin(c, err);
    if (code != SG_OK) {
        sg_close(c);
        return NULL;
    }
    strcpy(c->unit, c->now.unit);
    /* Never 0, which xorshift would not get away from. */
    c->looked_ns = sg_now();
    c->random = (uint64_t)c->looked_ns ^ (uint64_t)getpid() << 32 ^ 1;
    return c;
}

sg_client *sg_attach_writer(const char *sock, const char *model, unsigned replica, sg_error *err)
{
    return attach(1, sock, model, replica, err);
}

sg_client *sg_attach_reader(const char *sock, sg_error *err) { return attach(0, sock, NULL, 0, err); }

void sg_close(sg_client *c)
{
    if (c == NULL)
        return;
    sg_output_drop(c);
    sg_attachment_drop(&c->now);
    free(c->body);
    free(c);
}

/* wait_longer sets the next try: 0.1 s, doubled each time up to 5 s, and up to a quarter
 * more by chance, so that not all detectors knock at once. */
static void wait_longer(sg_client *c, int64_t now_ns, const char *why)
{
    /* Bounded before it is shifted: six doublings pass the limit. */
    int64_t wait = RETRY_MIN_NS << (c->failures < 6 ? c->failures : 6);
    if (wait > RETRY_MAX_NS)
        wait = RETRY_MAX_NS;
    c->random ^= c->random << 13; /* xorshift64 */
    c->random ^= c->random >> 7;
    c->random ^= c->random << 17;
    c->retry_ns = now_ns + wait + (int64_t)(c->random % (uint64_t)(wait / 4));
    c->failures++;
    snprintf(c->why, sizeof c->why, "%s", why);
}

/* detach gives the ring back at once, so that nothing is ever written into an orphan.
 * Frame rings stay mapped, for whoever still looks at a picture, and so does an output
 * ring, until what was published before the end is read. */
static void detach(sg_client *c, int64_t now_ns, const char *why)
{
    close(c->now.fd);
    c->now.fd = -1;
    sg_map_drop(c->now.ring);
    sg_map_drop(c->now.bell);
    c->now.ring = c->now.bell = NULL;
    memset(&c->now.writer, 0, sizeof c->now.writer);
    sg_output_end(c);
    c->failures = 0;
    wait_longer(c, now_ns, why);
    c->last_word[0] = 0;
}

/* detached is the answer while there is nobody: what happened, and when it is tried again. */
static int detached(const sg_client *c, int64_t now_ns, sg_error *err)
{
    return sg_fail(err, SG_E_DETACHED, 0, "detached from %s: %s; tried again in %lld ms", c->path, c->why,
                   (long long)((c->retry_ns - now_ns) / MS));
}

/* heed does what an event says. One it does not know is of a later release. */
static void heed(sg_client *c, const event *e)
{
    if (strcmp(e->name, "drain") == 0)
        c->draining = 1;
    if (strcmp(e->name, "closed") == 0)
        snprintf(c->last_word, sizeof c->last_word, "the appliance closed: %s", e->reason);
    if (strcmp(e->name, "stream_epoch") != 0)
        return;
    for (int i = 0; i < c->now.streams; i++) {
        stream *s = &c->now.stream[i];
        if (s->index < 0 || strcmp(s->camera, e->camera) != 0)
            continue;
        s->epoch = e->epoch;
        if (c->writer) /* known to the table, so this only notes the epoch */
            (void)sg_ring_stream(&c->now.writer, c->now.unit, s->camera, s->epoch, NULL);
    }
}

/* hear takes what the appliance has said, at most EVENTS_A_LOOK packets of it. */
static int hear(sg_client *c, int64_t now_ns, sg_error *err)
{
    sg_error e;
    event heard;
    for (int i = 0; i < EVENTS_A_LOOK; i++) {
        int files[MAX_FILES], n;
        int got = sg_socket_receive(c->now.fd, c->packet, files, &n, 0, &e);
        if (got == WOULD_WAIT)
            return SG_OK;
        sg_close_files(files, n); /* none is expected */
        if (got > 0 && event_read(&heard, c->packet, (size_t)got, &e) == SG_OK) {
            heed(c, &heard);
            continue;
        }
        detach(c, now_ns, got != 0 ? e.text : c->last_word[0] != 0 ? c->last_word : "the appliance is gone");
        return detached(c, now_ns, err);
    }
    return SG_OK;
}

/* attach_again makes the next attachment beside the old one and replaces it as a whole, so
 * that a try that fails changes nothing. It says SG_E_REATTACHED rather than go on: what
 * the caller has at hand is about a picture of the old memory, and a new appliance counts
 * its pictures and epochs from 1 again. */
static int attach_again(sg_client *c, int64_t now_ns, sg_error *err)
{
    sg_error e;
    attachment *next = malloc(sizeof *next);
    if (next == NULL) {
        wait_longer(c, now_ns, "no memory for a new attachment");
        return detached(c, now_ns, err);
    }
    if (sg_attach(c, next, &c->now, AGAIN_TIMEOUT_MS, &e) != SG_OK) {
        free(next);
        wait_longer(c, now_ns, e.text);
        return detached(c, now_ns, err);
    }
    sg_output_drop(c);
    sg_attachment_drop(&c->now);
    c->now = *next;
    free(next);
    if (!c->writer && sg_output_begin(c, &e) != SG_OK) {
        sg_output_drop(c);
        detach(c, now_ns, e.text);
        return detached(c, now_ns, err);
    }
    strcpy(c->unit, c->now.unit);
    c->draining = 0;
    c->failures = 0;
    return sg_fail(err, SG_E_REATTACHED, 0,
                   "attached anew to %s: the picture at hand is of the old memory: take a new one", c->path);
}

int sg_look(sg_client *c, int64_t now_ns, sg_error *err)
{
    if (c->now.fd < 0) {
        /* A clock that ran backwards must not keep us waiting. */
        if (now_ns < c->retry_ns && c->retry_ns - now_ns < 2 * RETRY_MAX_NS)
            return detached(c, now_ns, err);
        return attach_again(c, now_ns, err);
    }
    if (now_ns - c->looked_ns < LOOK_NS && now_ns >= c->looked_ns)
        return SG_OK;
    c->looked_ns = now_ns;
    /* Listened to first: the heartbeat is a store into the ring, which may be an orphan. */
    int code = hear(c, now_ns, err);
    if (code == SG_OK && c->writer)
        sg_ring_heartbeat(&c->now.writer, now_ns);
    return code;
}

int sg_poll(sg_client *c, int64_t now_ns, sg_error *err)
{
    if (c->now.fd >= 0)
        c->looked_ns = now_ns - LOOK_NS; /* asked to look, so it looks */
    return sg_look(c, now_ns, err);
}

int sg_attached(const sg_client *c) { return c->now.fd >= 0; }
int sg_draining(const sg_client *c) { return c->draining; }
const char *sg_unit(const sg_client *c) { return c->unit; }
