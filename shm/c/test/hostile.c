#define _DEFAULT_SOURCE /* alarm, usleep */
#include "peer.h"

/* Memory and packets that make no sense: whatever stands there, nothing is read or written
 * out of bounds (run it under the sanitizers), nothing spins (an alarm ends it), and what is
 * accepted keeps its bounds. hostile N [SEED] works on its own heap, where each segment has
 * just its size; hostile fds MS on fds 3 to 5, over which somebody else scribbles. */

enum { SLOTS = 8, PAYLOAD = 256, PICTURES = 4, PIXELS = 96 };

static uint64_t state = 1, accepted, refused;
static uint64_t any(void) { return state = mix(state + UINT64_C(0x9e3779b97f4a7c15)); }
static uint64_t below(uint64_t n) { return any() % n; }

static void *aligned(size_t size)
{
    void *b = aligned_alloc(64, (size + 63) / 64 * 64);
    CHECK(b != NULL);
    memset(b, 0, size);
    return b;
}

/* spoil stores random words at places that mean something, half of them values that do. */
static void spoil(uint8_t *b, size_t size, int words)
{
    for (int i = 0; i < words; i++) {
        uint64_t off = HOT_AT + below(4) * HOT_BLOCK, v = any();
        switch (below(8)) {
        case 0: off = below(HOT_AT / 8) * 8; break;
        case 1: off = below(size / 8) * 8; break;
        case 2: off = TABLE_AT + below(2 * ENTRY_BYTES / 8) * 8; break;
        case 3: case 4: case 5: off = RING_SLOTS_AT + below(SLOTS) * 320 + below(8) * 8; break;
        }
        if (off > size - 8)
            off = size - 8;
        if (below(2))
            v = load64(b, HOT_AT) + below(32) - 16;
        store64(b, off, v);
    }
}

static void read_ring(sg_ring_reader *r)
{
    sg_message m;
    sg_stream_info s;
    sg_ring_info info;
    uint8_t body[PAYLOAD];
    size_t room = below(PAYLOAD + 1);
    for (int i = 0; i < 4 * SLOTS; i++) {
        int code = sg_ring_next(r, &m, body, room, NULL);
        CHECK(code == 0 || code == 1 || code == SG_E_QUARANTINE);
        if (code == 1) {
            CHECK(m.length <= PAYLOAD && m.kind >= 1 && m.kind <= 4 && m.stream < SG_MAX_STREAMS);
            (void)sg_ring_stream_info(r, m.stream, &s, NULL);
        }
        accepted += code == 1;
        refused += code < 0;
    }
    (void)sg_ring_stream_info(r, (uint32_t)any(), &s, NULL);
    (void)sg_ring_reader_info(r, &info, NULL);
}

static void read_frames(sg_frame_reader *r)
{
    static volatile uint8_t sink;
    for (int i = 0; i < 2 * PICTURES; i++) {
        sg_frame f;
        int code = i % 2 ? sg_frames_get(r, r->head - below(PICTURES), &f, NULL) : sg_frames_newest(r, &f, NULL);
        if (code == 1) {
            CHECK(f.length <= PIXELS);
            for (uint32_t p = 0; p < f.length; p++)
                sink = f.pixels[p];
            accepted += (uint64_t)sg_frame_valid(&f);
        }
        refused += code < 0;
    }
    (void)sink;
}

static int write_ring(uint8_t *b, size_t size, const sg_doorbell *bell, int n)
{
    sg_ring_writer w;
    if (sg_ring_writer_init(&w, b, size, 1, bell, NULL) != SG_OK)
        return 0;
    int stream = sg_ring_stream(&w, "u", "c", 1, NULL);
    uint8_t body[PAYLOAD] = {0};
    for (int i = 0; stream >= 0 && i < n; i++) {
        sg_message m = {.kind = SG_KIND_BOXES, .stream = (uint32_t)stream};
        CHECK(sg_ring_publish(&w, &m, body, below(PAYLOAD + 1), NULL) == SG_OK);
    }
    return 1;
}

