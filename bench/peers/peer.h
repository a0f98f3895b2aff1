/* What the C programs that the bench compares with have in common. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Descriptors that the bench hands over. */
enum { RING_FD = 3, CONTROL_FD = 4, SAMPLES_FD = 5 };

/* The control segment: as in control.go. */
struct control {
	_Alignas(128) _Atomic uint64_t ready; /* the reader is about to read */
	_Alignas(128) _Atomic uint64_t rest;
};

static inline int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

/* pin_and_bound keeps the process on one processor and ends it if all else fails. */
static inline void pin_and_bound(int cpu, unsigned seconds)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0)
		die("pin to processor");
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	alarm(seconds);
}

/* map_all maps the whole of descriptor fd; its pages are touched now. */
static inline void *map_all(int fd, size_t *size)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		die("stat segment");
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (p == MAP_FAILED)
		die("map segment");
	if (size != NULL)
		*size = (size_t)st.st_size;
	return p;
}

/* await spins until at_ns; the last stretch only if it is far off, as the Go side does:
   a timer that wakes up late must not pass for latency. */
static inline int64_t await(int64_t at_ns, int64_t sleep_above_ns)
{
	int64_t now = now_ns();
	if (at_ns - now > sleep_above_ns) {
		int64_t until = at_ns - sleep_above_ns / 2;
		struct timespec t = { until / 1000000000, until % 1000000000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		now = now_ns();
	}
	while (now < at_ns)
		now = now_ns();
	return now;
}

static inline int64_t cpu_ns(void)
{
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return (int64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000000 +
	       (int64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000;
}

/* result prints what the bench reads: the same words as the Go side's. */
static inline void result(uint64_t messages, uint64_t lost, int64_t first_ns, int64_t last_ns, int64_t cpu)
{
	printf("{\"messages\":%llu,\"lost\":%llu,\"first_ns\":%lld,\"last_ns\":%lld,\"cpu_ns\":%lld}\n",
	       (unsigned long long)messages, (unsigned long long)lost, (long long)first_ns, (long long)last_ns, (long long)cpu);
}
