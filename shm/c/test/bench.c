#include "peer.h"

enum { N = 2000000, RUNS = 11, BODY_BYTES = 256 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void say(const char *what, double *ns)
{
    qsort(ns, RUNS, sizeof *ns, by_value);
    printf("%s: %.1f ns (%.1f…%.1f over %d runs of %d)\n", what, ns[RUNS / 2], ns[0], ns[RUNS - 1], RUNS, N);
}

/* What a publish costs: 256 bytes into 1024 slots that stay in the cache. */
int bench(int argc, char **argv)
{
    (void)argc, (void)argv;
    sg_ring_config c = {.slots = 1024, .payload_bytes = BODY_BYTES, .model = "bench"};
    size_t size = sg_ring_bytes(&c);
    uint8_t *b = aligned_alloc(4096, size), body[BODY_BYTES] = {1};
    uint8_t *page = aligned_alloc(4096, HOT_AT + HOT_BYTES);
    sg_ring_writer w;
    CHECK(b != NULL && page != NULL && sg_ring_format(b, size, &c, NULL) == SG_OK);
    memset(page, 0, HOT_AT + HOT_BYTES);
    sg_doorbell bell = {page + HOT_AT, page + HOT_AT + HOT_SLEEP};
    double ns[RUNS];
    for (int with = 0; with < 3; with++) {
        CHECK(sg_ring_writer_init(&w, b, size, 1, with > 0 ? &bell : NULL, NULL) == SG_OK &&
              sg_ring_stream(&w, "u", "c", 1, NULL) == 0);
        for (int run = 0; run < RUNS; run++) {
            int64_t began = sg_now();
            for (int i = 0; i < N; i++) {
                sg_message m = {.kind = SG_KIND_BOXES,
                                .frame_id = (uint64_t)i,
                                .capture_ns = began,
                                .publish_ns = with > 1 ? sg_now() : began};
                sg_ring_publish(&w, &m, body, sizeof body, NULL);
            }
            ns[run] = (double)(sg_now() - began) / N;
        }
        say(with == 0   ? "publish 256 B"
            : with == 1 ? "and with a doorbell, nobody asleep"
                        : "and with a clock read",
            ns);
    }
    free(b);
    free(page);
    return 0;
}
