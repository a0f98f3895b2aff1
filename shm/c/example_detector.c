/* A whole detector: finds the brightest block in each new picture of its first camera, until
 * it is told to end (Ctrl-C, SIGTERM). When the appliance ends it waits for the next.
 *
 *     example_detector MODEL        which the configuration has as `command: attach`
 *     example_detector MODEL LIMIT [answers|progress|nothing]
 *
 * With a LIMIT darker blocks are not worth a word. Of a picture without a brighter one it says
 * that it looked (answers), that nothing will come (progress), or, to see what that costs, nothing. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "skewgate_shm.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 16 }; /* blocks along a side */

static sg_box brightest(const sg_frame *f) /* the luma plane lies first */
{
    uint32_t w = f->width / SIDE, h = f->height / SIDE, best = 0, at = 0;
    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        uint32_t sum = 0;
        for (uint32_t y = i / SIDE * h; y < (i / SIDE + 1) * h; y++)
            for (uint32_t x = i % SIDE * w; x < (i % SIDE + 1) * w; x++)
                sum += f->pixels[(size_t)y * f->width + x];
        if (sum > best) {
            best = sum;
            at = i;
        }
    }
    float bw = (float)w / (float)f->width, bh = (float)h / (float)f->height;
    float x = (float)(at % SIDE) * bw, y = (float)(at / SIDE) * bh;
    return (sg_box){x, y, x + bw, y + bh, best > 0 ? (float)best / (float)(w * h * 255) : 0, 0};
}

int main(int argc, char **argv)
{
    sg_error err;
    sg_client *c = sg_attach_writer(NULL, argc > 1 ? argv[1] : "brightest", 0, &err);
    if (c == NULL)
        return fprintf(stderr, "%s\n", err.text), 1;
    sg_set_state(c, SG_STATE_READY);
    float limit = argc > 2 ? strtof(argv[2], NULL) : 0;
    const char *says = argc > 3 ? argv[3] : "answers";
    uint64_t last = 0;
    for (;;) {
        sg_frame f;
        int code = sg_newest(c, 0, &f, &err);
        if (code == 1 && f.sequence != last && f.format == SG_FORMAT_I420) {
            last = f.sequence;
            sg_box box = brightest(&f);
            sg_stamp of = sg_stamp_of(0, &f);
            bool found = box.score >= limit;
            if (!sg_frame_valid(&f))
                ; /* it was overwritten meanwhile: the box means nothing */
            else if (found || strcmp(says, "answers") == 0)
                code = sg_publish_boxes(c, &of, &box, found, &err);
            else if (strcmp(says, "progress") == 0)
                code = sg_publish_progress(c, 0, f.capture_ns, &err);
        }
        if (code == SG_E_REATTACHED)
            last = 0; /* the next appliance counts its pictures anew */
        else if (code < 0 && code != SG_E_DETACHED)
            return fprintf(stderr, "%s\n", err.text), sg_close(c), 1;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}
