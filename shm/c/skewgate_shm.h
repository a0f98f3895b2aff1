/* skewgate's shared memory rings for C and C++: ABI version 1, as ../ABI.md draws it.
 *
 * Two floors. The upper one is for a detector of your own: sg_attach_writer asks the
 * appliance for memory, sg_newest looks at a camera's picture where it lies,
 * sg_publish_boxes says what was found. The lower one, sg_ring_*, sg_frames_* and
 * sg_fused_*, works on any memory given to it, for tests and other languages.
 *
 * Threads: everything hangs on the struct or client it is called with, and one struct
 * belongs to one thread (a writer also to one process: attach anew after fork). There
 * are no globals, so two threads may work with two clients.
 *
 * Errors: a function that can fail returns a negative SG_E_… code or NULL and takes an
 * sg_error as its last argument, which may be NULL. On success the sg_error is not
 * touched. Publishing and reading allocate nothing, but for a name not heard before.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC (sg_now), but for capture times, which are the
 * source's own: ns since 1970 for cameras and films.
 */
#ifndef SKEWGATE_SHM_H
#define SKEWGATE_SHM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define SG_INLINE /* C++ calls what C inlines */
#else
#include <stdatomic.h>
#include <string.h>
#define SG_INLINE inline
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "skewgate's segments are little-endian; this processor is not"
#endif

#define SG_API __attribute__((visibility("default")))

#define SG_ABI_VERSION 1
#define SG_MAX_STREAMS 64  /* (unit, camera) pairs one ring can carry */
#define SG_NAME_BYTES 64   /* of a model, unit or camera name with its final zero */
#define SG_RAW_CAPTURE INT64_MIN /* as capture_ns: the time is text, at the start of the body */

/* ---- errors ---------------------------------------------------------------------- */

enum sg_code {
    SG_OK = 0,
    SG_E_ARGUMENT = -1,   /* the caller's mistake; the text says which */
    SG_E_TOO_LARGE = -2,  /* body, picture or name exceeds its slot */
    SG_E_STREAM = -3,     /* no such stream, or no more room for one */
    SG_E_QUARANTINE = -4, /* the memory makes no sense; sg_error.reason says why */
    SG_E_NOT_SEALED = -5, /* a segment whose size could change under us */
    SG_E_SYSTEM = -6,     /* a system call failed; sg_error.system is its errno */
    SG_E_PROTOCOL = -7,   /* the other end of the socket is not a skewgate we know */
    SG_E_REFUSED = -8,    /* the appliance said no; sg_error.refusal says why */
    SG_E_DETACHED = -9,   /* the appliance is gone; tried again by itself, later */
    SG_E_REATTACHED = -10, /* it is back with new memory: take a new picture, then publish */
    SG_E_MALFORMED = -11  /* one message's body is not what its kind promises */
};

/* Why a segment was refused: names as in the appliance's status, from sg_reason_name. */
enum sg_reason {
    SG_REASON_NONE,
    SG_REASON_MAGIC,
    SG_REASON_ABI_VERSION,
    SG_REASON_SEGMENT_KIND,
    SG_REASON_SIZE,
    SG_REASON_LAYOUT,
    SG_REASON_NAME,
    SG_REASON_HEAD_OUT_OF_RANGE,
    SG_REASON_HEAD_BACKWARDS,
    SG_REASON_SLOT_SEQUENCE,
    SG_REASON_LENGTH,
    SG_REASON_MESSAGE_KIND,
    SG_REASON_STREAM,
    SG_REASON_STREAM_TABLE,
    SG_REASON_PICTURE
};

/* Why an attach was refused. */
enum sg_refusal {
    SG_REFUSAL_NONE,
    SG_REFUSAL_OTHER,
    SG_REFUSAL_ABI_VERSION,
    SG_REFUSAL_UNKNOWN_MODEL,
    SG_REFUSAL_NOT_ALLOWED,
    SG_REFUSAL_WRITER_PRESENT,
    SG_REFUSAL_BAD_REQUEST,
    SG_REFUSAL_SHUTTING_DOWN,
    SG_REFUSAL_NO_OUTPUT,
    SG_REFUSAL_BUSY
};

typedef struct sg_error {
    int code;    /* enum sg_code */
    int reason;  /* enum sg_reason, with SG_E_QUARANTINE */
    int refusal; /* enum sg_refusal, with SG_E_REFUSED */
    int system;  /* errno, with SG_E_SYSTEM */
    char text[496]; /* what, where, and what would mend it */
} sg_error;

