#include "peer.h"

/* Reads self-checking messages from the ring in fd 3 until N were published, and accounts
 * for every one by the numbers inside. Prints "ready" first, "READ LOST" last. */
int follow(int argc, char **argv)
{
    sg_error err;
    sg_ring_reader r;
    sg_message got, want;
    sg_map *m = sg_map_segment(3, 0, "fd 3", &err);
    if (argc != 1 || m == NULL || sg_ring_reader_init(&r, m->b, m->size, &err) != SG_OK)
        return fprintf(stderr, "follow: %s\n", argc == 1 ? err.text : "want N"), 1;
    uint64_t end = r.start + strtoull(argv[0], NULL, 10), last = r.start, gaps = 0, read = 0;
    uint8_t *body = malloc(r.payload), *want_body = malloc(r.payload);
    printf("ready\n");
    fflush(stdout);
    while (r.head < end || r.next <= end) {
        int code = sg_ring_next(&r, &got, body, r.payload, &err);
        if (code < 0)
            return fprintf(stderr, "follow: %s\n", err.text), 1;
        if (code == 0)
            continue;
        size_t length = checked_header(got.sequence, r.payload, &want);
        want.sequence = got.sequence;
        want.length = (uint32_t)length;
        checked_body(got.sequence, length, want_body);
        CHECK(memcmp(&got, &want, sizeof got) == 0);
        CHECK(memcmp(body, want_body, length) == 0);
        CHECK(got.frame_id > last);
        gaps += got.frame_id - last - 1;
        last = got.frame_id;
        read++;
    }
    CHECK(r.read == read && r.lost == gaps + (end - last) && r.head == r.start + r.read + r.lost);
    printf("%" PRIu64 " %" PRIu64 "\n", r.read, r.lost);
    free(body);
    free(want_body);
    sg_map_drop(m);
    return 0;
}
