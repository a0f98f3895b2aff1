#include "drive.h"

static void cmd_map(driver *d, char **a) /* FD rw|ro PLACE */
{
    sg_map *m = sg_map_segment((int)num(a[0]), strcmp(a[1], "rw") == 0, "test", &d->err);
    if (m != NULL) {
        d->mem[num(a[2])] = m->b;
        d->size[num(a[2])] = m->size;
        free(m); /* the mapping stays to the end of the process */
    }
    say_code(d, m != NULL ? 0 : d->err.code);
}

static void cmd_format(driver *d, char **a) /* PLACE output slots payload model replica index generation */
{
    sg_ring_config c = {.output = (int)num(a[1]),
                        .slots = (uint32_t)num(a[2]),
                        .payload_bytes = (uint32_t)num(a[3]),
                        .model = a[4],
                        .replica = (uint32_t)num(a[5]),
                        .index = (uint32_t)num(a[6]),
                        .generation = num(a[7])};
    uint64_t i = num(a[0]);
    say_code(d, sg_ring_format(d->mem[i], d->size[i], &c, &d->err));
}

static void cmd_doorbell(driver *d, char **a) /* PLACE */
{
    uint64_t i = num(a[0]);
    say_code(d, sg_doorbell_init(&d->bell, d->mem[i], d->size[i], &d->err));
}

static void cmd_writer(driver *d, char **a) /* PLACE pid bell? */
{
    uint64_t i = num(a[0]);
    say_code(d, sg_ring_writer_init(&d->w, d->mem[i], d->size[i], (uint32_t)num(a[1]), num(a[2]) ? &d->bell : NULL,
                                    &d->err));
}

static void cmd_stream(driver *d, char **a) /* unit camera epoch */
{
    say_code(d, sg_ring_stream(&d->w, a[0], a[1], (uint32_t)num(a[2]), &d->err));
}

static sg_message message(char **a)
{
    return (sg_message){.kind = (uint8_t)num(a[0]), .stream = (uint32_t)num(a[1]), .stream_epoch = (uint32_t)num(a[2]),
                        .capture_ns = inum(a[3]), .publish_ns = inum(a[4]), .frame_id = num(a[5]), .tag = num(a[6]),
                        .count = (uint16_t)num(a[7]), .flags = (uint8_t)num(a[8])};
}

static void cmd_publish(driver *d, char **a) /* kind stream epoch capture publish frame tag count flags body */
{
    sg_message m = message(a);
    int code = sg_ring_publish(&d->w, &m, d->body, unhex(a[9], d->body), &d->err);
    say_code(d, code == SG_OK ? (int)m.sequence : code);
}

static void cmd_publish_text(driver *d, char **a) /* as publish, but text and body at the end */
{
    sg_message m = message(a);
    size_t text = unhex(a[9], d->body), length = unhex(a[10], d->body + text);
    int code = sg_ring_publish_text(&d->w, &m, (const char *)d->body, text, d->body + text, length, &d->err);
    say_code(d, code == SG_OK ? (int)m.sequence : code);
}

static void cmd_begin(driver *d, char **a) /* stream length: begun, filled with ones, and forgotten */
{
    sg_message m = {.kind = SG_KIND_BOXES, .stream = (uint32_t)num(a[0])};
    void *to = sg_ring_begin(&d->w, &m, num(a[1]), &d->err);
    if (to != NULL)
        memset(to, 1, num(a[1]));
    say_code(d, to != NULL ? 0 : d->err.code);
}

static void cmd_state(driver *d, char **a)
{
    sg_ring_set_state(&d->w, (uint32_t)num(a[0]));
    say_code(d, 0);
}

static void cmd_heartbeat(driver *d, char **a)
{
    sg_ring_heartbeat(&d->w, inum(a[0]));
    say_code(d, 0);
}

static void cmd_generation(driver *d, char **a)
{
    sg_ring_set_generation(&d->w, num(a[0]));
    say_code(d, 0);
}