SG_API const char *sg_reason_name(int reason);

/* ---- what goes through a ring ---------------------------------------------------- */

enum sg_kind { SG_KIND_BOXES = 1, SG_KIND_JSON = 2, SG_KIND_PROGRESS = 3, SG_KIND_FUSED = 4 };

enum sg_state {
    SG_STATE_STARTING,
    SG_STATE_BUILDING, /* loading a model, opening a source */
    SG_STATE_WARMING,
    SG_STATE_READY,
    SG_STATE_DRAINING
};

/* A detection, in fractions of the full frame: 0 ≤ x1 ≤ x2 ≤ 1, 0 ≤ y1 ≤ y2 ≤ 1. */
typedef struct sg_box {
    float x1, y1, x2, y2;
    float score;    /* 0…1 */
    uint32_t label; /* the model's own */
} sg_box;

/* A message without its body. */
typedef struct sg_message {
    uint64_t sequence;   /* 1, 2, 3, … over the ring's life; set by publish and next */
    int64_t capture_ns;  /* of the picture; SG_RAW_CAPTURE = text in the body */
    int64_t publish_ns;  /* read by the writer just before publishing */
    uint64_t frame_id;   /* 0 = none */
    uint64_t tag;        /* free for the source */
    uint32_t stream;
    uint32_t stream_epoch;
    uint32_t length;     /* of the body in bytes; set by publish */
    uint16_t count;      /* boxes in the body */
    uint8_t kind;        /* enum sg_kind */
    uint8_t flags;       /* 0 in version 1 */
} sg_message;

enum sg_format { SG_FORMAT_I420 = 1, SG_FORMAT_RGB24 = 2 };
enum sg_clock { SG_CLOCK_CAMERA = 1, SG_CLOCK_ARRIVAL, SG_CLOCK_MONOTONIC, SG_CLOCK_FILE };

/* A picture in place. Whoever uses its pixels asks sg_frame_valid afterwards and, if
 * that says no, throws away what was made of them. */
typedef struct sg_frame {
    uint64_t sequence;
    int64_t capture_ns, publish_ns;
    uint64_t frame_id; /* from 1 within a stream_epoch */
    uint64_t tag;
    uint32_t stream_epoch;
    uint32_t format; /* enum sg_format; planes without padding, luma first */
    uint32_t width, height;
    uint32_t length; /* of the pixels in bytes */
    uint32_t clock;  /* enum sg_clock: where the capture time comes from */
    const uint8_t *pixels;
    const void *word; /* the slot's sequence, for sg_frame_valid */
} sg_frame;

/* ---- upper floor: attached to a running appliance --------------------------------- */

typedef struct sg_client sg_client;

/* sg_attach_writer asks the appliance at sock (NULL: $SKEWGATE_ATTACH, else the usual
 * place) for the detection ring of (model, replica), for which its configuration must
 * say `command: attach`. sg_attach_reader asks for the fused frames and all cameras.
 * Both wait at most two seconds. */
SG_API sg_client *sg_attach_writer(const char *sock, const char *model, unsigned replica, sg_error *err);
SG_API sg_client *sg_attach_reader(const char *sock, sg_error *err);
SG_API void sg_close(sg_client *c);

/* Streams are the cameras given at attach, from 0. A number keeps its camera through
 * re-attachment, so it need not be looked up again. */
SG_API int sg_stream(const sg_client *c, const char *camera, sg_error *err);
SG_API int sg_stream_count(const sg_client *c);
SG_API const char *sg_stream_name(const sg_client *c, int stream); /* NULL beyond the last */
SG_API uint32_t sg_stream_epoch(const sg_client *c, int stream);   /* latest word of the appliance */
SG_API const char *sg_unit(const sg_client *c);

/* sg_newest looks at the stream's newest picture: 1, or 0 when there is none yet. Its
 * pixels stay mapped until a call returns SG_E_REATTACHED, or sg_close. */
SG_API int sg_newest(sg_client *c, int stream, sg_frame *f, sg_error *err);

/* sg_hold keeps the frame ring that p points into mapped until sg_release is called with
 * what it returned (NULL: p is none of ours), beyond re-attachment and sg_close. sg_release
 * may be called from any thread. */
