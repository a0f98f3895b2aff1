#include "peer.h"

/* The library by itself, on heap memory: every edge by its name. */

typedef struct ring {
    uint8_t *b;
    size_t size;
    sg_ring_writer w;
    sg_ring_reader r;
} ring;

static ring new_ring(uint32_t slots, uint32_t payload)
{
    ring t;
    sg_ring_config c = {.slots = slots, .payload_bytes = payload, .model = "m", .index = 37};
    t.size = sg_ring_bytes(&c);
    t.b = aligned_alloc(64, t.size);
    CHECK(t.b != NULL && sg_ring_format(t.b, t.size, &c, NULL) == SG_OK);
    CHECK(sg_ring_writer_init(&t.w, t.b, t.size, 7, NULL, NULL) == SG_OK &&
          sg_ring_stream(&t.w, "u", "c", 1, NULL) == 0);
    CHECK(sg_ring_reader_init(&t.r, t.b, t.size, NULL) == SG_OK);
    return t;
}

static int put(ring *t, const char *text)
{
    sg_message m = {.kind = SG_KIND_JSON};
    return sg_ring_publish(&t->w, &m, text, strlen(text), NULL);
}

static int get(ring *t, const char *want)
{
    char body[256];
    sg_message m;
    int code = sg_ring_next(&t->r, &m, body, sizeof body, NULL);
    return code == 1 ? m.length == strlen(want) && memcmp(body, want, m.length) == 0 : code;
}

static void empty_wrap_and_lap(void)
{
    ring t = new_ring(4, 60);
    CHECK(get(&t, "") == 0);
    for (int i = 0; i < 10; i++) { /* across the end, three times */
        CHECK(put(&t, "one") == SG_OK && put(&t, "") == SG_OK);
        CHECK(get(&t, "one") == 1 && get(&t, "") == 1 && get(&t, "") == 0);
    }
    for (int i = 0; i < 7; i++)
        CHECK(put(&t, i < 3 ? "gone" : "here") == SG_OK);
    for (int i = 0; i < 4; i++)
        CHECK(get(&t, "here") == 1);
    CHECK(get(&t, "") == 0 && t.r.lost == 3 && t.r.read == 24 && t.r.head == t.r.start + t.r.read + t.r.lost);
    CHECK(sg_ring_reader_init(&t.r, t.b, t.size, NULL) == SG_OK);
    sg_ring_rewind(&t.r, 100); /* slots − 1 of them: the writer may be at the next */
    for (int i = 0; i < 3; i++)
        CHECK(get(&t, "here") == 1);
    CHECK(get(&t, "") == 0);
    free(t.b);
}

static void refusals(void)
{
    ring t = new_ring(4, 60);
    sg_error err;
    sg_message m = {.kind = SG_KIND_BOXES, .stream = 1};
    uint8_t big[64] = {0};
    CHECK(sg_ring_publish(&t.w, &m, NULL, 0, &err) == SG_E_STREAM && strstr(err.text, "stream 1 of 1") != NULL);
    m.stream = 0;
    CHECK(sg_ring_publish(&t.w, &m, big, 61, &err) == SG_E_TOO_LARGE && err.code == SG_E_TOO_LARGE);
    CHECK(sg_ring_publish(&t.w, &m, big, 60, NULL) == SG_OK && m.sequence == 1 && m.length == 60);
    m.kind = 5;
    CHECK(sg_ring_publish(&t.w, &m, NULL, 0, &err) == SG_E_ARGUMENT);
    m.kind = 0;
    CHECK(sg_ring_publish(&t.w, &m, NULL, 0, NULL) == SG_E_ARGUMENT && t.w.head == 1);
    m.kind = SG_KIND_BOXES;
    CHECK(sg_ring_publish_text(&t.w, &m, "12:00", 5, big, 53, NULL) == SG_OK && m.length == 60);
    CHECK(sg_ring_publish_text(&t.w, &m, "12:00", 5, big, 54, NULL) == SG_E_TOO_LARGE);
    CHECK(sg_ring_publish_text(&t.w, &m, "12:00", 5, big, SIZE_MAX, NULL) == SG_E_TOO_LARGE);
    CHECK(sg_ring_publish_text(&t.w, &m, "12:00", 65536, NULL, 0, &err) == SG_E_TOO_LARGE);
    free(t.b);
}

