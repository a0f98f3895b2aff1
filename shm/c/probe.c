#include "internal.h"

/* The probe's site: right behind the store that publishes, an outside observer finds an
 * instruction to hook. Nobody listening, it is not reached: whoever attaches raises the
 * semaphore, which the kernel does for a uprobe with a reference counter. It is 16 bits
 * wide, as the kernel counts; it lies in a section of its own in the file, not in .bss,
 * since the kernel finds it by its place in the file.
 *
 * amd64: nop1, nop5, ret.  arm64: nop, ret.  Then the signature, which leads to the site
 * in a stripped file, and from there the way to the semaphore, as ABI.md draws it. The
 * note in the form of systemtap's sys/sdt.h lets perf and bpftrace attach by name. */

#if defined(__x86_64__)
#define SITE ".byte 0x90\n .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n .byte 0xc3\n"
#define WAY "1: .4byte sg_probe_semaphore - 1b\n"
#define ARGUMENTS "8@%rdi 8@%rsi -8@%rdx 8@%rcx"
#elif defined(__aarch64__)
#define SITE "nop\n ret\n"
#define WAY "adrp x16, sg_probe_semaphore\n add x16, x16, :lo12:sg_probe_semaphore\n"
#define ARGUMENTS "8@x0 8@x1 -8@x2 8@x3"
#else
#error "skewgate's shared memory is made for amd64 and arm64"
#endif

__asm__(
    ".pushsection .probes, \"aw\", %progbits\n"
    " .balign 8\n"
    " .globl sg_probe_semaphore\n"
    " .hidden sg_probe_semaphore\n"
    " .type sg_probe_semaphore, %object\n"
    " .size sg_probe_semaphore, 2\n"
    "sg_probe_semaphore: .zero 8\n"
    ".popsection\n"

    ".pushsection .text.sg_probe_site, \"ax\", %progbits\n"
    " .balign 16\n"
    " .globl sg_probe_site\n"
    " .hidden sg_probe_site\n"
    " .type sg_probe_site, %function\n"
    "sg_probe_site:\n"
    " " SITE
    " .ascii \"skewgate-p1=\"\n"
    " " WAY
    " .size sg_probe_site, . - sg_probe_site\n"
    ".popsection\n"

    ".pushsection .note.stapsdt, \"\", %note\n"
    " .balign 4\n"
    " .4byte 2f - 1f, 4f - 3f, 3\n"
    "1: .asciz \"stapsdt\"\n"
    "2: .balign 4\n"
    "3: .8byte sg_probe_site, _.stapsdt.base, sg_probe_semaphore\n"
    " .asciz \"skewgate\"\n"
    " .asciz \"publish\"\n"
    " .asciz \"" ARGUMENTS "\"\n"
    "4: .balign 4\n"
    ".popsection\n"

    /* By its address in the note and in the file tools see how far prelinking moved it. */
    ".pushsection .stapsdt.base, \"aG\", %progbits, .stapsdt.base, comdat\n"
    " .weak _.stapsdt.base\n"
    " .hidden _.stapsdt.base\n"
    "_.stapsdt.base: .space 1\n"
    " .size _.stapsdt.base, 1\n"
    ".popsection\n");

extern void sg_probe_site(uint64_t stream, uint64_t model, int64_t capture_ns, uint64_t frame)
    __attribute__((visibility("hidden")));

/* sg_ring_probe hands over four scalars, so that an observer reads no memory of ours:
 * hash of (unit, camera, stream_epoch); hash of the model, 32 bits, replica, 16, the
 * message's kind, 8, and whether the last is a sequence; capture time; frame id, or the
 * sequence when there is none. */
void sg_ring_probe(const sg_ring_writer *w, const sg_message *m)
{
    uint64_t stream = sg_epoch_hash(w->stream_hash[m->stream % SG_MAX_STREAMS], m->stream_epoch);
    uint64_t model = w->model_hash | (uint64_t)(uint16_t)w->replica << 32 | (uint64_t)m->kind << 48 |
                     (uint64_t)(m->frame_id == 0) << 56;
    sg_probe_site(stream, model, m->capture_ns, m->frame_id != 0 ? m->frame_id : m->sequence);
}
