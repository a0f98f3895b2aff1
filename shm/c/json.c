#include "json.h"

#include <string.h>

/* Small on purpose: the protocol's packets are flat objects with lists. Whoever wrote the
 * text may be anybody, so nothing is read beyond its end, nothing is written beyond the
 * room given, and depth costs no stack. */

json json_of(const char *text, size_t length) { return (json){.at = text, .end = text + length}; }

/* peek is the next character that is no space, or −1 when there is none or all is lost. */
static int peek(json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
        j->at++;
    return j->bad || j->at == j->end ? -1 : (unsigned char)*j->at;
}

static int take(json *j, int c)
{
    if (peek(j) != c)
        return 0;
    j->at++;
    return 1;
}

static void want(json *j, int c)
{
    if (!take(j, c))
        j->bad = 1;
}

/* Elements of lists and objects alike: enter, then more before each. Only the first may
 * come without a comma; leaving the inner of two leaves the outer one begun. */
void json_enter(json *j, char open)
{
    want(j, open);
    j->fresh = 1;
}

int json_more(json *j, char close)
{
    int fresh = j->fresh;
    j->fresh = 0;
    if (take(j, close))
        return 0;
    if (!fresh)
        want(j, ',');
    return !j->bad;
}

/* hex4 reads the four digits of a \u escape. */
static uint32_t hex4(json *j)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        int c = j->at < j->end ? *j->at++ : 0;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            j->bad = 1;
            return 0;
        }
        v = v << 4 | (uint32_t)digit;
    }
    return v;
}

/* escape reads what follows a backslash into at most 4 bytes and returns how many. */
static size_t escape(json *j, char out[4])
{
    int c = j->at < j->end ? *j->at++ : 0;
    const char *from = "\"\\/bfnrt", *to = "\"\\/\b\f\n\r\t", *found = c != 0 ? strchr(from, c) : NULL;
    if (found != NULL) {
        out[0] = to[found - from];
        return 1;
    }
    uint32_t r = c == 'u' ? hex4(j) : (j->bad = 1, 0);
    if (r >= 0xD800 && r < 0xDC00) { /* the first half of a pair */
        if (j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u') {
            j->bad = 1;
            return 0;
        }
        j->at += 2;
        uint32_t low = hex4(j);
        if (low < 0xDC00 || low > 0xDFFF)
            j->bad = 1;
        r = 0x10000 + ((r - 0xD800) << 10) + (low - 0xDC00);
    } else if ((r >= 0xDC00 && r <= 0xDFFF) || r == 0) {
        j->bad = 1; /* half a pair, or a zero that C would take for the end */
    }
    if (j->bad)
        return 0;
    if (r < 0x80) {
        out[0] = (char)r;
        return 1;
    }
    size_t n = r < 0x800 ? 2 : r < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, r >>= 6)
        out[i] = (char)(0x80 | (r & 0x3F));
    out[0] = (char)((0xF00 >> n) | r);
    return n;
}

/* text reads a text. One longer than room is bad, or is cut to what fits. */
static size_t text(json *j, char *to, size_t room, int cut)
{
    size_t n = 0;
    int full = 0;
    to[0] = 0;
    want(j, '"');
    while (!j->bad) {
        char bytes[4];
        size_t more = 1;
        if (j->at == j->end || (unsigned char)*j->at < 0x20) {
            j->bad = 1;
            break;
        }
        bytes[0] = *j->at++;
        if (bytes[0] == '"') {
            while (full && n > 0 && (to[n - 1] & 0xC0) == 0x80) /* no half a character */
                n--;
            if (full && n > 0 && (to[n - 1] & 0xC0) == 0xC0)
                n--;
            to[n] = 0;
            return n;
        }
        if (bytes[0] == '\\')
            more = escape(j, bytes);
        full = full || n + more >= room;
        if (full) {
            j->bad = j->bad || !cut;
        } else {
            memcpy(to + n, bytes, more);
            n += more;
        }
    }
    to[0] = 0;
    return 0;
}

size_t json_text(json *j, char *to, size_t room) { return text(j, to, room, 0); }

void json_key(json *j, char *to, size_t room)
{
    text(j, to, room, 1);
    want(j, ':');
}

void json_said(json *j, char *to, size_t room)
{
    to[0] = 0;
    if (peek(j) == '"')
        text(j, to, room, 1);
    else
        json_skip(j);
}

/* json_number wants a whole number up to max. What is out of range is bad rather than cut:
 * a stream_epoch cut to 32 bits would be another one's. */
uint64_t json_number(json *j, uint64_t max)
{
    uint64_t v = 0;
    int c = peek(j), digits = 0;
    for (; c >= '0' && c <= '9' && !j->bad; digits++) {
        uint64_t digit = (uint64_t)(c - '0');
        if (digit > max || v > (max - digit) / 10)
            j->bad = 1;
        v = v * 10 + digit;
        j->at++;
        c = j->at < j->end ? *j->at : -1;
    }
    if (digits == 0 || c == '.' || c == 'e' || c == 'E')
        j->bad = 1;
    return j->bad ? 0 : v;
}

static int word(json *j, const char *text)
{
    size_t n = strlen(text);
    peek(j);
    if (j->bad || (size_t)(j->end - j->at) < n || memcmp(j->at, text, n) != 0)
        return 0;
    j->at += n;
    return 1;
}

int json_bool(json *j)
{
    if (word(j, "true"))
        return 1;
    if (!word(j, "false"))
        j->bad = 1;
    return 0;
}

int json_null(json *j) { return word(j, "null"); }

/* json_skip counts brackets rather than calling itself: depth costs no stack. What is
 * skipped is not checked further; nothing of it is used. */
void json_skip(json *j)
{
    int depth = 0;
    do {
        int c = peek(j);
        if (c < 0) {
            j->bad = 1;
        } else if (c == '"') {
            for (j->at++; j->at < j->end && *j->at != '"'; j->at++)
                if (*j->at == '\\' && j->end - j->at > 1)
                    j->at++;
            want(j, '"');
        } else if (c == ']' || c == '}') {
            depth--;
            j->at++;
        } else {
            depth += c == '[' || c == '{';
            j->at++;
            /* A number or a word ends where something else begins. */
            while (depth == 0 && j->at < j->end && strchr(",]} \t\r\n", *j->at) == NULL)
                j->at++;
        }
    } while (!j->bad && depth > 0);
    if (depth < 0)
        j->bad = 1;
}

int json_end(json *j) { return peek(j) == -1 && !j->bad; }
