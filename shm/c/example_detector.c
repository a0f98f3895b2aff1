/* A whole detector: finds the brightest block of each new picture of its first camera.
 *
 *     example_detector MODEL        for which the configuration says `command: attach` */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "skewgate_shm.h"

#include <stdio.h>
#include <time.h>

enum { BLOCKS = 16 }; /* a side */

/* brightest looks at the luma plane, one block in BLOCKS × BLOCKS after the other. */
static sg_box brightest(const sg_frame *f)
{
    uint32_t bw = f->width / BLOCKS, bh = f->height / BLOCKS, best_x = 0, best_y = 0;
    uint64_t best = 0;
    for (uint32_t by = 0; by < BLOCKS; by++) {
        for (uint32_t bx = 0; bx < BLOCKS; bx++) {
            uint64_t sum = 0;
            for (uint32_t y = by * bh; y < (by + 1) * bh; y++)
                for (uint32_t x = bx * bw; x < (bx + 1) * bw; x++)
                    sum += f->pixels[(size_t)y * f->width + x];
            if (sum > best) {
                best = sum;
                best_x = bx;
                best_y = by;
            }
        }
    }
    float w = (float)bw / (float)f->width, h = (float)bh / (float)f->height;
    float x = (float)best_x * w, y = (float)best_y * h, area = (float)bw * (float)bh * 255;
    return (sg_box){x, y, x + w, y + h, area > 0 ? (float)best / area : 0, 0};
}

int main(int argc, char **argv)
{
    sg_error err;
    sg_client *c = sg_attach_writer(NULL, argc > 1 ? argv[1] : "brightest", 0, &err);
    if (c == NULL)
        return fprintf(stderr, "%s\n", err.text), 1;
    sg_set_state(c, SG_STATE_READY);
    uint64_t last = 0;
    while (!sg_draining(c)) {
        sg_frame f;
        int code = sg_newest(c, 0, &f, &err);
        if (code == 1 && f.sequence != last && f.format == SG_FORMAT_I420) {
            last = f.sequence;
            sg_box box = brightest(&f);
            if (!sg_frame_valid(&f))
                continue; /* it was overwritten meanwhile: the box means nothing */
            sg_stamp of = sg_stamp_of(0, &f);
            code = sg_publish_boxes(c, &of, &box, 1, &err);
        }
        if (code == SG_E_REATTACHED)
            last = 0;
        else if (code < 0 && code != SG_E_DETACHED)
            return fprintf(stderr, "%s\n", err.text), sg_close(c), 1;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    sg_close(c);
    return 0;
}