static void begun_and_forgotten(void)
{
    ring t = new_ring(4, 60);
    sg_message m = {.kind = SG_KIND_BOXES};
    for (int i = 0; i < 4; i++)
        CHECK(put(&t, "old") == SG_OK);
    void *to = sg_ring_begin(&t.w, &m, 60, NULL);
    CHECK(to != NULL);
    memset(to, 0xee, 60);
    CHECK(get(&t, "old") == 1 && t.r.lost == 1); /* message 1 made room, 2 is the oldest */
    CHECK(put(&t, "new") == SG_OK && t.w.head == 5);
    CHECK(get(&t, "old") == 1 && get(&t, "old") == 1 && get(&t, "new") == 1 && get(&t, "") == 0);
    free(t.b);
}

static void successor(void)
{
    ring t = new_ring(4, 60);
    sg_ring_info i;
    CHECK(put(&t, "a") == SG_OK && sg_ring_stream(&t.w, "u", "d", 9, NULL) == 1);
    sg_ring_set_state(&t.w, SG_STATE_READY);
    sg_ring_heartbeat(&t.w, -5);
    sg_ring_set_generation(&t.w, 77);
    CHECK(sg_ring_reader_info(&t.r, &i, NULL) == SG_OK);
    CHECK(strcmp(i.model, "m") == 0 && i.state == SG_STATE_READY && i.heartbeat_ns == -5 && i.generation == 77 &&
          i.ring_epoch == 1 && i.pid == 7);
    CHECK(sg_ring_writer_init(&t.w, t.b, t.size, 8, NULL, NULL) == SG_OK && t.w.epoch == 2 && t.w.head == 1 &&
          t.w.streams == 2);
    CHECK(sg_ring_stream(&t.w, "u", "d", 10, NULL) == 1 && sg_ring_stream(&t.w, "u", "c", 2, NULL) == 0);
    CHECK(put(&t, "b") == SG_OK && get(&t, "a") == 1 && get(&t, "b") == 1);
    sg_stream_info s;
    CHECK(sg_ring_stream_info(&t.r, 1, &s, NULL) == SG_OK && s.epoch == 10 && strcmp(s.camera, "d") == 0);
    CHECK(sg_ring_stream_info(&t.r, 2, &s, NULL) == SG_E_STREAM);
    char camera[16];
    for (int n = 2; n < SG_MAX_STREAMS; n++) {
        snprintf(camera, sizeof camera, "c%d", n);
        CHECK(sg_ring_stream(&t.w, "u", camera, 1, NULL) == n);
    }
    CHECK(sg_ring_stream(&t.w, "u", "one too many", 1, NULL) == SG_E_STREAM);
    free(t.b);
}