SG_API void *sg_hold(const sg_client *c, const void *p);
SG_API void sg_release(void *held);

/* What a message is about; sg_stamp_of takes it from a picture. */
typedef struct sg_stamp {
    int64_t capture_ns;
    uint64_t frame_id; /* 0 = none */
    uint64_t tag;      /* what was read from the pixels themselves, if anything; 0 = none */
    uint32_t stream;
    uint32_t stream_epoch; /* 0 = the appliance's latest word */
} sg_stamp;

static inline sg_stamp sg_stamp_of(int stream, const sg_frame *f)
{
    sg_stamp s = {f->capture_ns, f->frame_id, 0, (uint32_t)stream, f->stream_epoch};
    return s;
}

/* Publishing returns SG_OK once the message is there. No boxes, or a JSON text without
 * any, is an answer: looked, found nothing. Progress promises that nothing captured at or
 * before its capture_ns will come any more. JSON bodies are
 * {"detections":[{"box":[x1,y1,x2,y2],"score":0.9,"label":"person"}]}.
 *
 * Each of these also looks at the socket when a millisecond has passed since the last
 * look. SG_E_DETACHED: the appliance is gone, nothing was published; call again, it is
 * tried anew in growing steps of 0.1 to 5 seconds. SG_E_REATTACHED: it is back; nothing
 * was published, since the message belongs to a picture of the old memory. */
SG_API int sg_publish_boxes(sg_client *c, const sg_stamp *of, const sg_box *boxes, size_t n, sg_error *err);
SG_API int sg_publish_json(sg_client *c, const sg_stamp *of, const char *json, size_t length, sg_error *err);
SG_API int sg_publish_progress(sg_client *c, int stream, int64_t capture_ns, sg_error *err);

/* sg_publish is what these are made of. m->stream is the client's number; for publish_ns
 * 0 it reads the clock, for stream_epoch 0 it takes the appliance's latest word. On success
 * m has what was published, sequence and length too, else it is as it was. */
SG_API int sg_publish(sg_client *c, sg_message *m, const void *body, size_t length, sg_error *err);

/* sg_publish_text is sg_publish with a capture time that is known as text only: it sets
 * capture_ns to SG_RAW_CAPTURE. At most 65535 bytes. */
SG_API int sg_publish_text(sg_client *c, sg_message *m, const char *text, size_t text_length,
                           const void *body, size_t length, sg_error *err);

/* sg_poll is for times without messages: heartbeat, and a look at the socket. It returns
 * as publishing does. */
SG_API int sg_poll(sg_client *c, int64_t now_ns, sg_error *err);
SG_API int sg_heartbeat(sg_client *c, int64_t now_ns);
SG_API int sg_set_state(sg_client *c, int state); /* enum sg_state; kept through re-attachment */
SG_API int sg_draining(const sg_client *c);       /* 1: it is about to end: answer what is in hand; going on is right too */
SG_API int sg_attached(const sg_client *c);
SG_API int64_t sg_now(void);                      /* CLOCK_MONOTONIC */

/* ---- fused frames ------------------------------------------------------------------ */

enum sg_close_reason { SG_CLOSED_QUORUM = 1, SG_CLOSED_SETTLED, SG_CLOSED_TIMEOUT, SG_CLOSED_EVICTION };
/* As far as the closing could tell; a number that is not here is another reason. */
enum sg_missing_why {
    SG_MISSING_OTHER,
    SG_MISSING_ABSENT,
    SG_MISSING_DEAD,
    SG_MISSING_PASSED,
    SG_MISSING_LATE,
    SG_MISSING_OTHER_BUCKET,
    SG_MISSING_WRONG_GENERATION
};

typedef struct sg_fused_model { /* one that answered */
    uint16_t model; /* index for sg_output_model */
    uint16_t zero16;
    uint32_t zero32;
    int64_t capture_ns; /* SG_RAW_CAPTURE: known as text only */
} sg_fused_model;

typedef struct sg_fused_missing {
    uint16_t model;
    uint8_t why; /* enum sg_missing_why */
    uint8_t zero;
} sg_fused_missing;

typedef struct sg_fused_box {
    float x1, y1, x2, y2, score;
    uint32_t class_index; /* for sg_output_class */
    uint32_t first_vote, votes; /* its part of sg_fused.votes: who saw it */
} sg_fused_box;

