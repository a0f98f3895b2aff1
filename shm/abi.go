package shm

// ABI version 1. ABI.md draws this layout and argues its memory ordering; a change
// here without a new version breaks writers in other languages.
const (
	// Version is the ABI spoken by this package.
	Version = 1
	// magic is "SKEWGATE" read as a little-endian word. It is stored last by Format*,
	// so a segment that carries it is completely laid out.
	magic = 0x4554414757454B53
)

// Segment kinds, at offKind.
const (
	kindDetection = 1
	kindFrame     = 2
	kindDispatch  = 3
	kindDoorbell  = 4
	kindOutput    = 5 // a detection ring written by the appliance itself
)

// Identity: constant once formatted.
const (
	offMagic        = 0   // u64
	offVersion      = 8   // u32
	offKind         = 12  // u32
	offSegmentBytes = 16  // u64
	offSlotsAt      = 24  // u32 offset of slot 0
	offSlots        = 28  // u32 number of slots
	offSlotBytes    = 32  // u32 distance of two slots
	offPayloadBytes = 36  // u32 largest body; pixels of a frame ring
	offHotAt        = 40  // u32 offset of the hot words
	offIndex        = 44  // u32 stagger index, 0…31
	offTableAt      = 48  // u32 offset of the stream table, 0 = none
	offTableEntries = 52  // u32
	offEntryBytes   = 56  // u32
	offPixelsAt     = 64  // u64 offset of the first picture, frame rings only
	offPixelsStride = 72  // u64 distance of two pictures
	offModel        = 256 // 64 bytes, zero padded
	offUnit         = 320
	offCamera       = 384
	offReplica      = 448 // u32
	offModelHash    = 452 // u32 low half of FNV-1a 64 of the model's name
)

// Writer's cold words: stored by the ring's current writer.
const (
	offGeneration  = 128 // u64
	offRingEpoch   = 136 // u32 raised by each new writer
	offPID         = 140 // u32
	offStreamCount = 144 // u32 entries of the stream table in use
	offStreamEpoch = 148 // u32 frame rings: epoch of the pictures now written
)

// Hot words: four blocks of two cache lines each, at offHotAt. The adjacent-line
// prefetcher pulls lines in pairs, hence 128 bytes and not 64.
const (
	hotBlock     = 128
	hotHead      = 0            // u64 head; dispatch: enq; doorbell: bell (u32)
	hotWork      = 1 * hotBlock // taken, done, outcomes (u64 each); dispatch: allowed (u64)
	hotSleep     = 2 * hotBlock // u32 sleep flag; dispatch: bell (u32)
	hotState     = 3 * hotBlock // u32 state
	hotHeartbeat = hotState + 8 // i64

	// Heads at the same page offset share one L1 set: 64 rings polled in 62 ns, but in
	// 27 ns when ring i's words lie i·128 bytes into the page. 32 steps fill a page.
	hotAt     = 4096
	hotSteps  = 4096 / hotBlock
	hotBytes  = 8192
	pageBytes = 4096
)

// Stream table of a detection ring.
const (
	// MaxStreams bounds the (unit, camera) pairs one detector can publish for.
	MaxStreams = 64
	// MaxName is the longest model, unit or camera name, in bytes. Fields hold one
	// more, so that a name always ends in a zero for C.
	MaxName    = 63
	nameBytes  = 64
	tableAt    = hotAt + hotBytes
	entryBytes = 256

	entryUnit   = 0
	entryCamera = 64
	entryHash   = 128 // u64
	entryEpoch  = 136 // u32 latest stream_epoch; a slot carries its own
)

// Slot sizes, and bounds that a header must keep.
const (
	slotHeaderBytes  = 64
	frameSlotBytes   = 128
	assignmentBytes  = 64
	ringSlotsAt      = tableAt + MaxStreams*entryBytes
	frameSlotsAt     = hotAt + hotBytes
	dispatchSlotsAt  = hotAt + hotBytes
	maxSlots         = 1 << 20
	maxPayloadBytes  = 1 << 24
	maxFrameSlots    = 1024
	maxPixelBytes    = 1 << 30
	maxDispatchSlots = 1 << 16
	// maxSequence leaves room so that no sum of a sequence and a slot count overflows.
	// At 100 million messages a second it lasts for 1,400 years.
	maxSequence = 1 << 62
)

// Checked when this compiles: shared words stay aligned, the last stagger step fits.
var (
	_ [0]byte = [ringSlotsAt % 64]byte{}
	_ [0]byte = [frameSlotsAt % 128]byte{}
	_ [0]byte = [entryBytes % 8]byte{}
	_ [hotBytes - (hotSteps-1)*hotBlock - hotHeartbeat - 8]byte
	_ [hotBlock - 16 - 8*int(NumOutcomes)]byte
)

func alignUp(n, to int) int { return (n + to - 1) / to * to }
