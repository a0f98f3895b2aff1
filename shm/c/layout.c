#include "internal.h"

/* Where everything lies in a segment follows from four numbers, so a header that somebody
 * else wrote is not believed but worked out anew and compared. */

static uint64_t up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

static int in_range(const char *what, uint64_t n, uint64_t low, uint64_t high, int code, sg_error *err)
{
    if (n >= low && n <= high)
        return SG_OK;
    return sg_fail(err, code, code == SG_E_QUARANTINE ? SG_REASON_LAYOUT : 0, "%s %llu out of range %llu…%llu", what,
                   (unsigned long long)n, (unsigned long long)low, (unsigned long long)high);
}

/* The bounds are those of ABI.md; within them no sum or product below overflows 64 bits. */
int layout_new(layout *l, uint32_t kind, uint64_t slots, uint64_t payload, uint64_t index, int code, sg_error *err)
{
    int reason = code == SG_E_QUARANTINE ? SG_REASON_LAYOUT : 0;
    *l = (layout){
        .kind = kind, .slots = slots, .payload = payload, .index = index, .hot_at = HOT_AT + index * HOT_BLOCK};
    if (in_range("stagger index", index, 0, HOT_STEPS - 1, code, err) != SG_OK)
        return code;
    switch (kind) {
    case KIND_DETECTION:
    case KIND_OUTPUT:
        if (in_range("slots", slots, 2, MAX_SLOTS, code, err) != SG_OK ||
            in_range("payload bytes", payload, 1, MAX_PAYLOAD, code, err) != SG_OK)
            return code;
        if ((slots & (slots - 1)) != 0)
            return sg_fail(err, code, reason, "slots %llu is not a power of two", (unsigned long long)slots);
        l->table_at = TABLE_AT;
        l->slots_at = RING_SLOTS_AT;
        l->slot_bytes = up(SLOT_HEADER + payload, 64);
        l->bytes = up(l->slots_at + slots * l->slot_bytes, PAGE);
        break;
    case KIND_FRAME:
        if (in_range("slots", slots, 2, MAX_FRAME_SLOTS, code, err) != SG_OK ||
            in_range("pixel bytes", payload, 1, MAX_PIXELS, code, err) != SG_OK)
            return code;
        l->slots_at = FRAME_SLOTS_AT;
        l->slot_bytes = FRAME_SLOT;
        l->pixels_at = up(l->slots_at + slots * FRAME_SLOT, PAGE);
        l->pixels_stride = up(payload, PAGE);
        l->bytes = l->pixels_at + slots * l->pixels_stride;
        break;
    case KIND_DOORBELL:
        if (slots != 0 || payload != 0)
            return sg_fail(err, code, reason, "a doorbell has no slots, header says %llu of %llu bytes",
                           (unsigned long long)slots, (unsigned long long)payload);
        l->bytes = HOT_AT + HOT_BYTES;
        break;
    default:
        return sg_fail(err, code, reason, "segment kind %u unknown", kind);
    }
    if (l->bytes > MAX_SEGMENT)
        return sg_fail(err, code, reason, "%llu slots of %llu bytes exceed %llu bytes", (unsigned long long)slots,
                       (unsigned long long)payload, (unsigned long long)MAX_SEGMENT);
    return SG_OK;
}

/* words lists every number of the identity with its place, for both directions. */
typedef struct { uint32_t off, wide; uint64_t value; } word;

static void words(const layout *l, word w[13])
{
    uint32_t entries = l->table_at ? SG_MAX_STREAMS : 0, entry = l->table_at ? ENTRY_BYTES : 0;
    const word list[13] = {
        {OFF_KIND, 0, l->kind}, {OFF_SLOTS_AT, 0, l->slots_at}, {OFF_SLOTS, 0, l->slots},
        {OFF_SLOT_BYTES, 0, l->slot_bytes}, {OFF_PAYLOAD, 0, l->payload}, {OFF_HOT_AT, 0, l->hot_at},
        {OFF_INDEX, 0, l->index}, {OFF_TABLE_AT, 0, l->table_at}, {OFF_TABLE_ENTRIES, 0, entries},
        {OFF_ENTRY_BYTES, 0, entry}, {OFF_SEGMENT_BYTES, 1, l->bytes}, {OFF_PIXELS_AT, 1, l->pixels_at},
        {OFF_PIXELS_STRIDE, 1, l->pixels_stride},
    };
    memcpy(w, list, sizeof list);
}

/* As atomic stores, though nobody looks before the magic is there: one way for all words. */
void layout_write(const layout *l, uint8_t *b)
{
    word w[13];
    words(l, w);
    for (int i = 0; i < 13; i++) {
        if (w[i].wide)
            store64(b, w[i].off, w[i].value);
        else
            store32(b, w[i].off, (uint32_t)w[i].value);
    }
    store32(b, OFF_VERSION, SG_ABI_VERSION);
}

int layout_read(layout *l, const void *b, size_t size, uint32_t kind, uint32_t other, sg_error *err)
{
    if (b == NULL || size < HOT_AT + HOT_BYTES)
        return sg_fail(err, SG_E_QUARANTINE, SG_REASON_SIZE, "segment has %zu bytes, a header alone needs %d", size,
                       HOT_AT + HOT_BYTES);
    if ((uintptr_t)b % 8 != 0)
        return sg_fail(err, SG_E_QUARANTINE, SG_REASON_SIZE, "memory is not aligned to 8 bytes");
    /* The magic is stored last by whoever lays a segment out: with it, all is there. */
    uint64_t magic = load64(b, OFF_MAGIC);
    if (magic != SG_MAGIC)
        return sg_fail(err, SG_E_QUARANTINE, SG_REASON_MAGIC, "magic %#llx, want %#llx: not a skewgate segment",
                       (unsigned long long)magic, (unsigned long long)SG_MAGIC);
    uint32_t version = load32(b, OFF_VERSION);
    if (version != SG_ABI_VERSION)
        return sg_fail(err, SG_E_QUARANTINE, SG_REASON_ABI_VERSION,
                       "segment has ABI version %u, this library speaks %d: use one release on both sides", version,
                       SG_ABI_VERSION);
    uint32_t is = load32(b, OFF_KIND);
    if (is != kind && is != other)
        return sg_fail(err, SG_E_QUARANTINE, SG_REASON_SEGMENT_KIND, "segment is of kind %u, want %u", is, kind);
    int code =
        layout_new(l, is, load32(b, OFF_SLOTS), load32(b, OFF_PAYLOAD), load32(b, OFF_INDEX), SG_E_QUARANTINE, err);
    if (code != SG_OK)
        return code;
    /* From here on only l is used, never again what the header said: it could change. */
    if (size != l->bytes)
        return sg_fail(err, SG_E_QUARANTINE, SG_REASON_SIZE, "segment has %zu bytes, its header needs %llu", size,
                       (unsigned long long)l->bytes);
    word w[13];
    words(l, w);
    for (int i = 0; i < 13; i++) {
        uint64_t got = w[i].wide ? load64(b, w[i].off) : load32(b, w[i].off);
        if (got != w[i].value)
            return sg_fail(err, SG_E_QUARANTINE, SG_REASON_LAYOUT, "word at offset %u is %llu, want %llu", w[i].off,
                           (unsigned long long)got, (unsigned long long)w[i].value);
    }
    return SG_OK;
}
