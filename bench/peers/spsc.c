/* A plain ring with one producer and one consumer: what a C programmer writes when two
 * processes need a fast queue and neither ever dies. Head and tail have cache lines of
 * their own, each side keeps a copy of the other's index and reads it anew only when the
 * copy says full or empty, a message is copied in and out and published by one release
 * store. No sequence, no header, no recovery, nobody else can read along.
 *
 * spsc writer|reader CPU SLOTS MESSAGES RATE SECONDS
 * RATE 0: flat out; else messages a second, evenly, and the reader keeps each latency.
 */
#include "peer.h"

enum { MESSAGE = 256 };

struct ring {
	_Alignas(128) _Atomic uint64_t head; /* messages written */
	_Alignas(128) _Atomic uint64_t tail; /* messages read */
	_Alignas(128) unsigned char slots[][MESSAGE];
};

struct message {
	uint64_t number;
	int64_t intended_ns;
	unsigned char rest[MESSAGE - 16];
};

static void writer(struct ring *r, struct control *c, uint64_t slots, uint64_t n, double rate)
{
	struct message m = { 0 };
	uint64_t tail = 0, mask = slots - 1;
	double gap = rate > 0 ? 1e9 / rate : 0;

	while (atomic_load_explicit(&c->ready, memory_order_acquire) == 0)
		usleep(100);
	int64_t start = now_ns() + 2000000;
	for (uint64_t i = 0; i < n; i++) {
		if (rate > 0) {
			m.intended_ns = start + (int64_t)((double)i * gap);
			await(m.intended_ns, INT64_MAX);
		}
		m.number = i + 1;
		while (i - tail >= slots)
			tail = atomic_load_explicit(&r->tail, memory_order_acquire);
		memcpy(r->slots[i & mask], &m, MESSAGE);
		atomic_store_explicit(&r->head, i + 1, memory_order_release);
	}
}

static void reader(struct ring *r, struct control *c, uint64_t slots, uint64_t n, int64_t *samples)
{
	struct message m;
	uint64_t head = 0, lost = 0, mask = slots - 1;
	int64_t first = 0;

	atomic_store_explicit(&c->ready, 1, memory_order_release);
	for (uint64_t i = 0; i < n; i++) {
		while (head == i)
			head = atomic_load_explicit(&r->head, memory_order_acquire);
		memcpy(&m, r->slots[i & mask], MESSAGE);
		__asm__ volatile("" : : "r"(&m) : "memory"); /* all of it, not only what is looked at */
		if (samples != NULL)
			samples[i] = now_ns() - m.intended_ns;
		atomic_store_explicit(&r->tail, i + 1, memory_order_release);
		lost += m.number != i + 1;
		if (i == 0)
			first = now_ns();
	}
	result(n, lost, first, now_ns(), cpu_ns());
}

int main(int argc, char **argv)
{
	if (argc != 7) {
		fprintf(stderr, "want: spsc writer|reader CPU SLOTS MESSAGES RATE SECONDS\n");
		return 2;
	}
	uint64_t slots = strtoull(argv[3], NULL, 10), n = strtoull(argv[4], NULL, 10);
	double rate = strtod(argv[5], NULL);
	size_t size;
	pin_and_bound(atoi(argv[2]), (unsigned)atoi(argv[6]));
	struct ring *r = map_all(RING_FD, &size);
	struct control *c = map_all(CONTROL_FD, NULL);
	if ((slots & (slots - 1)) != 0 || size < sizeof *r + slots * MESSAGE) {
		fprintf(stderr, "ring of %zu bytes does not hold %llu slots\n", size, (unsigned long long)slots);
		return 2;
	}
	if (strcmp(argv[1], "writer") == 0)
		writer(r, c, slots, n, rate);
	else
		reader(r, c, slots, n, rate > 0 ? map_all(SAMPLES_FD, NULL) : NULL);
	return 0;
}
