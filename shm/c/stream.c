#include "client.h"

/* What a client does with its streams: looking at pictures, publishing. */

int sg_stream_count(const sg_client *c) { return c->now.streams; }

const char *sg_stream_name(const sg_client *c, int stream)
{
    return stream >= 0 && stream < c->now.streams ? c->now.stream[stream].camera : NULL;
}

uint32_t sg_stream_epoch(const sg_client *c, int stream)
{
    return stream >= 0 && stream < c->now.streams ? c->now.stream[stream].epoch : 0;
}

int sg_stream(const sg_client *c, const char *camera, sg_error *err)
{
    for (int i = 0; i < c->now.streams; i++)
        if (strcmp(c->now.stream[i].camera, camera) == 0)
            return i;
    return sg_fail(err, SG_E_STREAM, 0,
                   "camera \"%.63s\" is none of the %d given by unit %s: name it under this model's cameras there",
                   camera, c->now.streams, c->unit);
}

/* given says whether a number is that of a camera the appliance gives us now. */
static int given(const sg_client *c, int64_t stream, sg_error *err)
{
    if (stream < 0 || stream >= c->now.streams)
        return sg_fail(err, SG_E_STREAM, 0, "stream %lld of %d: see sg_stream", (long long)stream, c->now.streams);
    if (c->now.stream[stream].index < 0)
        return sg_fail(err, SG_E_STREAM, 0, "camera \"%s\" is no more given by unit %s", c->now.stream[stream].camera,
                       c->unit);
    return SG_OK;
}

int sg_newest(sg_client *c, int stream, sg_frame *f, sg_error *err)
{
    int code = sg_look(c, sg_now(), err);
    if (code == SG_OK)
        code = given(c, stream, err);
    if (code != SG_OK)
        return code;
    /* An error rather than 0: a wait for pictures that never come would be silent. */
    if (c->now.stream[stream].map == NULL)
        return sg_fail(err, SG_E_STREAM, 0, "camera \"%s\" has no frame ring: its pictures come from elsewhere",
                       c->now.stream[stream].camera);
    return sg_frames_newest(&c->now.stream[stream].frames, f, err);
}

/* ready is what all publishing begins with: m gets what the caller left open. */
static int ready(sg_client *c, sg_message *m, sg_error *err)
{
    if (!c->writer)
        return sg_fail(err, SG_E_ARGUMENT, 0, "publish: this client is a reader: attach with sg_attach_writer");
    if (m->publish_ns == 0)
        m->publish_ns = sg_now();
    int code = sg_look(c, m->publish_ns, err);
    if (code == SG_OK)
        code = given(c, m->stream, err);
    if (code == SG_OK && m->stream_epoch == 0)
        m->stream_epoch = c->now.stream[m->stream].epoch;
    return code;
}

/* Both publish a copy, so that a message that was refused can be tried again as it is:
 * with the time and the stream_epoch of then. */
int sg_publish(sg_client *c, sg_message *m, const void *body, size_t length, sg_error *err)
{
    sg_message own = *m;
    int code = ready(c, &own, err);
    if (code == SG_OK) {
        own.stream = (uint32_t)c->now.stream[m->stream].index; /* the ring's number */
        code = sg_ring_publish(&c->now.writer, &own, body, length, err);
    }
    if (code == SG_OK) {
        own.stream = m->stream;
        *m = own;
    }
    return code;
}

int sg_publish_text(sg_client *c, sg_message *m, const char *text, size_t text_length,
                    const void *body, size_t length, sg_error *err)
{
    sg_message own = *m;
    int code = ready(c, &own, err);
    if (code == SG_OK) {
        own.stream = (uint32_t)c->now.stream[m->stream].index;
        code = sg_ring_publish_text(&c->now.writer, &own, text, text_length, body, length, err);
    }
    if (code == SG_OK) {
        own.stream = m->stream;
        *m = own;
    }
    return code;
}

/* Messages are made here on the stack; bodies go from the caller's memory to the slot. */
static sg_message about(const sg_stamp *of, uint8_t kind, uint16_t count)
{
    return (sg_message){.capture_ns = of->capture_ns, .frame_id = of->frame_id, .tag = of->tag, .stream = of->stream,
                        .stream_epoch = of->stream_epoch, .kind = kind, .count = count};
}

int sg_publish_boxes(sg_client *c, const sg_stamp *of, const sg_box *boxes, size_t n, sg_error *err)
{
    if (n > UINT16_MAX)
        return sg_fail(err, SG_E_TOO_LARGE, 0, "publish %zu boxes: at most %d fit; raise the detector's threshold", n,
                       UINT16_MAX);
    sg_message m = about(of, SG_KIND_BOXES, (uint16_t)n);
    return sg_publish(c, &m, boxes, n * sizeof *boxes, err);
}

int sg_publish_json(sg_client *c, const sg_stamp *of, const char *json, size_t length, sg_error *err)
{
    sg_message m = about(of, SG_KIND_JSON, 0);
    return sg_publish(c, &m, json, length, err);
}

int sg_publish_progress(sg_client *c, int stream, int64_t capture_ns, sg_error *err)
{
    sg_message m = {.capture_ns = capture_ns, .stream = (uint32_t)stream, .kind = SG_KIND_PROGRESS};
    return sg_publish(c, &m, NULL, 0, err);
}

/* Heartbeat and state are told at once when there is a ring. State is kept for the next. */
int sg_heartbeat(sg_client *c, int64_t now_ns)
{
    if (c->writer && c->now.fd >= 0)
        sg_ring_heartbeat(&c->now.writer, now_ns);
    return c->now.fd >= 0 ? SG_OK : SG_E_DETACHED;
}

int sg_set_state(sg_client *c, int state)
{
    c->state = (uint32_t)state;
    if (c->writer && c->now.fd >= 0)
        sg_ring_set_state(&c->now.writer, c->state);
    return c->now.fd >= 0 ? SG_OK : SG_E_DETACHED;
}
