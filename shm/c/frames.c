#include "internal.h"

/* Frame rings: pictures are looked at where they lie, and nobody pins them. Their writer is
 * a capture of the appliance, so there is only a reader here. */

/* Tries of sg_frames_newest against a writer that laps it between head and slot. */
enum { NEWEST_TRIES = 4 };

int sg_frames_init(sg_frame_reader *r, const void *memory, size_t size, sg_error *err)
{
    layout l;
    char name[SG_NAME_BYTES];
    const uint8_t *b = memory;
    memset(r, 0, sizeof *r);
    int code = layout_read(&l, b, size, KIND_FRAME, KIND_FRAME, err);
    if (code == SG_OK)
        code = sg_read_name(name, b + OFF_UNIT, "unit", err);
    if (code == SG_OK)
        code = sg_read_name(name, b + OFF_CAMERA, "camera", err);
    if (code != SG_OK)
        return code;
    r->segment = b;
    r->slots = b + l.slots_at;
    r->pixels = b + l.pixels_at;
    r->count = l.slots;
    r->stride = l.pixels_stride;
    r->size = l.payload;
    r->head_at = b + l.hot_at + HOT_HEAD;
    r->head = load64(r->head_at, 0);
    if (r->head > MAX_SEQUENCE)
        return sg_fail(err, SG_E_QUARANTINE, SG_REASON_HEAD_OUT_OF_RANGE, "head is %llu", (unsigned long long)r->head);
    return SG_OK;
}

/* fail quarantines the ring for good: what was wild once is not believed later. */
static int fail(sg_frame_reader *r, sg_error *err, int reason, const char *what, uint64_t a, uint64_t b)
{
    r->reason = reason;
    sg_fail(&r->why, SG_E_QUARANTINE, reason, "%s (%llu, %llu): close this ring and attach anew", what,
            (unsigned long long)a, (unsigned long long)b);
    if (err != NULL)
        *err = r->why;
    return SG_E_QUARANTINE;
}

/* look is R1. A head that falls or leaves its range is no honest writer's. */
static int look(sg_frame_reader *r, sg_error *err)
{
    uint64_t head = load64(r->head_at, 0); /* sync: head */
    if (head < r->head)
        return fail(r, err, SG_REASON_HEAD_BACKWARDS, "head of the frame ring fell", r->head, head);
    if (head > MAX_SEQUENCE)
        return fail(r, err, SG_REASON_HEAD_OUT_OF_RANGE, "head of the frame ring out of range", head, MAX_SEQUENCE);
    r->head = head;
    return SG_OK;
}

/* frame_bytes is the size of a picture, 0 for a format or a side that cannot be. */
static uint64_t frame_bytes(uint32_t format, uint32_t width, uint32_t height)
{
    if (width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE)
        return 0;
    uint64_t w = width, h = height;
    switch (format) {
    case SG_FORMAT_I420: return w * h + 2 * ((w + 1) / 2) * ((h + 1) / 2);
    case SG_FORMAT_RGB24: return 3 * w * h;
    }
    return 0;
}

int sg_frames_get(sg_frame_reader *r, uint64_t sequence, sg_frame *f, sg_error *err)
{
    if (r->reason != 0) {
        if (err != NULL)
            *err = r->why;
        return SG_E_QUARANTINE;
    }
    /* A slot can be whole before head says so; were its writer killed in between, its
     * successor would use that number again, for another picture. */
    if (sequence > r->head) {
        int code = look(r, err);
        if (code != SG_OK)
            return code;
    }
    if (sequence == 0 || sequence > r->head)
        return 0;
    uint64_t i = sequence % r->count;
    const uint8_t *slot = r->slots + i * FRAME_SLOT;
    if (load64(slot, 0) != sequence) /* R2. sync: slot */
        return 0;
    /* R3: each word once, into the caller's struct; checked below, when it is whole. */
    f->sequence = sequence;
    f->capture_ns = (int64_t)load64(slot, FRAME_CAPTURE);
    f->publish_ns = (int64_t)load64(slot, FRAME_PUBLISH);
    f->frame_id = load64(slot, FRAME_ID);
    f->tag = load64(slot, FRAME_TAG);
    f->stream_epoch = load32(slot, FRAME_EPOCH);
    f->format = load32(slot, FRAME_FORMAT);
    f->width = load32(slot, FRAME_WIDTH);
    f->height = load32(slot, FRAME_HEIGHT);
    f->length = load32(slot, FRAME_LENGTH);
    f->clock = load32(slot, FRAME_CLOCK);
    f->pixels = r->pixels + i * r->stride;
    f->word = slot;
    if (!sg_frame_valid(f)) /* R4, R5 */
        return 0;
    /* Only now is the header one picture's, and worth to be held to its own numbers; pixels
     * are used up to length, so that must fit the slot whatever the header says. */
    uint64_t want = frame_bytes(f->format, f->width, f->height);
    if (want == 0 || f->length != want || want > r->size)
        return fail(r, err, SG_REASON_PICTURE, "size of a picture is not what its format needs", f->length, want);
    return 1;
}

int sg_frames_newest(sg_frame_reader *r, sg_frame *f, sg_error *err)
{
    for (int try = 0; try < NEWEST_TRIES; try++) {
        if (r->reason == 0) {
            int code = look(r, err);
            if (code != SG_OK)
                return code;
        }
        int code = sg_frames_get(r, r->head, f, err);
        if (code != 0 || r->head == 0)
            return code;
    }
    return 0;
}
