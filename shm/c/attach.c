#include "reply.h"

#include <stdlib.h>
#include <unistd.h>

/* One try to attach: ask, take what comes, check it, make an attachment of it. What the
 * appliance says is believed no more than it has to be: a wrong answer is an error with
 * its reason, and every descriptor that came with it is closed. */

void sg_attachment_drop(attachment *a)
{
    if (a->fd >= 0)
        close(a->fd);
    sg_map_drop(a->ring);
    sg_map_drop(a->bell);
    sg_map_drop(a->output);
    for (int i = 0; i < a->streams; i++)
        sg_map_drop(a->stream[i].map);
    memset(a, 0, sizeof *a);
    a->fd = -1;
}

/* refused turns the appliance's word into our number; its text is passed on, since it has
 * the facts of both sides. */
static int refused(const reply *r, sg_error *err)
{
    static const char *const codes[] = {
        [SG_REFUSAL_ABI_VERSION] = "abi_version", [SG_REFUSAL_UNKNOWN_MODEL] = "unknown_model",
        [SG_REFUSAL_NOT_ALLOWED] = "not_allowed", [SG_REFUSAL_WRITER_PRESENT] = "writer_present",
        [SG_REFUSAL_BAD_REQUEST] = "bad_request", [SG_REFUSAL_SHUTTING_DOWN] = "shutting_down",
        [SG_REFUSAL_NO_OUTPUT] = "no_output", [SG_REFUSAL_BUSY] = "busy",
    };
    int refusal = SG_REFUSAL_OTHER;
    for (size_t i = SG_REFUSAL_ABI_VERSION; i < sizeof codes / sizeof codes[0]; i++)
        if (strcmp(r->code, codes[i]) == 0)
            refusal = (int)i;
    sg_fail(err, SG_E_REFUSED, 0, "attach refused (%s): %s", r->code, r->error);
    if (err != NULL)
        err->refusal = refusal;
    return SG_E_REFUSED;
}

/* number gives a camera its number: the one it had, or the next. */
static int number(attachment *a, const char *camera, uint32_t epoch, sg_error *err)
{
    int i = 0;
    if (sg_check_name("camera", camera, SG_E_PROTOCOL, err) != SG_OK)
        return SG_E_PROTOCOL;
    while (i < a->streams && strcmp(a->stream[i].camera, camera) != 0)
        i++;
    if (i == SG_MAX_STREAMS)
        return sg_fail(err, SG_E_STREAM, 0,
                       "camera %s: this client has seen %d others, which is all it can number: restart it", camera,
                       SG_MAX_STREAMS);
    if (i == a->streams) {
        strcpy(a->stream[i].camera, camera);
        a->streams++;
    }
    a->stream[i].epoch = epoch;
    /* Any number from 0 on says that the camera is given; a writer learns the one in its
     * ring's table later, when there is a ring. */
    a->stream[i].index = 0; /* given */
    return SG_OK;
}

/* use_frames takes a camera's frame ring and checks that it is that camera's. */
static int use_frames(attachment *a, const char *camera, sg_map *m, sg_error *err)
{
    char name[SG_NAME_BYTES];
    for (int i = 0; i < a->streams; i++) {
        stream *s = &a->stream[i];
        if (strcmp(s->camera, camera) != 0 || s->index < 0 || s->map != NULL)
            continue;
        s->map = m;
        if (sg_frames_init(&s->frames, m->b, m->size, err) != SG_OK)
            return sg_prefix(err, "frame ring of camera %s", camera);
        if (sg_read_name(name, m->b + OFF_CAMERA, "camera", err) != SG_OK || strcmp(name, camera) != 0)
            return sg_fail(err, SG_E_PROTOCOL, 0, "frame ring of camera %s says that it is camera %s's", camera, name);
        return SG_OK;
    }
    /* Not an error: an appliance of a later release may give more than was asked for. */
    sg_map_drop(m); /* of a camera that is not ours, or a second one */
    return SG_OK;
}

/* use maps one file and gives it its place; one with a name unknown here is left alone. */
static int use(const sg_client *c, attachment *a, const char *name, int fd, sg_error *err)
{
    /* Each has its place once; a second one of the name is left alone like an unknown one. */
    int frames = strncmp(name, "frames/", 7) == 0, ring = strcmp(name, "ring") == 0;
    int bell = strcmp(name, "doorbell") == 0, output = strcmp(name, "output") == 0;
    if (!(frames || (c->writer && ring && a->ring == NULL) || (c->writer && bell && a->bell == NULL) ||
          (!c->writer && output && a->output == NULL))) {
        close(fd);
        return SG_OK;
    }
    sg_map *m = sg_map_segment(fd, ring || bell, name, err);
    if (m == NULL)
        return err->code;
    if (frames)
        return use_frames(a, name + 7, m, err);
    if (ring) {
        a->ring = m;
    } else if (bell) {
        a->bell = m;
        if (sg_doorbell_init(&a->doorbell, m->b, m->size, err) != SG_OK)
            return sg_prefix(err, "doorbell");
    } else {
        a->output = m;
        if (sg_ring_reader_init(&a->reader, m->b, m->size, err) != SG_OK)
            return sg_prefix(err, "output ring");
    }
    return SG_OK;
}

