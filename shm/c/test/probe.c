#define _GNU_SOURCE /* registers of a signal's context */
#include "peer.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

/* Hooks the probe's site as a uprobe does, with a breakpoint over its first instruction,
 * and looks at the registers it finds there. */

extern void sg_probe_site(uint64_t, uint64_t, int64_t, uint64_t) __attribute__((visibility("hidden")));

static volatile uint64_t hits, seen[4];

static void trapped(int sig, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)sig, (void)info;
    hits++;
#if defined(__x86_64__)
    const int registers[4] = {REG_RDI, REG_RSI, REG_RDX, REG_RCX};
    for (int i = 0; i < 4; i++)
        seen[i] = (uint64_t)u->uc_mcontext.gregs[registers[i]];
#else
    for (int i = 0; i < 4; i++)
        seen[i] = u->uc_mcontext.regs[i];
    u->uc_mcontext.pc += 4;
#endif
}

static void hook(void)
{
    uint8_t *site = (uint8_t *)(uintptr_t)&sg_probe_site, *page = (uint8_t *)((uintptr_t)site & ~(uintptr_t)(PAGE - 1));
    CHECK(mprotect(page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
#if defined(__x86_64__)
    CHECK(site[0] == 0x90 && site[6] == 0xc3 && memcmp(site + 7, "skewgate-p1=", 12) == 0);
    site[0] = 0xcc; /* int3 */
#else
    CHECK(memcmp(site + 8, "skewgate-p1=", 12) == 0);
    const uint32_t brk = 0xd4200000;
    memcpy(site, &brk, 4);
    __builtin___clear_cache((char *)site, (char *)site + 4);
#endif
    CHECK(mprotect(page, 2 * PAGE, PROT_READ | PROT_EXEC) == 0);
}

static void raise_semaphore(uint16_t v)
{
    volatile uint16_t *word = (volatile uint16_t *)(uintptr_t)&sg_probe_semaphore;
    *word = v;
}

int probe(int argc, char **argv)
{
    (void)argc, (void)argv;
    sg_ring_config c = {.slots = 4, .payload_bytes = 64, .model = "people", .replica = 3};
    size_t size = sg_ring_bytes(&c);
    uint8_t *b = aligned_alloc(64, size);
    sg_ring_writer w;
    CHECK(b != NULL && sg_ring_format(b, size, &c, NULL) == SG_OK &&
          sg_ring_writer_init(&w, b, size, 1, NULL, NULL) == SG_OK);
    CHECK(sg_ring_stream(&w, "u", "gate", 5, NULL) == 0);
    struct sigaction act = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGTRAP, &act, NULL) == 0);
    hook();

    sg_message m = {.kind = SG_KIND_BOXES, .capture_ns = -7, .frame_id = 42, .stream_epoch = 5};
    CHECK(sg_ring_publish(&w, &m, NULL, 0, NULL) == SG_OK && hits == 0); /* nobody listens */
    raise_semaphore(1);
    CHECK(sg_ring_publish(&w, &m, NULL, 0, NULL) == SG_OK && hits == 1);
    CHECK(seen[0] == sg_epoch_hash(sg_stream_hash("u", "gate"), 5));
    CHECK((uint32_t)seen[1] == (uint32_t)sg_fnv(SG_FNV_OFFSET, "people", 6) && (uint16_t)(seen[1] >> 32) == 3 &&
          seen[1] >> 48 == SG_KIND_BOXES);
    CHECK((int64_t)seen[2] == -7 && seen[3] == 42);
    CHECK(load64(b, HOT_AT) == 2); /* the head had been stored */
    m.frame_id = 0;
    m.capture_ns = SG_RAW_CAPTURE;
    CHECK(sg_ring_publish(&w, &m, NULL, 0, NULL) == SG_OK && hits == 2);
    CHECK((int64_t)seen[2] == INT64_MIN && seen[3] == m.sequence && seen[1] >> 48 == (SG_KIND_BOXES | 1 << 8));
    raise_semaphore(0);
    CHECK(sg_ring_publish(&w, &m, NULL, 0, NULL) == SG_OK && hits == 2);
    free(b);
    printf("probe: ok\n");
    return 0;
}