typedef struct sg_vote {
    uint16_t model;
    uint16_t zero;
    float score;
} sg_vote;

/* A fused frame. The arrays lie in the buffer it was read into, until the next read. */
typedef struct sg_fused {
    sg_message message; /* capture_ns is the earliest, tag the number of the frame */
    const char *unit, *camera; /* NULL from sg_fused_parse */
    uint64_t seq, generation;
    int64_t first_arrival_ns, closed_ns;
    int64_t arrival_skew_ns; /* −1 = none: only one model answered */
    uint32_t reason;         /* enum sg_close_reason */
    uint32_t degraded;
    uint32_t model_count, missing_count, box_count, vote_count;
    const sg_fused_model *models;
    const sg_fused_missing *missing;
    const sg_fused_box *boxes;
    const sg_vote *votes;
} sg_fused;

/* sg_output_next reads the oldest fused frame not yet read, of those published since the
 * attachment: 1, or 0 when there is none. SG_E_MALFORMED concerns one frame; go on. When
 * there is nothing to read it looks at the socket, and returns SG_E_DETACHED and
 * SG_E_REATTACHED as publishing does. Frames published before the appliance went come
 * first, also when another call has noticed its end; a re-attachment gives them up, and
 * counts them lost. */
SG_API int sg_output_next(sg_client *c, sg_fused *f, sg_error *err);

/* Names of a frame's models and classes, until the next sg_output_next. NULL: not told
 * yet, which can be after a loss; all names are told again within 64 messages. */
SG_API const char *sg_output_model(const sg_client *c, unsigned index);
SG_API const char *sg_output_class(const sg_client *c, unsigned index);
SG_API uint64_t sg_output_read(const sg_client *c); /* messages read, those of names included */
SG_API uint64_t sg_output_lost(const sg_client *c); /* overwritten before they were read */

/* sg_fused_parse takes the body of a message of SG_KIND_FUSED apart. body is aligned to
 * 8 and stays the caller's. Indexes of models and classes are not checked. */
SG_API int sg_fused_parse(const sg_message *m, const void *body, size_t length, sg_fused *f, sg_error *err);

/* ---- lower floor: rings in any memory ---------------------------------------------- */

typedef struct sg_ring_config {
    uint32_t slots;         /* a power of two, 2…2^20 */
    uint32_t payload_bytes; /* largest body, 1…2^24 */
    const char *model;
    uint32_t replica;
    uint32_t index;         /* staggers the hot words: which ring of its appliance this is */
    uint64_t generation;
    int output;             /* 1: an output ring, else a detection ring */
} sg_ring_config;

/* The bell that wakes the appliance. */
typedef struct sg_doorbell {
    void *bell, *sleep;
} sg_doorbell;

/* The fields of these are for this header only. */
typedef struct sg_ring_writer {
    uint8_t *slots;
    uint64_t mask, stride, payload;
    uint64_t head; /* own copy, never read back: nobody can lead it astray */
    void *head_at;
    const void *semaphore; /* of the probe site */
    void *sleep_at, *bell_at; /* of the doorbell; NULL without one */
    uint32_t streams, epoch, replica, model_hash;
    uint8_t *segment;
    uint64_t hot_at;
    uint64_t stream_hash[SG_MAX_STREAMS];
} sg_ring_writer;

typedef struct sg_stream_info {
    char unit[SG_NAME_BYTES], camera[SG_NAME_BYTES];
    uint64_t hash;
    uint32_t epoch; /* latest registered */
} sg_stream_info;

typedef struct sg_ring_info {
    char model[SG_NAME_BYTES];
    uint32_t replica, slots, payload_bytes, pid, ring_epoch, state, streams;
    uint64_t generation, head;
    int64_t heartbeat_ns;
} sg_ring_info;

typedef struct sg_ring_reader {
    const uint8_t *segment, *slots;
    uint64_t mask, stride, payload, hot_at;
    const void *head_at;
    uint64_t start, next, head; /* where it began, what it wants, what it saw */
    uint64_t read, lost;        /* head = start + read + lost once the ring is empty */
    uint32_t streams;
    int reason;                 /* enum sg_reason; once set, the ring stays quarantined */
    sg_error why;
} sg_ring_reader;

typedef struct sg_frame_reader {
    const uint8_t *segment, *slots, *pixels;
    uint64_t count, stride, size;
    const void *head_at;
    uint64_t head;
    int reason;
    sg_error why;
} sg_frame_reader;

