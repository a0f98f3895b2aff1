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

void sg_output_forget(sg_client *c)
{
    forget(&c->models);
    forget(&c->classes);
    memset(c->known, 0, sizeof c->known);
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
            first = json_number(&j, MAX_CLASSES);
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

/* Names in between are learnt on the way; how many is bounded, so that a ring of nothing
 * but names cannot keep the caller. The socket is looked after when there is time. */
int sg_output_next(sg_client *c, sg_fused *f, sg_error *err)
{
    if (c->writer)
        return sg_fail(err, SG_E_ARGUMENT, 0,
                       "read fused frames: this client is a writer: attach with sg_attach_reader");
    for (int i = 0; c->now.fd >= 0 && i < NAMES_BACK; i++) {
        sg_message m;
        int code = sg_ring_next(&c->now.reader, &m, c->body, c->now.reader.payload, err);
        if (code < 0)
            return code;
        if (code == 0)
            break;
        if (m.kind == SG_KIND_JSON)
            learn(c, (const char *)c->body, m.length);
        if (m.kind != SG_KIND_FUSED)
            continue;
        code = sg_fused_parse(&m, c->body, m.length, f, err);
        if (code == SG_OK)
            code = name_stream(c, f, err);
        return code == SG_OK ? 1 : code;
    }
    int code = sg_look(c, sg_now(), err);
    return code == SG_OK ? 0 : code;
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
