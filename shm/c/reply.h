/* What the appliance answers on its socket, read from JSON. */
#ifndef SKEWGATE_REPLY_H
#define SKEWGATE_REPLY_H

#include "client.h"

typedef struct reply {
    int said, ok; /* said: there was an ok */
    uint32_t abi;
    uint64_t replica;
    char unit[SG_NAME_BYTES], model[SG_NAME_BYTES];
    char code[32], error[320]; /* of a refusal */
    int cameras, files;
    struct {
        char name[SG_NAME_BYTES];
        uint32_t epoch;
    } camera[SG_MAX_STREAMS];
    char file[MAX_FILES][SG_NAME_BYTES + 8]; /* ring, doorbell, output, frames/CAMERA */
} reply;

typedef struct event {
    char name[32];
    char camera[SG_NAME_BYTES];
    char reason[160];
    uint32_t epoch;
} event;

/* Both refuse what is not JSON or breaks a bound; keys they do not know are skipped. */
int reply_read(reply *r, const char *packet, size_t length, sg_error *err);
int event_read(event *e, const char *packet, size_t length, sg_error *err);
/* request_write returns the length of the first packet. */
size_t request_write(char *to, size_t room, int writer, const char *model, unsigned replica);

#endif
