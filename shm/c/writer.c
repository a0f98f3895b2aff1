#define _GNU_SOURCE /* syscall */
#include "internal.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The writing half of a ring, but for publishing itself, which the header inlines. */

/* Other languages and C++ call what C inlines. */
extern inline void *sg_ring_begin(sg_ring_writer *w, const sg_message *m, size_t length, sg_error *err);
extern inline void sg_ring_commit(sg_ring_writer *w, sg_message *m, size_t length);
extern inline int sg_ring_publish(sg_ring_writer *w, sg_message *m, const void *body, size_t length, sg_error *err);
extern inline int sg_frame_valid(const sg_frame *f);

/* The index is taken modulo, so that a caller may simply number its rings. */
size_t sg_ring_bytes(const sg_ring_config *c)
{
    layout l;
    uint32_t kind = c->output ? KIND_OUTPUT : KIND_DETECTION;
    if (layout_new(&l, kind, c->slots, c->payload_bytes, c->index % HOT_STEPS, SG_E_ARGUMENT, NULL) != SG_OK)
        return 0;
    return l.bytes;
}

int sg_ring_format(void *memory, size_t size, const sg_ring_config *c, sg_error *err)
{
    layout l;
    uint8_t *b = memory;
    uint32_t kind = c->output ? KIND_OUTPUT : KIND_DETECTION;
    int code = sg_check_name("model", c->model, SG_E_ARGUMENT, err);
    if (code == SG_OK)
        code = layout_new(&l, kind, c->slots, c->payload_bytes, c->index % HOT_STEPS, SG_E_ARGUMENT, err);
    if (code != SG_OK)
        return code;
    if (size != l.bytes)
        return sg_fail(err, SG_E_ARGUMENT, 0,
                       "format ring of \"%s\": memory has %zu bytes, layout needs %llu (see sg_ring_bytes)", c->model,
                       size, (unsigned long long)l.bytes);
    if ((uintptr_t)b % 8 != 0)
        return sg_fail(err, SG_E_ARGUMENT, 0, "format ring of \"%s\": memory is not aligned to 8 bytes", c->model);
    /* The magic goes first and comes last: in between nobody takes it for a segment. Slots
     * need no more than their sequences cleared. */
    store64(b, OFF_MAGIC, 0);
    memset(b + 8, 0, l.slots_at - 8);
    for (uint64_t i = 0; i < l.slots; i++)
        store64(b, l.slots_at + i * l.slot_bytes, 0);
    layout_write(&l, b);
    sg_put_name(b + OFF_MODEL, c->model);
    store32(b, OFF_REPLICA, c->replica);
    store32(b, OFF_MODEL_HASH, (uint32_t)sg_fnv(SG_FNV_OFFSET, c->model, strlen(c->model)));
    store64(b, OFF_GENERATION, c->generation);
    store64(b, OFF_MAGIC, SG_MAGIC); /* last: who sees it sees a whole header */
    return SG_OK;
}

int sg_ring_writer_init(sg_ring_writer *w, void *memory, size_t size, uint32_t pid, const sg_doorbell *bell,
                        sg_error *err)
{
    layout l;
    uint8_t *b = memory;
    int code = layout_read(&l, b, size, KIND_DETECTION, KIND_OUTPUT, err);
    if (code != SG_OK)
        return code;
    memset(w, 0, sizeof *w);
    w->segment = b;
    w->slots = b + l.slots_at;
    w->mask = l.slots - 1;
    w->stride = l.slot_bytes;
    w->payload = l.payload;
    w->hot_at = l.hot_at;
    w->head_at = b + l.hot_at + HOT_HEAD;
    w->semaphore = (const void *)(uintptr_t)&sg_probe_semaphore;
    if (bell != NULL) {
        w->bell_at = bell->bell;
        w->sleep_at = bell->sleep;
    }
    w->replica = load32(b, OFF_REPLICA);
    w->model_hash = load32(b, OFF_MODEL_HASH);
    /* Read once in the writer's life. A message that a predecessor left half written was
     * never at or below head, so nobody takes it for whole. */
    w->head = load64(b, l.hot_at + HOT_HEAD);
    if (w->head > MAX_SEQUENCE)
        return sg_fail(err, SG_E_QUARANTINE, SG_REASON_HEAD_OUT_OF_RANGE, "head is %llu", (unsigned long long)w->head);
    /* A predecessor's streams keep their indexes, so its entries must make sense. */
    w->streams = load32(b, OFF_STREAM_COUNT);
    if (w->streams > SG_MAX_STREAMS)
        return sg_fail(err, SG_E_QUARANTINE, SG_REASON_STREAM_TABLE, "%u streams, at most %d fit", w->streams,
                       SG_MAX_STREAMS);
    for (uint32_t i = 0; i < w->streams; i++) {
        sg_stream_info s;
        if ((code = sg_read_stream(b, i, &s, err)) != SG_OK)
            return code;
        w->stream_hash[i] = s.hash;
    }
    /* Taking over. A predecessor killed asleep left its sleep flag up. */
    store32(b, l.hot_at + HOT_STATE, SG_STATE_STARTING);
    store64(b, l.hot_at + HOT_HEARTBEAT, 0);
    store32(b, l.hot_at + HOT_SLEEP, 0);
    store32(b, OFF_PID, pid);
    w->epoch = load32(b, OFF_RING_EPOCH) + 1;
    store32(b, OFF_RING_EPOCH, w->epoch);
    return SG_OK;
}

