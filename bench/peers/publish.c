/* One publish of the C library: flat out into a ring that nobody reads, without clock
 * read and doorbell, as the Go side is measured.
 *
 * publish CPU MESSAGES SECONDS
 */
#include "peer.h"

#include "skewgate_shm.h"

enum { MESSAGE = 256, WARMUP = 4096 };

static void check(int code, const sg_error *err)
{
	if (code < 0) {
		fprintf(stderr, "%s\n", err->text);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "want: publish CPU MESSAGES SECONDS\n");
		return 2;
	}
	uint64_t n = strtoull(argv[2], NULL, 10);
	unsigned char body[MESSAGE] = { 0 };
	sg_ring_writer w;
	sg_error err = { 0 };
	size_t size;
	int64_t first = 0;

	pin_and_bound(atoi(argv[1]), (unsigned)atoi(argv[3]));
	void *b = map_all(RING_FD, &size);
	check(sg_ring_writer_init(&w, b, size, (uint32_t)getpid(), NULL, &err), &err);
	int stream = sg_ring_stream(&w, "bench", "camera", 1, &err);
	check(stream, &err);
	sg_message m = { .kind = SG_KIND_BOXES, .stream = (uint32_t)stream, .stream_epoch = 1, .capture_ns = 1, .frame_id = 2 };
	for (uint64_t i = 0; i < n + WARMUP; i++) {
		if (i == WARMUP)
			first = now_ns();
		check(sg_ring_publish(&w, &m, body, sizeof body, &err), &err);
	}
	result(n, 0, first, now_ns(), cpu_ns());
	return 0;
}