static void ring_round(void)
{
    sg_ring_config c = {.slots = SLOTS, .payload_bytes = PAYLOAD, .model = "m"};
    size_t size = sg_ring_bytes(&c);
    uint8_t *b = aligned(size);
    sg_ring_reader r;
    CHECK(sg_ring_format(b, size, &c, NULL) == SG_OK && sg_ring_reader_init(&r, b, size, NULL) == SG_OK);
    CHECK(write_ring(b, size, NULL, (int)below(2 * SLOTS)));
    if (below(2))
        read_ring(&r);
    spoil(b, size, 1 + (int)below(6));
    read_ring(&r);
    if (sg_ring_reader_init(&r, b, size, NULL) == SG_OK) {
        sg_ring_rewind(&r, any());
        (void)write_ring(b, size, NULL, 3);
        read_ring(&r);
    }
    free(b);
}

/* A frame ring is written by captures only, so the library has no writer of them. */
static uint8_t *frame_ring(size_t *size)
{
    layout l;
    CHECK(layout_new(&l, KIND_FRAME, PICTURES, PIXELS, 0, SG_E_ARGUMENT, NULL) == SG_OK);
    uint8_t *b = aligned(*size = l.bytes);
    layout_write(&l, b);
    sg_put_name(b + OFF_UNIT, "u");
    sg_put_name(b + OFF_CAMERA, "c");
    for (uint64_t n = 1; n <= 6; n++) {
        uint8_t *slot = b + l.slots_at + n % PICTURES * FRAME_SLOT;
        store32(slot, FRAME_FORMAT, SG_FORMAT_RGB24);
        store32(slot, FRAME_WIDTH, 32);
        store32(slot, FRAME_HEIGHT, 1);
        store32(slot, FRAME_LENGTH, PIXELS);
        store64(slot, 0, n);
        store64(b, HOT_AT, n);
    }
    store64(b, OFF_MAGIC, SG_MAGIC);
    return b;
}

static void frame_round(void)
{
    size_t size;
    uint8_t *b = frame_ring(&size);
    sg_frame_reader r;
    CHECK(sg_frames_init(&r, b, size, NULL) == SG_OK);
    read_frames(&r);
    for (uint64_t i = 1 + below(4); i > 0; i--) {
        uint64_t off = below(3) ? FRAME_SLOTS_AT + below(PICTURES) * FRAME_SLOT + below(9) * 8 : below(size / 8) * 8;
        store64(b, below(8) ? off : HOT_AT, below(2) ? below(20) : any());
    }
    read_frames(&r);
    if (sg_frames_init(&r, b, size, NULL) == SG_OK)
        read_frames(&r);
    free(b);
}

/* mutated returns a copy of just its length with some bytes changed, inserted or cut off. */
static char *mutated(const char *text, size_t *n)
{
    static const char pool[] = "{}[]\",:\\u0d8d9\xff\x01truefalsn-.e";
    size_t length = *n;
    char *copy = malloc(length + 8);
    memcpy(copy, text, length);
    for (uint64_t i = below(5); i > 0 && length > 0; i--) {
        size_t at = below(length);
        copy[at] = below(2) ? pool[below(sizeof pool - 1)] : (char)any();
        if (below(16) == 0)
            length = at;
    }
    char *exact = malloc(length > 0 ? length : 1);
    memcpy(exact, copy, length);
    free(copy);
    *n = length;
    return exact;
}

