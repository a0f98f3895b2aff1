#include "peer.h"

/* Publishes N self-checking messages into the ring in fd 3, or for ever. Every other one is
 * filled in place, so that a kill finds slots in every stage. */
int flood(int argc, char **argv)
{
    sg_error err;
    sg_ring_writer w;
    sg_map *m = sg_map_segment(3, 1, "fd 3", &err);
    if (m == NULL || sg_ring_writer_init(&w, m->b, m->size, (uint32_t)getpid(), NULL, &err) != SG_OK ||
        sg_ring_stream(&w, "u", "c", 1, &err) < 0)
        return fprintf(stderr, "flood: %s\n", err.text), 1;
    uint8_t *body = malloc(w.payload);
    uint64_t left = argc > 0 ? strtoull(argv[0], NULL, 10) : UINT64_MAX;
    for (; left > 0; left--) {
        sg_message h;
        uint64_t n = w.head + 1;
        size_t length = checked_header(n, w.payload, &h);
        if (n % 2 == 0) {
            checked_body(n, length, body);
            CHECK(sg_ring_publish(&w, &h, body, length, NULL) == SG_OK);
        } else {
            uint8_t *to = sg_ring_begin(&w, &h, length, NULL);
            CHECK(to != NULL);
            checked_body(n, length, to);
            sg_ring_commit(&w, &h, length);
        }
    }
    free(body);
    sg_map_drop(m);
    return 0;
}