/* Bytes of a segment, 0 when sg_ring_format would refuse the config. Memory is aligned
 * to 8 bytes at least; a mapping always is. */
SG_API size_t sg_ring_bytes(const sg_ring_config *c);
SG_API int sg_ring_format(void *b, size_t size, const sg_ring_config *c, sg_error *err);

/* sg_ring_writer_init takes the ring over as process pid: ring_epoch rises by one, and
 * writing goes on at head. bell may be NULL. */
SG_API int sg_ring_writer_init(sg_ring_writer *w, void *b, size_t size, uint32_t pid,
                               const sg_doorbell *bell, sg_error *err);
SG_API int sg_doorbell_init(sg_doorbell *d, void *b, size_t size, sg_error *err);

/* sg_ring_stream returns the index of (unit, camera) and notes its latest epoch. */
SG_API int sg_ring_stream(sg_ring_writer *w, const char *unit, const char *camera, uint32_t epoch, sg_error *err);
SG_API void sg_ring_set_state(sg_ring_writer *w, uint32_t state);
SG_API void sg_ring_heartbeat(sg_ring_writer *w, int64_t now_ns);
SG_API void sg_ring_set_generation(sg_ring_writer *w, uint64_t generation);

/* sg_ring_begin takes the oldest slot away from readers and returns its body, length
 * bytes to be filled in place; NULL when the message is refused. sg_ring_commit makes it
 * visible; it takes the same m, of which count, times and tag may be known only now, and a
 * length up to that of begin. A second begin instead forgets what the first had begun. */
SG_API SG_INLINE void *sg_ring_begin(sg_ring_writer *w, const sg_message *m, size_t length, sg_error *err);
SG_API SG_INLINE void sg_ring_commit(sg_ring_writer *w, sg_message *m, size_t length);
/* sg_ring_publish is begin, copy, commit. */
SG_API SG_INLINE int sg_ring_publish(sg_ring_writer *w, sg_message *m, const void *body, size_t length, sg_error *err);
SG_API int sg_ring_publish_text(sg_ring_writer *w, sg_message *m, const char *text, size_t text_length,
                                const void *body, size_t length, sg_error *err);

/* A reader starts at the current head. sg_ring_next copies the oldest message not yet
 * read, at most room bytes of its body: 1, or 0 when there is nothing new. */
SG_API int sg_ring_reader_init(sg_ring_reader *r, const void *b, size_t size, sg_error *err);
/* sg_ring_rewind, before the first sg_ring_next: begin up to n messages further back. */
SG_API void sg_ring_rewind(sg_ring_reader *r, uint64_t n);
SG_API int sg_ring_next(sg_ring_reader *r, sg_message *m, void *body, size_t room, sg_error *err);
SG_API int sg_ring_stream_info(sg_ring_reader *r, uint32_t stream, sg_stream_info *s, sg_error *err);
SG_API int sg_ring_reader_info(const sg_ring_reader *r, sg_ring_info *i, sg_error *err);

/* sg_split_text takes a body apart whose message has SG_RAW_CAPTURE. */
SG_API int sg_split_text(const void *body, size_t length, const char **text, size_t *text_length,
                         const void **rest, size_t *rest_length, sg_error *err);

SG_API int sg_frames_init(sg_frame_reader *r, const void *b, size_t size, sg_error *err);
SG_API int sg_frames_newest(sg_frame_reader *r, sg_frame *f, sg_error *err);
SG_API int sg_frames_get(sg_frame_reader *r, uint64_t sequence, sg_frame *f, sg_error *err);
SG_API SG_INLINE int sg_frame_valid(const sg_frame *f);

/* Bytes of a struct of this header by its name, 0 for one it does not have: how another
 * language checks that it mirrors it rightly. */
SG_API size_t sg_sizeof(const char *name);

/* Hash of (unit, camera); sg_epoch_hash goes on over a stream_epoch, as the probe does. */
SG_API uint64_t sg_stream_hash(const char *unit, const char *camera);
SG_API uint64_t sg_epoch_hash(uint64_t hash, uint32_t stream_epoch);

/* Used by the inlined part below; not to be called. */
SG_API int sg_ring_refuse(const sg_ring_writer *w, const sg_message *m, size_t length, sg_error *err);
SG_API void sg_ring_wake(const sg_ring_writer *w);
SG_API void sg_ring_probe(const sg_ring_writer *w, const sg_message *m);

