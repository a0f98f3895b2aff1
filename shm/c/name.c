#include "internal.h"

/* rune reads one UTF-8 sequence at s, which ends in a zero: its length, or 0 when it is
 * none (overlong forms, surrogates and anything beyond U+10FFFF included). */
static int rune(const unsigned char *s, uint32_t *r)
{
    if (s[0] < 0x80) {
        *r = s[0];
        return 1;
    }
    int n = s[0] >= 0xC2 && s[0] <= 0xDF ? 2 : (s[0] & 0xF0) == 0xE0 ? 3 : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4 : 0;
    uint32_t v = s[0] & (0x7Fu >> n);
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        v = v << 6 | (s[i] & 0x3Fu);
    }
    if ((n == 3 && (v < 0x800 || (v >= 0xD800 && v <= 0xDFFF))) || (n == 4 && (v < 0x10000 || v > 0x10FFFF)))
        return 0;
    *r = v;
    return n;
}

/* The same names are good here as in the appliance, or a stream that one side registers
 * would quarantine the ring on the other. Control characters are those of Unicode's Cc. */
int sg_check_name(const char *what, const char *name, int code, sg_error *err)
{
    int reason = code == SG_E_QUARANTINE ? SG_REASON_NAME : 0;
    if (name == NULL || name[0] == 0)
        return sg_fail(err, code, reason, "%s name is empty", what);
    const char *end = memchr(name, 0, SG_NAME_BYTES);
    if (end == NULL)
        return sg_fail(err, code == SG_E_QUARANTINE ? code : SG_E_TOO_LARGE, reason,
                       "%s name \"%.20s…\" has more than %d bytes: use a shorter one", what, name, MAX_NAME);
    for (size_t i = 0; i < (size_t)(end - name);) {
        uint32_t r;
        int n = rune((const unsigned char *)name + i, &r);
        if (n == 0)
            return sg_fail(err, code, reason, "%s name is not UTF-8 at byte %zu", what, i);
        if (r < 0x20 || (r >= 0x7F && r < 0xA0))
            return sg_fail(err, code, reason, "%s name holds a control character at byte %zu", what, i);
        i += (size_t)n;
    }
    return SG_OK;
}

int sg_read_name(char to[SG_NAME_BYTES], const uint8_t *from, const char *what, sg_error *err)
{
    memcpy(to, from, SG_NAME_BYTES); /* read once, then looked at */
    if (memchr(to, 0, SG_NAME_BYTES) == NULL) {
        to[0] = 0;
        return sg_fail(err, SG_E_QUARANTINE, SG_REASON_NAME, "%s name does not end within %d bytes", what,
                       SG_NAME_BYTES);
    }
    return sg_check_name(what, to, SG_E_QUARANTINE, err);
}

/* The whole field is written, so that nothing of an older name stays behind the zero. */
void sg_put_name(uint8_t *to, const char *name)
{
    memset(to, 0, SG_NAME_BYTES);
    memcpy(to, name, strlen(name));
}

/* FNV-1a, 64 bits: small enough to be written anew in any language. */
uint64_t sg_fnv(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Both names count with their final zero, so that a/bc is not ab/c. */
uint64_t sg_stream_hash(const char *unit, const char *camera)
{
    return sg_fnv(sg_fnv(SG_FNV_OFFSET, unit, strlen(unit) + 1), camera, strlen(camera) + 1);
}

uint64_t sg_epoch_hash(uint64_t hash, uint32_t stream_epoch)
{
    return sg_fnv(hash, &stream_epoch, sizeof stream_epoch);
}
