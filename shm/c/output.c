#include "client.h"
#include "json.h"

#include <stdlib.h>

/* The output ring carries fused frames, in which models and classes are numbers, and now
 * and then the names of these numbers. */

enum {
    NAMES_BACK = 127,     /* messages in which all names were told */
    MAX_MODELS = 1 << 16, /* what an index can say */
    MAX_CLASSES = 1 << 16
};

static void forget(names *n)
{
    for (unsigned i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
    memset(n, 0, sizeof *n);
}

/* sg_output_drop gives the ring back. What was not read of it is lost. */
void sg_output_drop(sg_client *c)
{
    sg_ring_reader *r = &c->now.reader;
    c->read += r->read;
    c->lost += r->lost;
    if (c->now.output != NULL && c->now.fd < 0 && r->next <= c->end)
        c->lost += c->end + 1 - r->next;
    memset(r, 0, sizeof *r);
    sg_map_drop(c->now.output);
    c->now.output = NULL;
    forget(&c->models);
    forget(&c->classes);
    memset(c->known, 0, sizeof c->known);
}

/* sg_output_end notes how far the ring goes. The appliance publishes its last frame before it
 * closes the socket, so whoever has seen the socket's end sees that frame under head. One
 * that lives on, and has only sent us away, does not keep us by what it adds. */
void sg_output_end(sg_client *c)
{
    if (c->now.output == NULL)
        return;
    c->end = load64(c->now.reader.head_at, 0);
    if (c->now.reader.reason != 0 || c->end > MAX_SEQUENCE || c->end < c->now.reader.next) {
        c->end = 0; /* nothing is left, or nothing that makes sense */
        sg_output_drop(c);
    }
}

/* set notes the name of number i. Most are told again and again, and known. What there is
 * no memory for is told again later. */
static void set(names *n, unsigned i, const char *name)
{
    size_t length = strlen(name) + 1;
    if (i < n->count && strcmp(n->name[i], name) == 0)
        return;
    /* The one place where reading allocates; numbers are bounded by whoever calls. */
    if (i == n->room) {
        char **more = realloc(n->name, (2 * (size_t)i + 16) * sizeof *more);
        if (more == NULL)
            return;
        n->name = more;
        n->room = 2 * i + 16;
    }
    char *copy = malloc(length);
    if (copy == NULL)
        return;
    memcpy(copy, name, length);
    if (i < n->count)
        free(n->name[i]);
    else
        n->count++;
    n->name[i] = copy;
}

/* list notes a list of names from number first on, which is known or the next. */
static void list(names *n, json *j, uint64_t first, unsigned max)
{
    char name[1024];
    if (json_null(j))
        return;
    for (json_enter(j, '['); json_more(j, ']'); first++) {
        json_text(j, name, sizeof name);
        if (!j->bad && first <= n->count && first < max)
            set(n, (unsigned)first, name);
    }
}

/* learn takes the names out of a table. `classes` says only where its part begins, maybe
 * behind the part itself, so that is read last. */
static void learn(sg_client *c, const char *text, size_t length)
{
    char key[32];
    uint64_t first = 0;
    json j = json_of(text, length), classes = json_of("[]", 2);
    for (json_enter(&j, '{'); json_more(&j, '}');) {
        json_key(&j, key, sizeof key);
        if (strcmp(key, "models") == 0) {
            list(&c->models, &j, 0, MAX_MODELS);
        } else if (strcmp(key, "first_class") == 0) {
            first = json_null(&j) ? 0 : json_number(&j, MAX_CLASSES);
        } else {
            if (strcmp(key, "classes") == 0)
                classes = j;
            json_skip(&j);
        }
    }
    if (!j.bad)
        list(&c->classes, &classes, first, MAX_CLASSES);
}

/* sg_output_begin makes room for the largest message of this ring and learns the names that
 * were told lately, so that the first frame has them. */
int sg_output_begin(sg_client *c, sg_error *err)
{
    sg_ring_reader back = c->now.reader;
    sg_message m;
    uint8_t *body = realloc(c->body, back.payload);
    if (body == NULL)
        return sg_fail(err, SG_E_SYSTEM, 0, "attach: no memory for a message of %llu bytes",
                       (unsigned long long)back.payload);
    c->body = body;
    /* Names told before we came, on a reader of its own: frames of then are not ours. */
    sg_ring_rewind(&back, NAMES_BACK);
    for (int i = 0; i < NAMES_BACK && back.next <= c->now.reader.head; i++)
        if (sg_ring_next(&back, &m, body, back.payload, NULL) == 1 && m.kind == SG_KIND_JSON)
            learn(c, (const char *)body, m.length);
    return SG_OK;
}

/* name_stream finds unit and camera in our own copy of the ring's table. */
static int name_stream(sg_client *c, sg_fused *f, sg_error *err)
{
    known_stream *k = &c->known[f->message.stream]; /* a higher one had quarantined the ring */
    if (!k->known) {
        int code = sg_ring_stream_info(&c->now.reader, f->message.stream, &k->info, err);
        if (code != SG_OK)
            return code;
        k->known = 1;
    }
    f->unit = k->info.unit;
    f->camera = k->info.camera;
    return SG_OK;
}

/* take reads the next fused frame: 1, or 0 when there is none. Names in between are learnt
 * on the way; how many is bounded, so that a ring of nothing but names cannot keep the
 * caller. A ring whose appliance is gone is dropped at its end. */
static int take(sg_client *c, sg_fused *f, sg_error *err)
{
    int gone = c->now.fd < 0;
    for (int i = 0; c->now.output != NULL && i < NAMES_BACK; i++) {
        sg_message m;
        int code = 0;
        if (!gone || c->now.reader.next <= c->end)
            code = sg_ring_next(&c->now.reader, &m, c->body, c->now.reader.payload, err);
        if (code <= 0 && gone)
            sg_output_drop(c);
        if (code <= 0)
            return code;
        if (m.kind == SG_KIND_JSON)
            learn(c, (const char *)c->body, m.length);
        if (m.kind != SG_KIND_FUSED)
            continue;
        code = sg_fused_parse(&m, c->body, m.length, f, err);
        if (code == SG_OK)
            code = name_stream(c, f, err);
        return code == SG_OK ? 1 : code;
    }
    return 0;
}

/* The ring first, then the socket; and when that has ended the ring once more, for what was
 * published in between. */
int sg_output_next(sg_client *c, sg_fused *f, sg_error *err)
{
    if (c->writer)
        return sg_fail(err, SG_E_ARGUMENT, 0,
                       "read fused frames: this client is a writer: attach with sg_attach_reader");
    for (;;) {
        sg_error e;
        int code = take(c, f, err);
        if (code != 0)
            return code;
        if (c->now.fd < 0 && c->now.output != NULL)
            continue; /* names alone so far; the ring's end is near */
        code = sg_look(c, sg_now(), &e);
        if (code == SG_E_DETACHED && c->now.output != NULL)
            continue;
        if (code != SG_OK && err != NULL)
            *err = e;
        return code;
    }
}

const char *sg_output_model(const sg_client *c, unsigned index)
{
    return index < c->models.count ? c->models.name[index] : NULL;
}

const char *sg_output_class(const sg_client *c, unsigned index)
{
    return index < c->classes.count ? c->classes.name[index] : NULL;
}

uint64_t sg_output_read(const sg_client *c) { return c->read + c->now.reader.read; }
uint64_t sg_output_lost(const sg_client *c) { return c->lost + c->now.reader.lost; }
