#include "drive.h"

static void cmd_attach_writer(driver *d, char **a) /* path model replica */
{
    d->c = sg_attach_writer(a[0], a[1], (unsigned)num(a[2]), &d->err);
    say_code(d, d->c != NULL ? 0 : d->err.code);
}

static void cmd_attach_reader(driver *d, char **a) /* path */
{
    d->c = sg_attach_reader(a[0], &d->err);
    say_code(d, d->c != NULL ? 0 : d->err.code);
}

static void cmd_close(driver *d, char **a)
{
    (void)a;
    sg_close(d->c);
    d->c = NULL;
    say_code(d, 0);
}

static void cmd_client(driver *d, char **a) /* unit, attached, draining, streams with their epochs */
{
    (void)a;
    printf("%s %d %d", sg_unit(d->c), sg_attached(d->c), sg_draining(d->c));
    for (int i = 0; i < sg_stream_count(d->c); i++)
        printf(" %s %u", sg_stream_name(d->c, i), sg_stream_epoch(d->c, i));
    printf("\n");
}

static void cmd_stream_of(driver *d, char **a) /* camera */
{
    say_code(d, sg_stream(d->c, a[0], &d->err));
}

static void cmd_newest(driver *d, char **a) /* stream */
{
    int code = sg_newest(d->c, (int)num(a[0]), &d->frame, &d->err);
    if (code == 1)
        print_frame(&d->frame);
    else
        say_code(d, code);
}

static void cmd_hold(driver *d, char **a) /* the picture last seen */
{
    (void)a;
    sg_release(d->held);
    d->held = sg_hold(d->c, d->frame.pixels);
    say_code(d, d->held != NULL);
}

static void cmd_look(driver *d, char **a) /* again at the picture held */
{
    (void)a;
    print_frame(&d->frame);
}

static void cmd_boxes(driver *d, char **a) /* stream epoch capture frame tag body */
{
    sg_stamp of = {.stream = (uint32_t)num(a[0]), .stream_epoch = (uint32_t)num(a[1]), .capture_ns = inum(a[2]),
                   .frame_id = num(a[3]), .tag = num(a[4])};
    size_t n = unhex(a[5], d->body);
    say_code(d, sg_publish_boxes(d->c, &of, (const sg_box *)(const void *)d->body, n / sizeof(sg_box), &d->err));
}

static void cmd_json(driver *d, char **a) /* stream epoch capture frame tag body */
{
    sg_stamp of = {.stream = (uint32_t)num(a[0]), .stream_epoch = (uint32_t)num(a[1]), .capture_ns = inum(a[2]),
                   .frame_id = num(a[3]), .tag = num(a[4])};
    size_t n = unhex(a[5], d->body);
    say_code(d, sg_publish_json(d->c, &of, (const char *)d->body, n, &d->err));
}

static void cmd_progress(driver *d, char **a) /* stream capture */
{
    say_code(d, sg_publish_progress(d->c, (int)num(a[0]), inum(a[1]), &d->err));
}

static void cmd_text(driver *d, char **a) /* stream publish text body: capture time as text */
{
    sg_message m = {.kind = SG_KIND_JSON, .stream = (uint32_t)num(a[0]), .publish_ns = inum(a[1])};
    size_t text = unhex(a[2], d->body), length = unhex(a[3], d->body + text);
    say_code(d, sg_publish_text(d->c, &m, (const char *)d->body, text, d->body + text, length, &d->err));
}

static void cmd_at(driver *d, char **a) /* stream publish: an empty message at a time of the caller's */
{
    sg_message m = {.kind = SG_KIND_BOXES, .stream = (uint32_t)num(a[0]), .publish_ns = inum(a[1])};
    say_code(d, sg_publish(d->c, &m, NULL, 0, &d->err));
}

static void cmd_poll(driver *d, char **a) /* now */
{
    say_code(d, sg_poll(d->c, inum(a[0]), &d->err));
}

static void cmd_set_state(driver *d, char **a)
{
    say_code(d, sg_set_state(d->c, (int)num(a[0])));
}

static void cmd_retry(driver *d, char **a) /* from now to the next try, in ms */
{
    printf("%lld\n", (long long)((d->c->retry_ns - inum(a[0])) / MS));
}

static void cmd_output(driver *d, char **a)
{
    sg_fused f;
    (void)a;
    int code = sg_output_next(d->c, &f, &d->err);
    if (code == 1)
        print_fused(d, &f);
    else
        say_code(d, code);
}

static void cmd_output_counts(driver *d, char **a)
{
    (void)a;
    printf("%" PRIu64 " %" PRIu64 "\n", sg_output_read(d->c), sg_output_lost(d->c));
}

const command client_commands[] = {
    {"attach-writer", 3, cmd_attach_writer}, {"attach-reader", 1, cmd_attach_reader}, {"close", 0, cmd_close},
    {"client", 0, cmd_client}, {"stream-of", 1, cmd_stream_of}, {"newest", 1, cmd_newest}, {"hold", 0, cmd_hold},
    {"look", 0, cmd_look}, {"boxes", 6, cmd_boxes}, {"json", 6, cmd_json}, {"progress", 2, cmd_progress},
    {"text", 4, cmd_text}, {"at", 2, cmd_at}, {"poll", 1, cmd_poll}, {"set-state", 1, cmd_set_state},
    {"retry", 1, cmd_retry}, {"output", 0, cmd_output}, {"output-counts", 0, cmd_output_counts}, {NULL, 0, NULL},
};
