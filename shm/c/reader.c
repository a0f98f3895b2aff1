#include "internal.h"

/* The reading half of a ring, R1…R5 of ABI.md. It never holds the writer up, and it counts
 * what was overwritten before it came. The memory may be another process's, and wild. */

/* Tries of one sg_ring_next against a writer that overwrites what is being copied. After
 * CLOSE_TRIES the older half of the ring is given up, to get off the writer's heels. */
enum { MAX_TRIES = 6, CLOSE_TRIES = 2 };

int sg_ring_reader_init(sg_ring_reader *r, const void *memory, size_t size, sg_error *err)
{
    layout l;
    char model[SG_NAME_BYTES];
    const uint8_t *b = memory;
    memset(r, 0, sizeof *r);
    int code = layout_read(&l, b, size, KIND_DETECTION, KIND_OUTPUT, err);
    if (code == SG_OK)
        code = sg_read_name(model, b + OFF_MODEL, "model", err);
    if (code != SG_OK)
        return code;
    r->segment = b;
    r->slots = b + l.slots_at;
    r->mask = l.slots - 1;
    r->stride = l.slot_bytes;
    r->payload = l.payload;
    r->hot_at = l.hot_at;
    r->head_at = b + l.hot_at + HOT_HEAD;
    r->head = load64(r->head_at, 0);
    if (r->head > MAX_SEQUENCE)
        return sg_fail(err, SG_E_QUARANTINE, SG_REASON_HEAD_OUT_OF_RANGE, "head is %llu", (unsigned long long)r->head);
    /* What was published before is neither read nor lost. */
    r->start = r->head;
    r->next = r->head + 1;
    return SG_OK;
}

void sg_ring_rewind(sg_ring_reader *r, uint64_t n)
{
    uint64_t there = r->head < r->mask ? r->head : r->mask; /* the next slot may be in use */
    r->start -= n < there ? n : there;
    r->next = r->start + 1;
}

static int quarantined(const sg_ring_reader *r, sg_error *err)
{
    if (err != NULL)
        *err = r->why;
    return SG_E_QUARANTINE;
}

/* fail quarantines the ring for good. */
static int fail(sg_ring_reader *r, int reason, const char *what, uint64_t a, uint64_t b)
{
    r->reason = reason;
    return sg_fail(&r->why, SG_E_QUARANTINE, reason, "%s (message %llu: %llu, %llu): close this ring and attach anew",
                   what, (unsigned long long)r->next, (unsigned long long)a, (unsigned long long)b);
}

static void skip_to(sg_ring_reader *r, uint64_t sequence)
{
    r->lost += sequence - r->next;
    r->next = sequence;
}

/* look is R1: 1 when a message waits, 0 when not. It steps over what is gone. */
static int look(sg_ring_reader *r)
{
    uint64_t head = load64(r->head_at, 0); /* sync: head */
    if (head < r->head)
        return fail(r, SG_REASON_HEAD_BACKWARDS, "head fell", r->head, head);
    if (head > MAX_SEQUENCE)
        return fail(r, SG_REASON_HEAD_OUT_OF_RANGE, "head out of range", head, MAX_SEQUENCE);
    r->head = head;
    if (head >= r->next + r->mask + 1)
        skip_to(r, head - r->mask);
    return r->next <= head;
}

/* lapped is asked when the slot did not hold the message wanted before and after the
 * copy. That is honest only if the writer is at it again, one lap on. */
static int lapped(sg_ring_reader *r, int try)
{
    uint64_t wanted = r->next;
    int code = look(r);
    if (code < 0 || r->next != wanted)
        return code;
    uint64_t slots = r->mask + 1;
    if (r->head + 1 < wanted + slots)
        return fail(r, SG_REASON_SLOT_SEQUENCE, "slot holds another message while head is", r->head, slots);
    uint64_t to = wanted + 1;
    if (try >= CLOSE_TRIES && r->head - slots / 2 > to)
        to = r->head - slots / 2;
    skip_to(r, to);
    return SG_OK;
}

/* knows looks at the stream count again: streams are added while the ring runs. */
static int knows(sg_ring_reader *r, uint32_t stream)
{
    uint32_t n = load32(r->segment, OFF_STREAM_COUNT); /* sync: stream */
    if (n <= SG_MAX_STREAMS && n > r->streams)
        r->streams = n;
    return stream < r->streams;
}

/* accept looks at a header that was whole: only a writer can have put nonsense there. */
static int accept(sg_ring_reader *r, sg_message *m)
{
    if (m->length > r->payload)
        return fail(r, SG_REASON_LENGTH, "longer than its slot", m->length, r->payload);
    if (m->kind < SG_KIND_BOXES || m->kind > SG_KIND_FUSED)
        return fail(r, SG_REASON_MESSAGE_KIND, "kind unknown", m->kind, SG_KIND_FUSED);
    if (m->stream >= r->streams && !knows(r, m->stream))
        return fail(r, SG_REASON_STREAM, "stream beyond the table", m->stream, r->streams);
    m->sequence = r->next++;
    r->read++;
    return 1;
}

