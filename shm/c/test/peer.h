/* The test program's parts: each verb is one file. */
#ifndef PEER_H
#define PEER_H

#include "client.h"
#include "json.h"
#include "reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int selftest(int argc, char **argv); /* the library by itself, on heap memory */
int abi(int argc, char **argv);      /* prints this side's numbers */
int drive(int argc, char **argv);    /* does what its input says */
int flood(int argc, char **argv);    /* publishes self-checking messages into fd 3 */
int follow(int argc, char **argv);   /* reads them from fd 3 */
int hostile(int argc, char **argv);  /* reads what makes no sense */
int probe(int argc, char **argv);    /* hooks the probe's site */
int bench(int argc, char **argv);

/* A broken expectation ends the program with its place. */
#define CHECK(c) ((c) ? (void)0 : die(__FILE__, __LINE__, #c))
_Noreturn static inline void die(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    exit(1);
}

/* A self-checking message: all of it follows from its number, as in the Go tests. */
static inline uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static inline size_t checked_header(uint64_t n, size_t payload, sg_message *m)
{
    *m = (sg_message){.capture_ns = (int64_t)mix(n + 1),
                      .publish_ns = (int64_t)mix(n + 2),
                      .frame_id = n,
                      .tag = mix(n + 3),
                      .stream_epoch = (uint32_t)mix(n + 4),
                      .count = (uint16_t)mix(n + 5),
                      .kind = SG_KIND_BOXES,
                      .flags = (uint8_t)mix(n + 6)};
    return (size_t)(mix(n) % (payload / 8)) * 8;
}

static inline void checked_body(uint64_t n, size_t length, uint8_t *body)
{
    for (size_t i = 0; i < length; i += 8) {
        uint64_t v = mix(n) + i;
        memcpy(body + i, &v, 8);
    }
}

#endif
