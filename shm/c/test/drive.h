/* What drive works on. A command is a line of words and gets one line of answer: "ok …",
 * a number, or "error CODE REASON REFUSAL text". */
#ifndef DRIVE_H
#define DRIVE_H

#include "peer.h"

typedef struct driver {
    uint8_t *mem[8];
    size_t size[8];
    sg_doorbell bell;
    sg_ring_writer w;
    sg_ring_reader r;
    sg_frame_reader frames;
    sg_frame frame;
    sg_client *c;
    void *held;
    uint8_t *body;
    sg_error err;
} driver;

enum { BODY = 1 << 20 };

typedef struct command {
    const char *name;
    int words; /* after the name */
    void (*run)(driver *d, char **a);
} command;

extern const command ring_commands[], client_commands[];

static inline uint64_t num(const char *s) { return strtoull(s, NULL, 0); }
static inline int64_t inum(const char *s) { return strtoll(s, NULL, 0); }

void say_code(driver *d, int code); /* a number, or the error */
size_t unhex(const char *s, uint8_t *to); /* "-" = none */
void print_hex(const uint8_t *b, size_t n);
void print_message(const sg_message *m, const uint8_t *body, size_t room);
void print_frame(const sg_frame *f);
void print_fused(driver *d, const sg_fused *f);

#endif
