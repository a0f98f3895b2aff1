#define _POSIX_C_SOURCE 200809L /* getline, strtok_r */
#include "drive.h"

void say_code(driver *d, int code)
{
    if (code < 0)
        printf("error %d %s %d %s\n", code, d->err.reason ? sg_reason_name(d->err.reason) : "-", d->err.refusal,
               d->err.text);
    else
        printf("%d\n", code);
}

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

size_t unhex(const char *s, uint8_t *to)
{
    size_t n = 0;
    if (s[0] != '-')
        for (; s[2 * n] != 0; n++)
            to[n] = (uint8_t)(digit(s[2 * n]) << 4 | digit(s[2 * n + 1]));
    return n;
}

void print_hex(const uint8_t *b, size_t n)
{
    if (n == 0)
        printf("-");
    for (size_t i = 0; i < n; i++)
        printf("%02x", b[i]);
}

void print_message(const sg_message *m, const uint8_t *body, size_t room)
{
    printf("1 %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %u %u %u %u %u %u ", m->sequence,
           m->capture_ns, m->publish_ns, m->frame_id, m->tag, m->stream, m->stream_epoch, m->length, m->count, m->kind,
           m->flags);
    print_hex(body, m->length < room ? m->length : room);
    printf("\n");
}

void print_frame(const sg_frame *f)
{
    printf("1 %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %u %u %u %u %u %u %" PRIx64 "\n", f->sequence,
           f->capture_ns, f->publish_ns, f->frame_id, f->tag, f->stream_epoch, f->format, f->width, f->height,
           f->length, f->clock, sg_fnv(SG_FNV_OFFSET, f->pixels, f->length));
}

void print_fused(driver *d, const sg_fused *f)
{
    printf("1 %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %u %u", f->seq, f->first_arrival_ns,
           f->closed_ns, f->arrival_skew_ns, f->generation, f->reason, f->degraded);
    printf(" stream %s/%s capture %" PRId64 " epoch %u", f->unit ? f->unit : "-", f->camera ? f->camera : "-",
           f->message.capture_ns, f->message.stream_epoch);
    for (uint32_t i = 0; i < f->model_count; i++)
        printf(" model %u %" PRId64, f->models[i].model, f->models[i].capture_ns);
    for (uint32_t i = 0; i < f->missing_count; i++)
        printf(" missing %u %u", f->missing[i].model, f->missing[i].why);
    for (uint32_t i = 0; i < f->box_count; i++) {
        const sg_fused_box *b = &f->boxes[i];
        const char *class = d->c != NULL ? sg_output_class(d->c, b->class_index) : NULL;
        printf(" box %g %g %g %g %g %s", b->x1, b->y1, b->x2, b->y2, b->score, class ? class : "?");
        for (uint32_t v = b->first_vote; v < b->first_vote + b->votes; v++) {
            const char *model = d->c != NULL ? sg_output_model(d->c, f->votes[v].model) : NULL;
            printf(" by %s %g", model ? model : "?", f->votes[v].score);
        }
    }
    printf("\n");
}

static const command *find(const command *list, const char *name)
{
    for (; list->name != NULL; list++)
        if (strcmp(list->name, name) == 0)
            return list;
    return NULL;
}

int drive(int argc, char **argv)
{
    static driver d;
    char *line = NULL, *word[16], *rest;
    size_t room = 0;
    (void)argc, (void)argv;
    d.body = malloc(BODY);
    while (getline(&line, &room, stdin) > 0) {
        int n = 0;
        for (char *w = strtok_r(line, " \n", &rest); w != NULL && n < 16; w = strtok_r(NULL, " \n", &rest))
            word[n++] = w;
        const command *c = n > 0 ? find(ring_commands, word[0]) : NULL;
        if (c == NULL && n > 0)
            c = find(client_commands, word[0]);
        if (c == NULL || c->words != n - 1)
            return fprintf(stderr, "drive: %s with %d words: no such command\n", n > 0 ? word[0] : "", n - 1), 2;
        memset(&d.err, 0, sizeof d.err);
        c->run(&d, word + 1);
        fflush(stdout);
    }
    sg_release(d.held);
    sg_close(d.c);
    free(line);
    free(d.body);
    return 0;
}