/* copy is R3: each header word once, into locals, and as much of the body as fits. Until
 * the sequence was looked at again nothing here is believed but the bounds it is cut to. */
static void copy(const sg_ring_reader *r, const uint8_t *slot, sg_message *m, void *body, size_t room)
{
    uint64_t w[8];
    for (int i = 1; i < 7; i++)
        w[i] = atomic_load_explicit(word64(slot, 8 * (uint64_t)i), memory_order_relaxed);
    m->capture_ns = (int64_t)w[1];
    m->publish_ns = (int64_t)w[2];
    m->frame_id = w[3];
    m->tag = w[4];
    m->stream = (uint32_t)w[5];
    m->stream_epoch = (uint32_t)(w[5] >> 32);
    m->length = (uint32_t)w[6];
    m->count = (uint16_t)(w[6] >> 32);
    m->kind = (uint8_t)(w[6] >> 48);
    m->flags = (uint8_t)(w[6] >> 56);
    /* The bound is ours: a length being overwritten may be anything at this moment. */
    uint64_t n = m->length;
    if (n > r->payload)
        n = r->payload;
    if (n > room)
        n = room;
    if (n > 0)
        memcpy(body, slot + SLOT_HEADER, n);
}

int sg_ring_next(sg_ring_reader *r, sg_message *m, void *body, size_t room, sg_error *err)
{
    if (r->reason != 0)
        return quarantined(r, err);
    for (int try = 0; try < MAX_TRIES; try++) {
        int code = look(r);
        if (code <= 0)
            return code == 0 ? 0 : quarantined(r, err);
        const uint8_t *slot = r->slots + (r->next & r->mask) * r->stride;
        if (load64(slot, 0) == r->next) { /* R2. sync: slot */
            copy(r, slot, m, body, room);
            /* R4: all of the above is loaded before the sequence is again. */
            atomic_thread_fence(memory_order_acquire);
            if (load64(slot, 0) == r->next) { /* R5. sync: slot */
                code = accept(r, m);
                return code > 0 ? code : quarantined(r, err);
            }
        }
        if (lapped(r, try) < 0)
            return quarantined(r, err);
    }
    return 0;
}

/* The table is read anew each time; whoever wants its own copy keeps s, whose names are
 * good for the ring's life. */
int sg_ring_stream_info(sg_ring_reader *r, uint32_t stream, sg_stream_info *s, sg_error *err)
{
    if (stream >= SG_MAX_STREAMS || (stream >= r->streams && !knows(r, stream)))
        return sg_fail(err, SG_E_STREAM, 0, "stream %u of %u: there is no such", stream, r->streams);
    return sg_read_stream(r->segment, stream, s, err);
}

/* Words that only inform: they are passed on as they are, the writer may have put
 * anything there. */
int sg_ring_reader_info(const sg_ring_reader *r, sg_ring_info *i, sg_error *err)
{
    const uint8_t *b = r->segment;
    int code = sg_read_name(i->model, b + OFF_MODEL, "model", err);
    if (code != SG_OK)
        return code;
    i->replica = load32(b, OFF_REPLICA);
    i->slots = (uint32_t)(r->mask + 1);
    i->payload_bytes = (uint32_t)r->payload;
    i->generation = load64(b, OFF_GENERATION);
    i->pid = load32(b, OFF_PID);
    i->ring_epoch = load32(b, OFF_RING_EPOCH);
    i->state = load32(b, r->hot_at + HOT_STATE);
    i->heartbeat_ns = (int64_t)load64(b, r->hot_at + HOT_HEARTBEAT);
    i->head = load64(r->head_at, 0);
    uint32_t streams = load32(b, OFF_STREAM_COUNT);
    i->streams = streams < SG_MAX_STREAMS ? streams : SG_MAX_STREAMS;
    return SG_OK;
}

/* The length is the writer's word, so it is held to the body's. */
int sg_split_text(const void *body, size_t length, const char **text, size_t *text_length,
                  const void **rest, size_t *rest_length, sg_error *err)
{
    const uint8_t *b = body;
    if (length < 2)
        return sg_fail(err, SG_E_MALFORMED, 0, "capture time as text: body has %zu bytes, its text's length needs 2",
                       length);
    size_t n = b[0] | (size_t)b[1] << 8;
    if (n > length - 2)
        return sg_fail(err, SG_E_MALFORMED, 0, "capture time as text: %zu bytes in a body of %zu", n, length);
    *text = (const char *)b + 2;
    *text_length = n;
    *rest = b + 2 + n;
    *rest_length = length - 2 - n;
    return SG_OK;
}