/* The doorbell is writable for all who ring it. Were it wrecked, wake-ups would be lost, and
 * cost the sleeper his timeout; no message is. */
int sg_doorbell_init(sg_doorbell *d, void *b, size_t size, sg_error *err)
{
    layout l;
    int code = layout_read(&l, b, size, KIND_DOORBELL, KIND_DOORBELL, err);
    if (code != SG_OK)
        return code;
    d->bell = (uint8_t *)b + l.hot_at + HOT_HEAD;
    d->sleep = (uint8_t *)b + l.hot_at + HOT_SLEEP;
    return SG_OK;
}

void sg_ring_set_state(sg_ring_writer *w, uint32_t state) { store32(w->segment, w->hot_at + HOT_STATE, state); }

void sg_ring_heartbeat(sg_ring_writer *w, int64_t now_ns)
{
    store64(w->segment, w->hot_at + HOT_HEARTBEAT, (uint64_t)now_ns);
}

void sg_ring_set_generation(sg_ring_writer *w, uint64_t generation) { store64(w->segment, OFF_GENERATION, generation); }

/* Text and body go into the slot one after the other; neither is copied before. */
int sg_ring_publish_text(sg_ring_writer *w, sg_message *m, const char *text, size_t text_length,
                         const void *body, size_t length, sg_error *err)
{
    if (text_length > MAX_TEXT)
        return sg_fail(err, SG_E_TOO_LARGE, 0, "publish capture time of %zu bytes of text: at most %d fit", text_length,
                       MAX_TEXT);
    size_t total = 2 + text_length + length;
    if (total < length) /* a length beyond any memory */
        total = SIZE_MAX;
    m->capture_ns = SG_RAW_CAPTURE;
    uint8_t *to = sg_ring_begin(w, m, total, err);
    if (to == NULL)
        return sg_ring_refuse(w, m, total, NULL);
    to[0] = (uint8_t)text_length;
    to[1] = (uint8_t)(text_length >> 8);
    if (text_length > 0)
        memcpy(to + 2, text, text_length);
    if (length > 0)
        memcpy(to + 2 + text_length, body, length);
    sg_ring_commit(w, m, total);
    return SG_OK;
}

/* sg_ring_refuse is the cold half of begin: it says which of its checks failed. */
int sg_ring_refuse(const sg_ring_writer *w, const sg_message *m, size_t length, sg_error *err)
{
    if (length > w->payload)
        return sg_fail(err, SG_E_TOO_LARGE, 0,
                       "publish %zu bytes into slots of %llu: send fewer boxes or ask for larger slots", length,
                       (unsigned long long)w->payload);
    if (m->kind < SG_KIND_BOXES || m->kind > SG_KIND_FUSED)
        return sg_fail(err, SG_E_ARGUMENT, 0, "publish message of kind %u: want %d…%d", m->kind, SG_KIND_BOXES,
                       SG_KIND_FUSED);
    return sg_fail(err, SG_E_STREAM, 0, "publish for stream %u of %u: register it first (sg_ring_stream)", m->stream,
                   w->streams);
}

/* sg_ring_wake is W6's second half. Without FUTEX_PRIVATE_FLAG: the word is shared. All
 * waiters are woken, so that a stranger who waits on the word steals no wake-up. */
void sg_ring_wake(const sg_ring_writer *w)
{
    atomic_fetch_add_explicit((_Atomic uint32_t *)w->bell_at, 1, memory_order_seq_cst);
    /* A failure would mean a bad address; the sleeper's timeout bounds what it costs. */
    (void)syscall(SYS_futex, w->bell_at, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
