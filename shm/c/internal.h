/* What the library's own files share; nothing here is installed. */
#ifndef SKEWGATE_INTERNAL_H
#define SKEWGATE_INTERNAL_H

#include "skewgate_shm.h"

/* ---- ABI.md in numbers; test/abi.c prints them for comparison with the Go package ---- */

#define SG_MAGIC UINT64_C(0x4554414757454B53) /* "SKEWGATE" */

enum { KIND_DETECTION = 1, KIND_FRAME, KIND_DISPATCH, KIND_DOORBELL, KIND_OUTPUT };

enum {
    OFF_MAGIC = 0, OFF_VERSION = 8, OFF_KIND = 12, OFF_SEGMENT_BYTES = 16, OFF_SLOTS_AT = 24, OFF_SLOTS = 28,
    OFF_SLOT_BYTES = 32, OFF_PAYLOAD = 36, OFF_HOT_AT = 40, OFF_INDEX = 44, OFF_TABLE_AT = 48,
    OFF_TABLE_ENTRIES = 52, OFF_ENTRY_BYTES = 56, OFF_PIXELS_AT = 64, OFF_PIXELS_STRIDE = 72,
    OFF_GENERATION = 128, OFF_RING_EPOCH = 136, OFF_PID = 140, OFF_STREAM_COUNT = 144,
    OFF_MODEL = 256, OFF_UNIT = 320, OFF_CAMERA = 384, OFF_REPLICA = 448, OFF_MODEL_HASH = 452,

    HOT_AT = 4096, HOT_BLOCK = 128, HOT_STEPS = 32, HOT_BYTES = 8192,
    HOT_HEAD = 0, HOT_SLEEP = 2 * HOT_BLOCK, HOT_STATE = 3 * HOT_BLOCK, HOT_HEARTBEAT = HOT_STATE + 8,

    TABLE_AT = HOT_AT + HOT_BYTES, ENTRY_BYTES = 256,
    ENTRY_UNIT = 0, ENTRY_CAMERA = 64, ENTRY_HASH = 128, ENTRY_EPOCH = 136,

    SLOT_HEADER = 64, RING_SLOTS_AT = TABLE_AT + SG_MAX_STREAMS * ENTRY_BYTES,
    FRAME_SLOT = 128, FRAME_SLOTS_AT = HOT_AT + HOT_BYTES,
    FRAME_CAPTURE = 8, FRAME_PUBLISH = 16, FRAME_ID = 24, FRAME_TAG = 32, FRAME_EPOCH = 40, FRAME_FORMAT = 44,
    FRAME_WIDTH = 48, FRAME_HEIGHT = 52, FRAME_LENGTH = 56, FRAME_CLOCK = 60,

    MAX_SLOTS = 1 << 20, MAX_PAYLOAD = 1 << 24, MAX_FRAME_SLOTS = 1024, MAX_PIXELS = 1 << 30, MAX_SIDE = 1 << 14,
    PAGE = 4096, MAX_NAME = SG_NAME_BYTES - 1, MAX_TEXT = 65535
};

#define MAX_SEQUENCE (UINT64_C(1) << 62)
#define MAX_SEGMENT (UINT64_C(1) << 36)

/* Structs that are copied into rings or handed to other languages have no holes. */
_Static_assert(sizeof(sg_box) == 24, "packed box");
_Static_assert(sizeof(sg_message) == 56, "message");
_Static_assert(sizeof(sg_stamp) == 32, "stamp");
_Static_assert(sizeof(sg_fused_model) == 16 && sizeof(sg_fused_missing) == 4, "fused records");
_Static_assert(sizeof(sg_fused_box) == 32 && sizeof(sg_vote) == 8, "fused records");
_Static_assert(RING_SLOTS_AT % 64 == 0 && FRAME_SLOTS_AT % 128 == 0, "slots keep their alignment");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "a lock would not be shared");

/* ---- shared words: each is loaded or stored once, and never through a plain pointer ---- */

static inline _Atomic uint64_t *word64(const void *b, uint64_t off)
{
    return (_Atomic uint64_t *)((uintptr_t)b + off);
}

static inline _Atomic uint32_t *word32(const void *b, uint64_t off)
{
    return (_Atomic uint32_t *)((uintptr_t)b + off);
}

static inline uint64_t load64(const void *b, uint64_t off)
{
    return atomic_load_explicit(word64(b, off), memory_order_acquire);
}

static inline uint32_t load32(const void *b, uint64_t off)
{
    return atomic_load_explicit(word32(b, off), memory_order_acquire);
}

static inline void store64(void *b, uint64_t off, uint64_t v)
{
    atomic_store_explicit(word64(b, off), v, memory_order_release);
}

static inline void store32(void *b, uint64_t off, uint32_t v)
{
    atomic_store_explicit(word32(b, off), v, memory_order_release);
}

/* ---- error.c ---- */

/* sg_fail fills err, if there is one, and returns code. reason is 0 but for quarantine. */
__attribute__((format(printf, 4, 5)))
int sg_fail(sg_error *err, int code, int reason, const char *format, ...);
/* sg_fail_system adds what errno says. */
__attribute__((format(printf, 3, 4)))
int sg_fail_system(sg_error *err, int number, const char *format, ...);
/* sg_prefix puts what was being done before the text of an error, and returns its code. */
__attribute__((format(printf, 2, 3)))
int sg_prefix(sg_error *err, const char *format, ...);

/* ---- layout.c: all follows from kind, slots, payload and index ---- */

typedef struct layout {
    uint32_t kind;
    uint64_t slots, payload, index;
    uint64_t bytes, slots_at, slot_bytes, hot_at, table_at, pixels_at, pixels_stride;
} layout;

/* layout_new works it out; code is what a broken bound is to be called. */
int layout_new(layout *l, uint32_t kind, uint64_t slots, uint64_t payload, uint64_t index, int code, sg_error *err);
/* layout_read checks the header of a segment that somebody else may have written. other
 * is a second kind that will do, or the same again. */
int layout_read(layout *l, const void *b, size_t size, uint32_t kind, uint32_t other, sg_error *err);
/* layout_write writes the identity; the magic is left to the caller, who stores it last. */
void layout_write(const layout *l, uint8_t *b);

/* ---- name.c ---- */

/* sg_check_name wants 1…63 bytes of UTF-8 without control characters. */
int sg_check_name(const char *what, const char *name, int code, sg_error *err);
/* sg_read_name copies a name of 64 bytes out of shared memory, then checks it. */
int sg_read_name(char to[SG_NAME_BYTES], const uint8_t *from, const char *what, sg_error *err);
void sg_put_name(uint8_t *to, const char *name);
uint64_t sg_fnv(uint64_t hash, const void *bytes, size_t n);
#define SG_FNV_OFFSET UINT64_C(0xcbf29ce484222325)

/* ---- streams.c ---- */

int sg_read_stream(const uint8_t *segment, uint32_t i, sg_stream_info *s, sg_error *err);

/* ---- probe.c ---- */

extern const volatile uint16_t sg_probe_semaphore __attribute__((visibility("hidden")));

#endif
