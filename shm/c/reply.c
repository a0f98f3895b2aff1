#include "reply.h"
#include "json.h"

#include <stdio.h>

/* The packets of the attach protocol. Unknown keys are skipped, so that a later release may
 * say more; known ones must hold what was agreed, within the bounds of the struct, or null,
 * which is as good as no such key. An element of a list is never null. */

static int is(const char *key, const char *name) { return strcmp(key, name) == 0; }

/* A camera too many is bad: leaving it out silently would be found much later. */
static void read_camera(reply *r, json *j)
{
    char key[32], name[SG_NAME_BYTES] = "";
    uint32_t epoch = 0;
    for (json_enter(j, '{'); json_more(j, '}');) {
        json_key(j, key, sizeof key);
        if (json_null(j))
            continue;
        if (is(key, "name"))
            json_text(j, name, sizeof name);
        else if (is(key, "stream_epoch"))
            epoch = (uint32_t)json_number(j, UINT32_MAX);
        else
            json_skip(j);
    }
    if (r->cameras == SG_MAX_STREAMS) {
        j->bad = 1;
        return;
    }
    strcpy(r->camera[r->cameras].name, name);
    r->camera[r->cameras++].epoch = epoch;
}

/* read_value reads what stands behind one key of an answer. */
static void read_value(reply *r, json *j, const char *key)
{
    if (json_null(j))
        return;
    if (is(key, "ok")) {
        r->ok = json_bool(j);
        r->said = 1;
    } else if (is(key, "abi")) {
        r->abi = (uint32_t)json_number(j, UINT32_MAX);
    } else if (is(key, "replica")) {
        r->replica = json_number(j, UINT32_MAX);
    } else if (is(key, "unit")) {
        json_text(j, r->unit, sizeof r->unit);
    } else if (is(key, "model")) {
        json_text(j, r->model, sizeof r->model);
    } else if (is(key, "code")) {
        json_said(j, r->code, sizeof r->code);
    } else if (is(key, "error")) {
        json_said(j, r->error, sizeof r->error);
    } else if (is(key, "cameras")) {
        for (json_enter(j, '['); json_more(j, ']');)
            read_camera(r, j);
    } else if (is(key, "files")) {
        for (json_enter(j, '['); json_more(j, ']');) {
            if (r->files == MAX_FILES)
                j->bad = 1;
            else
                json_text(j, r->file[r->files++], sizeof r->file[0]);
        }
    } else {
        json_skip(j);
    }
}

int reply_read(reply *r, const char *packet, size_t length, sg_error *err)
{
    char key[64];
    json j = json_of(packet, length);
    memset(r, 0, sizeof *r);
    for (json_enter(&j, '{'); json_more(&j, '}');) {
        json_key(&j, key, sizeof key);
        read_value(r, &j, key);
    }
    if (!json_end(&j))
        return sg_fail(err, SG_E_PROTOCOL, 0,
                       "answer of %zu bytes is not as agreed from byte %td on: is that socket skewgate's?", length,
                       j.at - packet);
    if (!r->said)
        return sg_fail(err, SG_E_PROTOCOL, 0, "answer of %zu bytes says neither yes nor no: is that socket skewgate's?",
                       length);
    return SG_OK;
}

/* event_read takes no offence at an event of a later release, whose keys may hold what
 * they like: the values of those it knows are read last. */
int event_read(event *e, const char *packet, size_t length, sg_error *err)
{
    char key[64];
    json j = json_of(packet, length), camera = json_of("null", 4), epoch = camera;
    memset(e, 0, sizeof *e);
    for (json_enter(&j, '{'); json_more(&j, '}');) {
        json_key(&j, key, sizeof key);
        if (is(key, "event")) {
            json_said(&j, e->name, sizeof e->name);
            continue;
        }
        if (is(key, "reason")) {
            json_said(&j, e->reason, sizeof e->reason);
            continue;
        }
        if (is(key, "camera"))
            camera = j;
        if (is(key, "stream_epoch"))
            epoch = j;
        json_skip(&j);
    }
    int good = json_end(&j);
    if (good && is(e->name, "stream_epoch")) {
        if (!json_null(&camera))
            json_text(&camera, e->camera, sizeof e->camera);
        if (!json_null(&epoch))
            e->epoch = (uint32_t)json_number(&epoch, UINT32_MAX);
        good = !camera.bad && !epoch.bad;
    }
    if (!good)
        return sg_fail(err, SG_E_PROTOCOL, 0, "event of %zu bytes is not as agreed: is that socket skewgate's?",
                       length);
    return SG_OK;
}

size_t request_write(char *to, size_t room, int writer, const char *model, unsigned replica)
{
    char quoted[2 * SG_NAME_BYTES], *q = quoted;
    if (!writer)
        return (size_t)snprintf(to, room, "{\"skewgate_attach\":1,\"abi\":%d,\"role\":\"reader\",\"client\":\"c/1.0\"}",
                                SG_ABI_VERSION);
    /* A name holds no control character, so two are left that JSON wants escaped. */
    for (const char *s = model; *s != 0; s++) {
        if (*s == '"' || *s == '\\')
            *q++ = '\\';
        *q++ = *s;
    }
    *q = 0;
    return (size_t)snprintf(
        to, room,
        "{\"skewgate_attach\":1,\"abi\":%d,\"role\":\"writer\",\"model\":\"%s\",\"replica\":%u,\"client\":\"c/1.0\"}",
        SG_ABI_VERSION, quoted, replica);
}