static void cmd_reader(driver *d, char **a) /* PLACE */
{
    uint64_t i = num(a[0]);
    say_code(d, sg_ring_reader_init(&d->r, d->mem[i], d->size[i], &d->err));
}

static void cmd_rewind(driver *d, char **a)
{
    sg_ring_rewind(&d->r, num(a[0]));
    say_code(d, 0);
}

static void cmd_next(driver *d, char **a) /* room */
{
    sg_message m;
    int code = sg_ring_next(&d->r, &m, d->body, num(a[0]), &d->err);
    if (code == 1)
        print_message(&m, d->body, num(a[0]));
    else
        say_code(d, code);
}

static void cmd_counts(driver *d, char **a)
{
    (void)a;
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", d->r.start, d->r.read, d->r.lost, d->r.head);
}

static void cmd_info(driver *d, char **a)
{
    sg_ring_info i;
    (void)a;
    int code = sg_ring_reader_info(&d->r, &i, &d->err);
    if (code != SG_OK)
        say_code(d, code);
    else
        printf("%s %u %u %u %" PRIu64 " %u %u %u %" PRId64 " %" PRIu64 " %u\n", i.model, i.replica, i.slots,
               i.payload_bytes, i.generation, i.pid, i.ring_epoch, i.state, i.heartbeat_ns, i.head, i.streams);
}

static void cmd_stream_info(driver *d, char **a)
{
    sg_stream_info s;
    int code = sg_ring_stream_info(&d->r, (uint32_t)num(a[0]), &s, &d->err);
    if (code != SG_OK)
        say_code(d, code);
    else
        printf("%s %s %u %" PRIu64 " %" PRIu64 "\n", s.unit, s.camera, s.epoch, s.hash, sg_epoch_hash(s.hash, s.epoch));
}

static void cmd_frames(driver *d, char **a) /* PLACE */
{
    uint64_t i = num(a[0]);
    say_code(d, sg_frames_init(&d->frames, d->mem[i], d->size[i], &d->err));
}

static void cmd_frame(driver *d, char **a) /* sequence, or newest */
{
    int newest = strcmp(a[0], "newest") == 0;
    int code = newest ? sg_frames_newest(&d->frames, &d->frame, &d->err)
                      : sg_frames_get(&d->frames, num(a[0]), &d->frame, &d->err);
    if (code == 1)
        print_frame(&d->frame);
    else
        say_code(d, code);
}

static void cmd_valid(driver *d, char **a)
{
    (void)a;
    say_code(d, sg_frame_valid(&d->frame));
}

static void cmd_fused(driver *d, char **a) /* count body: in memory of just its size */
{
    sg_fused f;
    sg_message m = {.kind = SG_KIND_FUSED, .count = (uint16_t)num(a[0])};
    size_t n = strlen(a[1]) / 2;
    uint8_t *exact = malloc(n > 0 ? n : 1);
    n = unhex(a[1], exact);
    int code = sg_fused_parse(&m, exact, n, &f, &d->err);
    if (code == SG_OK)
        print_fused(d, &f);
    else
        say_code(d, code);
    free(exact);
}

const command ring_commands[] = {
    {"map", 3, cmd_map},
    {"format", 8, cmd_format},
    {"doorbell", 1, cmd_doorbell},
    {"writer", 3, cmd_writer},
    {"stream", 3, cmd_stream},
    {"publish", 10, cmd_publish},
    {"publish-text", 11, cmd_publish_text},
    {"begin", 2, cmd_begin},
    {"state", 1, cmd_state},
    {"heartbeat", 1, cmd_heartbeat},
    {"generation", 1, cmd_generation},
    {"reader", 1, cmd_reader},
    {"rewind", 1, cmd_rewind},
    {"next", 1, cmd_next},
    {"counts", 0, cmd_counts},
    {"info", 0, cmd_info},
    {"stream-info", 1, cmd_stream_info},
    {"frames", 1, cmd_frames},
    {"frame", 1, cmd_frame},
    {"valid", 0, cmd_valid},
    {"fused", 2, cmd_fused},
    {NULL, 0, NULL},
};
