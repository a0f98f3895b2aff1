#include "internal.h"

/* The stream table of a ring: its writer adds entries, their names never change. */

/* sg_read_stream copies entry i out, then checks the copy: names first, then whether the
 * hash is theirs. */
int sg_read_stream(const uint8_t *segment, uint32_t i, sg_stream_info *s, sg_error *err)
{
    const uint8_t *entry = segment + TABLE_AT + (uint64_t)i * ENTRY_BYTES;
    int code = sg_read_name(s->unit, entry + ENTRY_UNIT, "unit", err);
    if (code == SG_OK)
        code = sg_read_name(s->camera, entry + ENTRY_CAMERA, "camera", err);
    if (code != SG_OK)
        return code;
    s->hash = load64(entry, ENTRY_HASH);
    s->epoch = load32(entry, ENTRY_EPOCH);
    uint64_t want = sg_stream_hash(s->unit, s->camera);
    if (s->hash != want)
        return sg_fail(err, SG_E_QUARANTINE, SG_REASON_STREAM_TABLE, "stream %u is %s/%s with hash %#llx, want %#llx",
                       i, s->unit, s->camera, (unsigned long long)s->hash, (unsigned long long)want);
    return SG_OK;
}

int sg_ring_stream(sg_ring_writer *w, const char *unit, const char *camera, uint32_t epoch, sg_error *err)
{
    int code = sg_check_name("unit", unit, SG_E_ARGUMENT, err);
    if (code == SG_OK)
        code = sg_check_name("camera", camera, SG_E_ARGUMENT, err);
    if (code != SG_OK)
        return code;
    /* By our own hashes first, which nobody can change, then by the names to be sure. */
    uint64_t hash = sg_stream_hash(unit, camera);
    for (uint32_t i = 0; i < w->streams; i++) {
        sg_stream_info s;
        if (w->stream_hash[i] != hash)
            continue;
        if (sg_read_stream(w->segment, i, &s, NULL) == SG_OK && strcmp(s.unit, unit) == 0 &&
            strcmp(s.camera, camera) == 0) {
            store32(w->segment, TABLE_AT + i * ENTRY_BYTES + ENTRY_EPOCH, epoch);
            return (int)i;
        }
    }
    if (w->streams == SG_MAX_STREAMS)
        return sg_fail(err, SG_E_STREAM, 0, "register stream %s/%s: all %d entries are taken", unit, camera,
                       SG_MAX_STREAMS);
    /* Filled before it is counted; readers look at no entry beyond the count. */
    uint32_t i = w->streams;
    uint8_t *entry = w->segment + TABLE_AT + (uint64_t)i * ENTRY_BYTES;
    sg_put_name(entry + ENTRY_UNIT, unit);
    sg_put_name(entry + ENTRY_CAMERA, camera);
    store64(entry, ENTRY_HASH, hash);
    store32(entry, ENTRY_EPOCH, epoch);
    w->stream_hash[i] = hash;
    w->streams = i + 1;
    store32(w->segment, OFF_STREAM_COUNT, w->streams); /* sync: stream. The entry is whole. */
    return (int)i;
}