/* take_over makes us the ring's writer, with a stream for each camera. */
static int take_over(const sg_client *c, attachment *a, sg_error *err)
{
    if (a->ring == NULL)
        return sg_fail(err, SG_E_PROTOCOL, 0, "the appliance gave no ring");
    int code = sg_ring_writer_init(&a->writer, a->ring->b, a->ring->size, (uint32_t)getpid(),
                                   a->bell ? &a->doorbell : NULL, err);
    if (code != SG_OK)
        return sg_prefix(err, "detection ring of %s", c->model);
    char model[SG_NAME_BYTES];
    if (sg_read_name(model, a->ring->b + OFF_MODEL, "model", err) != SG_OK)
        return err->code;
    /* Being given somebody else's ring would make two writers of one. */
    if (strcmp(model, c->model) != 0 || a->writer.replica != c->replica)
        return sg_fail(err, SG_E_PROTOCOL, 0, "asked for the ring of %s/%u, was given that of %s/%u", c->model,
                       c->replica, model, a->writer.replica);
    for (int i = 0; i < a->streams; i++) {
        stream *s = &a->stream[i];
        if (s->index < 0)
            continue;
        s->index = sg_ring_stream(&a->writer, a->unit, s->camera, s->epoch, err);
        if (s->index < 0)
            return s->index;
    }
    /* A restart of the appliance is none of ours: who was ready still is. */
    sg_ring_set_state(&a->writer, c->state);
    return SG_OK;
}

/* build makes an attachment of an answer. Every file is used or closed. */
static int build(const sg_client *c, attachment *a, const reply *r, int *files, int n, sg_error *err)
{
    int code = r->abi == SG_ABI_VERSION
                   ? SG_OK
                   : sg_fail(err, SG_E_PROTOCOL, 0,
                             "the appliance speaks ABI version %u, this library %d: use one release on both sides",
                             r->abi, SG_ABI_VERSION);
    if (code == SG_OK)
        code = sg_check_name("unit", r->unit, SG_E_PROTOCOL, err);
    if (code == SG_OK && r->files != n)
        code = sg_fail(err, SG_E_PROTOCOL, 0, "the appliance named %d files and sent %d", r->files, n);
    if (code == SG_OK)
        strcpy(a->unit, r->unit);
    for (int i = 0; code == SG_OK && i < r->cameras; i++)
        code = number(a, r->camera[i].name, r->camera[i].epoch, err);
    /* A file used or closed is taken off the list, so that none is closed twice. */
    for (int i = 0; code == SG_OK && i < n; i++) {
        int fd = files[i];
        files[i] = -1;
        code = use(c, a, r->file[i], fd, err);
    }
    sg_close_files(files, n);
    if (code == SG_OK && !c->writer && a->output == NULL)
        code = sg_fail(err, SG_E_PROTOCOL, 0, "the appliance gave no output ring");
    if (code == SG_OK && c->writer)
        code = take_over(c, a, err);
    return code;
}

int sg_attach(sg_client *c, attachment *a, const attachment *old, int timeout_ms, sg_error *err)
{
    sg_error mine;
    reply r;
    int files[MAX_FILES], n = 0;
    if (err == NULL)
        err = &mine;
    memset(a, 0, sizeof *a);
    /* Callers keep the numbers of streams, so a camera that comes back must find its own. */
    for (int i = 0; i < old->streams; i++) { /* numbers stay, whatever becomes of their cameras */
        strcpy(a->stream[i].camera, old->stream[i].camera);
        a->stream[i].index = -1;
        a->streams++;
    }
    a->fd = sg_socket_connect(c->path, err);
    if (a->fd < 0) {
        a->fd = -1;
        return err->code;
    }
    size_t length = request_write(c->packet, sizeof c->packet, c->writer, c->model, c->replica);
    int code = sg_socket_send(a->fd, c->packet, length, err);
    if (code == SG_OK) {
        int got = sg_socket_receive(a->fd, c->packet, files, &n, timeout_ms, err);
        if (got == WOULD_WAIT)
            code =
                sg_fail(err, SG_E_DETACHED, 0,
                        "attach at %s: no answer within %d ms: is that skewgate, and is it well?", c->path, timeout_ms);
        else if (got == 0)
            code = sg_fail(err, SG_E_DETACHED, 0, "attach at %s: closed without an answer: see the appliance's log",
                           c->path);
        else
            code = got < 0 ? got : reply_read(&r, c->packet, (size_t)got, err);
    }
    if (code == SG_OK && !r.ok)
        code = refused(&r, err);
    if (code == SG_OK)
        code = build(c, a, &r, files, n, err);
    else
        sg_close_files(files, n);
    if (code != SG_OK)
        sg_attachment_drop(a);
    return code;
}
