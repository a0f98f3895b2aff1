/* The bare futex wake-up: one process sleeps on a word in shared memory, another stores
 * the word and wakes it. What any blocking hand-over costs here at the least.
 *
 * futex waker|sleeper CPU MESSAGES RATE SECONDS
 */
#include "peer.h"

#include <linux/futex.h>
#include <sys/syscall.h>

struct word {
	_Alignas(128) _Atomic uint32_t count;
	_Alignas(128) int64_t intended_ns[1024]; /* stored before count, read after it */
};

static void futex(_Atomic uint32_t *w, int op, uint32_t value)
{
	syscall(SYS_futex, w, op, value, NULL, NULL, 0);
}

static void waker(struct word *w, struct control *c, uint64_t n, double rate)
{
	while (atomic_load_explicit(&c->ready, memory_order_acquire) == 0)
		usleep(100);
	int64_t start = now_ns() + 2000000;
	for (uint64_t i = 0; i < n; i++) {
		int64_t at = start + (int64_t)((double)i * 1e9 / rate);
		await(at, 1000000);
		w->intended_ns[i % 1024] = at;
		atomic_fetch_add_explicit(&w->count, 1, memory_order_release);
		futex(&w->count, FUTEX_WAKE, 1);
	}
}

static void sleeper(struct word *w, struct control *c, uint64_t n, int64_t *samples)
{
	int64_t first = 0, cpu = 0;

	atomic_store_explicit(&c->ready, 1, memory_order_release);
	for (uint32_t i = 0; i < n;) {
		while (atomic_load_explicit(&w->count, memory_order_acquire) == i)
			futex(&w->count, FUTEX_WAIT, i);
		uint32_t count = atomic_load_explicit(&w->count, memory_order_acquire);
		int64_t now = now_ns();
		for (; i < count; i++)
			samples[i] = now - w->intended_ns[i % 1024];
		if (first == 0) {
			first = now;
			cpu = cpu_ns();
		}
	}
	result(n, 0, first, now_ns(), cpu_ns() - cpu);
}

int main(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "want: futex waker|sleeper CPU MESSAGES RATE SECONDS\n");
		return 2;
	}
	uint64_t n = strtoull(argv[3], NULL, 10);
	double rate = strtod(argv[4], NULL);
	pin_and_bound(atoi(argv[2]), (unsigned)atoi(argv[5]));
	struct word *w = map_all(RING_FD, NULL);
	struct control *c = map_all(CONTROL_FD, NULL);
	if (strcmp(argv[1], "waker") == 0)
		waker(w, c, n, rate);
	else
		sleeper(w, c, n, map_all(SAMPLES_FD, NULL));
	return 0;
}
