#include "internal.h"

/* Body of a fused message, as ABI.md draws it. */
enum { AT_SEQ = 0, AT_FIRST = 8, AT_CLOSED = 16, AT_SKEW = 24, AT_GENERATION = 32, AT_REASON = 40, AT_MODELS = 41,
       AT_MISSING = 42, AT_FLAGS = 43, AT_VOTES = 44, FIXED = 48 };

/* By memcpy: the body is aligned by agreement, the compiler need not count on it. */
static uint64_t u64(const uint8_t *b)
{
    uint64_t v;
    memcpy(&v, b, sizeof v);
    return v;
}

int sg_fused_parse(const sg_message *m, const void *body, size_t length, sg_fused *f, sg_error *err)
{
    const uint8_t *b = body;
    if (m->kind != SG_KIND_FUSED)
        return sg_fail(err, SG_E_MALFORMED, 0, "fused frame: message is of kind %u, want %d", m->kind, SG_KIND_FUSED);
    if (length < FIXED)
        return sg_fail(err, SG_E_MALFORMED, 0, "fused frame of %zu bytes: its head alone needs %d", length, FIXED);
    memset(f, 0, sizeof *f);
    f->message = *m;
    f->seq = u64(b + AT_SEQ);
    f->first_arrival_ns = (int64_t)u64(b + AT_FIRST);
    f->closed_ns = (int64_t)u64(b + AT_CLOSED);
    f->arrival_skew_ns = (int64_t)u64(b + AT_SKEW);
    f->generation = u64(b + AT_GENERATION);
    f->reason = b[AT_REASON];
    f->degraded = b[AT_FLAGS] & 1;
    f->model_count = b[AT_MODELS];
    f->missing_count = b[AT_MISSING];
    f->box_count = m->count;
    memcpy(&f->vote_count, b + AT_VOTES, sizeof f->vote_count);

    /* Worked out in 64 bits, of which no count can make a sum overflow. The length must be
     * just this: then all four arrays lie inside of the body. */
    uint64_t models_at = FIXED, missing_at = models_at + 16 * (uint64_t)f->model_count;
    uint64_t boxes_at = (missing_at + 4 * (uint64_t)f->missing_count + 7) / 8 * 8;
    uint64_t votes_at = boxes_at + 32 * (uint64_t)f->box_count;
    uint64_t end = votes_at + 8 * (uint64_t)f->vote_count;
    if (end != length)
        return sg_fail(err, SG_E_MALFORMED, 0,
                       "fused frame of %zu bytes: %u models, %u missing, %u boxes and %u votes need %llu", length,
                       f->model_count, f->missing_count, f->box_count, f->vote_count, (unsigned long long)end);
    f->models = (const void *)(b + models_at);
    f->missing = (const void *)(b + missing_at);
    f->boxes = (const void *)(b + boxes_at);
    f->votes = (const void *)(b + votes_at);
    /* A box points into the votes: checked here, once, so that the caller may loop. */
    for (uint32_t i = 0; i < f->box_count; i++) {
        uint64_t last = (uint64_t)f->boxes[i].first_vote + f->boxes[i].votes;
        if (last > f->vote_count)
            return sg_fail(err, SG_E_MALFORMED, 0, "fused frame: votes of box %u end at %llu of %u", i,
                           (unsigned long long)last, f->vote_count);
    }
    return SG_OK;
}