static void packet_round(void)
{
    static const char *const packets[] = {
        ("{\"ok\":true,\"abi\":1,\"unit\":\"box-7\",\"model\":\"mine\",\"replica\":0,\"ring_epoch\":3,\"x\":[{\"y\":-1."
         "5e3},null],"
         "\"cameras\":[{\"name\":\"g\\u00e4te\\ud83d\\ude00\",\"stream_epoch\":4}],\"files\":[\"ring\",\"doorbell\","
         "\"frames/gate\"]}"),
        "{\"ok\":false,\"code\":\"writer_present\",\"error\":\"pid 7 \\\"has\\\" it\",\"abi\":1}",
        "{\"event\":\"stream_epoch\",\"camera\":\"gate\",\"stream_epoch\":5}",
        "{\"event\":\"closed\",\"reason\":\"a\\nb\"}"};
    const char *packet = packets[below(4)];
    size_t n = strlen(packet);
    char *text = mutated(packet, &n);
    reply r;
    event e;
    refused += reply_read(&r, text, n, NULL) != SG_OK;
    accepted += event_read(&e, text, n, NULL) == SG_OK;
    CHECK(r.cameras <= SG_MAX_STREAMS && r.files <= MAX_FILES && memchr(r.error, 0, sizeof r.error) != NULL);
    free(text);
}

static void fused_round(void)
{
    uint8_t body[48 + 16 + 8 + 2 * 32 + 3 * 8] = {[41] = 1, [42] = 1, [44] = 3, [104] = 2};
    uint32_t votes = 2;
    memcpy(body + 72 + 28, &votes, 4);
    size_t n = sizeof body;
    char *copy = mutated((const char *)body, &n);
    sg_message m = {.kind = SG_KIND_FUSED, .count = (uint16_t)(below(4) ? 2 : any())};
    sg_fused f;
    uint64_t sum = 0;
    if (sg_fused_parse(&m, copy, n, &f, NULL) == SG_OK) {
        accepted++;
        for (uint32_t i = 0; i < f.box_count; i++)
            for (uint32_t v = 0; v < f.boxes[i].votes; v++)
                sum += f.votes[f.boxes[i].first_vote + v].model;
        for (uint32_t i = 0; i < f.model_count; i++)
            sum += f.models[i].model;
        for (uint32_t i = 0; i < f.missing_count; i++)
            sum += f.missing[i].why;
        state ^= sum;
    }
    free(copy);
}

/* scribbled reads and writes real segments that another process wrecks and mends. */
static int scribbled(int ms)
{
    sg_error err;
    sg_map *ring = sg_map_segment(3, 1, "ring", &err), *frames = sg_map_segment(4, 0, "frames", &err),
           *door = sg_map_segment(5, 1, "doorbell", &err);
    if (ring == NULL || frames == NULL || door == NULL)
        return fprintf(stderr, "hostile: %s\n", err.text), 1;
    sg_doorbell bell;
    if (sg_doorbell_init(&bell, door->b, door->size, &err) != SG_OK)
        return fprintf(stderr, "hostile: %s\n", err.text), 1;
    printf("ready\n");
    fflush(stdout);
    for (int64_t end = sg_now() + ms * MS; sg_now() < end;) {
        sg_ring_reader r;
        sg_frame_reader f;
        int attached = sg_ring_reader_init(&r, ring->b, ring->size, NULL) == SG_OK;
        (void)write_ring(ring->b, ring->size, &bell, 4);
        if (attached)
            read_ring(&r);
        if (sg_frames_init(&f, frames->b, frames->size, NULL) == SG_OK)
            read_frames(&f);
    }
    sg_map_drop(ring);
    sg_map_drop(frames);
    sg_map_drop(door);
    return 0;
}

int hostile(int argc, char **argv)
{
    int fds = argc == 2 && strcmp(argv[0], "fds") == 0;
    if (argc < 1)
        return fprintf(stderr, "hostile: want N [SEED], or fds MS\n"), 2;
    alarm(300);
    if (fds) {
        state = (uint64_t)sg_now();
        if (scribbled(atoi(argv[1])) != 0)
            return 1;
    } else {
        state = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)sg_now();
        printf("seed %" PRIu64 "\n", state);
        for (int i = atoi(argv[0]); i > 0; i--) {
            ring_round();
            frame_round();
            packet_round();
            fused_round();
        }
    }
    printf("%" PRIu64 " accepted, %" PRIu64 " refused\n", accepted, refused);
    return 0;
}