static void good_names(void)
{
    static const struct {
        const char *name;
        int good;
    } all[] = {
        {"a", 1},
        {"über", 1},
        {"門", 1},
        {"\xf0\x9f\x98\x80", 1},
        {"", 0},
        {NULL, 0},
        {"a\nb", 0},
        {"\x7f", 0},
        {"\xc2\x85", 0},
        {"\xc2\xa0", 1},
        {"\xff", 0},
        {"\xc0\x80", 0},
        {"\xc1\xbf", 0},
        {"\xe0\x80\x80", 0},
        {"\xed\xa0\x80", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xf0\x80\x80\x80", 0},
        {"\xe9", 0},
        {"\xe9\x96", 0},
        {"\x80", 0},
        {"123456789012345678901234567890123456789012345678901234567890123", 1},
        {"1234567890123456789012345678901234567890123456789012345678901234", 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        CHECK((sg_check_name("camera", all[i].name, SG_E_ARGUMENT, NULL) == SG_OK) == all[i].good);
}

static void errors(void)
{
    sg_error err;
    ring t = new_ring(4, 60);
    store32(t.b, OFF_VERSION, 2);
    CHECK(sg_ring_reader_init(&t.r, t.b, t.size, &err) == SG_E_QUARANTINE && err.reason == SG_REASON_ABI_VERSION);
    CHECK(strstr(err.text, "version 2") != NULL && strstr(err.text, "speaks 1") != NULL);
    CHECK(strcmp(sg_reason_name(SG_REASON_PICTURE), "picture") == 0 && strcmp(sg_reason_name(99), "unknown") == 0);
    CHECK(sg_ring_reader_init(&t.r, t.b + 4, t.size, &err) == SG_E_QUARANTINE && err.reason == SG_REASON_SIZE);
    CHECK(sg_ring_reader_init(&t.r, NULL, 0, NULL) == SG_E_QUARANTINE);
    sg_fail_system(&err, 2, "open %s", "it");
    CHECK(err.code == SG_E_SYSTEM && err.system == 2 && strncmp(err.text, "open it: ", 9) == 0 && strlen(err.text) > 9);
    CHECK(sg_map_segment(-1, 0, "x", &err) == NULL && err.code == SG_E_SYSTEM);
    CHECK(sg_sizeof("sg_message") == sizeof(sg_message) && sg_sizeof("sg_nothing") == 0);
    free(t.b);
}

static void json_edges(void)
{
    char to[16];
    static const struct {
        const char *text, *want;
    } texts[] = {
        {"\"a\\\"b\\\\\\/\"", "a\"b\\/"},
        {" \"\\u00e9\\ud83d\\ude00\" ", "é\xf0\x9f\x98\x80"},
        {"\"\"", ""},
        {"\"a", NULL},
        {"\"\\x\"", NULL},
        {"\"\\ud83d\"", NULL},
        {"\"\\ude00\"", NULL},
        {"\"\\u0000\"", NULL},
        {"\"a\nb\"", NULL},
        {"\"1234567890123456\"", NULL},
        {"\"\\", NULL},
        {"\"\\u12", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json j = json_of(texts[i].text, strlen(texts[i].text));
        json_text(&j, to, sizeof to);
        CHECK(json_end(&j) == (texts[i].want != NULL));
        CHECK(texts[i].want == NULL || strcmp(to, texts[i].want) == 0);
    }
    static const struct {
        const char *text;
        int good;
    } numbers[] = {
        {"0", 1},   {"4294967295", 1}, {"4294967296", 0}, {"99999999999999999999999", 0}, {"-1", 0}, {"1.5", 0},
        {"1e3", 0}, {"", 0},           {"x", 0},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        json j = json_of(numbers[i].text, strlen(numbers[i].text));
        (void)json_number(&j, UINT32_MAX);
        CHECK(json_end(&j) == numbers[i].good);
    }
    static const char *const skipped[] = {"{\"a\":[1,{\"b\":\"]\\\"}\"}]}", "[]", "null", "-1.5e3", "\"x\""};
    for (size_t i = 0; i < sizeof skipped / sizeof skipped[0]; i++) {
        json j = json_of(skipped[i], strlen(skipped[i]));
        json_skip(&j);
        CHECK(json_end(&j));
    }
    reply r;
    char deep[4096];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"x\":", 5);
    CHECK(reply_read(&r, deep, sizeof deep, NULL) == SG_E_PROTOCOL);
    char request[512];
    request_write(request, sizeof request, 1, "a\"b\\c", 2);
    CHECK(strstr(request, "\"model\":\"a\\\"b\\\\c\",\"replica\":2") != NULL);
}

int selftest(int argc, char **argv)
{
    (void)argc, (void)argv;
    empty_wrap_and_lap();
    refusals();
    begun_and_forgotten();
    successor();
    good_names();
    errors();
    json_edges();
    printf("selftest: ok\n");
    return 0;
}