#ifndef __cplusplus
/* ---- the inlined part: publishing ---------------------------------------------------
 *
 * W1…W6 are the steps of ABI.md, which argues their order. Header words are stored by
 * relaxed atomics (plain moves; a reader may look at the same time), the body by memcpy:
 * a reader who copies it meanwhile throws its copy away, because W1 comes first. */

SG_INLINE void *sg_ring_begin(sg_ring_writer *w, const sg_message *m, size_t length, sg_error *err)
{
    if (length > w->payload || m->stream >= w->streams ||
        m->kind < SG_KIND_BOXES || m->kind > SG_KIND_FUSED) {
        sg_ring_refuse(w, m, length, err);
        return NULL;
    }
    uint8_t *slot = w->slots + ((w->head + 1) & w->mask) * w->stride;
    /* W1: whoever still reads what lay here sees it gone… */
    atomic_store_explicit((_Atomic uint64_t *)slot, 0, memory_order_release);
    /* W2: …before it can see a byte of what comes: a release fence keeps the store above
     * from passing the stores below. */
    atomic_thread_fence(memory_order_release);
    return slot + 64;
}

SG_INLINE void sg_ring_commit(sg_ring_writer *w, sg_message *m, size_t length)
{
    uint64_t n = w->head + 1;
    uint8_t *slot = w->slots + (n & w->mask) * w->stride;
    _Atomic uint64_t *word = (_Atomic uint64_t *)slot;
    m->sequence = n;
    m->length = (uint32_t)length;
    /* W3: the header; the body is there already. */
    atomic_store_explicit(word + 1, (uint64_t)m->capture_ns, memory_order_relaxed);
    atomic_store_explicit(word + 2, (uint64_t)m->publish_ns, memory_order_relaxed);
    atomic_store_explicit(word + 3, m->frame_id, memory_order_relaxed);
    atomic_store_explicit(word + 4, m->tag, memory_order_relaxed);
    atomic_store_explicit(word + 5, m->stream | (uint64_t)m->stream_epoch << 32, memory_order_relaxed);
    atomic_store_explicit(word + 6, m->length | (uint64_t)m->count << 32 | (uint64_t)m->kind << 48 |
                          (uint64_t)m->flags << 56, memory_order_relaxed);
    atomic_store_explicit(word + 7, 0, memory_order_relaxed);
    /* W4: the message is whole. sync: slot */
    atomic_store_explicit(word, n, memory_order_release);
    w->head = n;
    /* W5: the message is there. sync: head, wake. Only before a doorbell must it be
     * seq_cst, so that W6 cannot overtake it. */
    if (w->sleep_at == NULL)
        atomic_store_explicit((_Atomic uint64_t *)w->head_at, n, memory_order_release);
    else
        atomic_store_explicit((_Atomic uint64_t *)w->head_at, n, memory_order_seq_cst);
    /* The probe's site: two loads when nobody listens. */
    if (__builtin_expect(*(const volatile uint16_t *)w->semaphore != 0, 0))
        sg_ring_probe(w, m);
    /* W6: of this load and the sleeper's of head, at least one sees the other's store. */
    if (w->sleep_at != NULL &&
        __builtin_expect(atomic_load_explicit((_Atomic uint32_t *)w->sleep_at, memory_order_seq_cst) != 0, 0))
        sg_ring_wake(w);
}

SG_INLINE int sg_ring_publish(sg_ring_writer *w, sg_message *m, const void *body, size_t length, sg_error *err)
{
    void *to = sg_ring_begin(w, m, length, err);
    if (__builtin_expect(to == NULL, 0))
        return sg_ring_refuse(w, m, length, NULL);
    if (length > 0) /* memcpy may not be given NULL */
        memcpy(to, body, length);
    sg_ring_commit(w, m, length);
    return SG_OK;
}

/* R4 and R5 after the use of a picture: the acquire fence keeps the loads of pixels
 * before the load of the sequence. sync: slot */
SG_INLINE int sg_frame_valid(const sg_frame *f)
{
    atomic_thread_fence(memory_order_acquire);
    return f->sequence != 0 &&
           atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)f->word, memory_order_acquire) == f->sequence;
}
#endif /* __cplusplus */

#ifdef __cplusplus
}
#endif
#endif /* SKEWGATE_SHM_H */
