/* A client of a running appliance: what attach.c builds and client.c works with. */
#ifndef SKEWGATE_CLIENT_H
#define SKEWGATE_CLIENT_H

#include "internal.h"

enum {
    MAX_PACKET = 65536,            /* bytes of one packet on the socket */
    MAX_FILES = SG_MAX_STREAMS + 2, /* a frame ring a camera, ring and doorbell */
    PATH_BYTES = 108               /* of a socket, by the kernel's sockaddr_un */
};

#define MS INT64_C(1000000)

/* A mapped segment. It lives as long as somebody holds it. */
typedef struct sg_map {
    uint8_t *b;
    size_t size;
    _Atomic unsigned holders;
} sg_map;

/* map.c: takes fd over, also when it fails. */
sg_map *sg_map_segment(int fd, int writable, const char *name, sg_error *err);
void sg_map_drop(sg_map *m);

/* socket.c. receive returns the packet's bytes, 0 at the end of the connection, WOULD_WAIT
 * after timeout_ms without one, or an error's code; files are the caller's to close. */
enum { WOULD_WAIT = -100 };
int sg_socket_path(char path[PATH_BYTES], const char *sock, sg_error *err);
int sg_socket_connect(const char *path, sg_error *err);
int sg_socket_send(int fd, const char *packet, size_t length, sg_error *err);
int sg_socket_receive(int fd, char *packet, int files[MAX_FILES], int *file_count, int timeout_ms, sg_error *err);
void sg_close_files(int *files, int n);

typedef struct stream {
    char camera[SG_NAME_BYTES];
    uint32_t epoch;
    int index;          /* in the ring's table; −1: the appliance gives it no more */
    sg_map *map;        /* of the frame ring; NULL without one */
    sg_frame_reader frames;
} stream;

/* What one attachment brought; a new one replaces it as a whole. */
typedef struct attachment {
    int fd; /* −1: detached */
    char unit[SG_NAME_BYTES];
    sg_map *ring, *bell, *output;
    sg_doorbell doorbell;
    sg_ring_writer writer;
    sg_ring_reader reader;
    int streams;
    stream stream[SG_MAX_STREAMS];
} attachment;

/* Names of a fused frame's models or classes, by their number. */
typedef struct names {
    char **name;
    unsigned count, room;
} names;

typedef struct known_stream {
    int known;
    sg_stream_info info;
} known_stream;

struct sg_client {
    int writer; /* 0: a reader */
    char path[PATH_BYTES];
    char model[SG_NAME_BYTES];
    unsigned replica;
    uint32_t state;
    int draining;
    attachment now;
    char unit[SG_NAME_BYTES];

    char last_word[200]; /* reason of an event "closed" */
    int64_t looked_ns;   /* at the socket */
    int64_t retry_ns;    /* detached: not before */
    unsigned failures;   /* since the last attachment */
    uint64_t random;     /* of the jitter */
    char why[256];       /* detached: what happened last */

    char packet[MAX_PACKET];
    uint8_t *body;       /* reader: the message being looked at */
    uint64_t read, lost; /* reader: of former attachments */
    uint64_t end;        /* reader, detached with a ring: its last message to be read */
    names models, classes;
    known_stream known[SG_MAX_STREAMS]; /* reader: of the output ring */
};

/* attach.c: one try. next takes over from old the numbers of streams. */
int sg_attach(sg_client *c, attachment *next, const attachment *old, int timeout_ms, sg_error *err);
void sg_attachment_drop(attachment *a);

/* client.c: looks at the socket, if it is time to, and attaches anew, if it is time to. */
int sg_look(sg_client *c, int64_t now_ns, sg_error *err);

/* output.c: what a reader does with a new attachment; when the appliance is gone, whose ring
 * it reads to its end; and when it lets go of the ring. */
int sg_output_begin(sg_client *c, sg_error *err);
void sg_output_end(sg_client *c);
void sg_output_drop(sg_client *c);

#endif
