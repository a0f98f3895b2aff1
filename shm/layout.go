package shm

import (
	"encoding/binary"
	"fmt"
	"slices"
)

var le = binary.LittleEndian

// layout is a segment's identity block without the names. Everything in it follows
// from kind, slots, payload and index, so a header read from a peer is checked by
// working it out anew and comparing.
type layout struct {
	kind                       uint32
	slots, payloadBytes, index int

	segmentBytes, slotsAt, slotBytes, hotAt int
	tableAt                                 int // 0 = no stream table
	pixelsAt, pixelsStride                  int // frame rings only
}

// newLayout works out where everything lies, or says which bound was broken.
func newLayout(kind uint32, slots, payloadBytes, index int) (layout, error) {
	l := layout{kind: kind, slots: slots, payloadBytes: payloadBytes, index: index}
	if index < 0 || index >= hotSteps {
		return l, fmt.Errorf("stagger index %d out of range 0…%d", index, hotSteps-1)
	}
	l.hotAt = hotAt + index*hotBlock
	switch kind {
	case kindDetection, kindOutput:
		if err := inRange("slots", slots, 2, maxSlots); err != nil {
			return l, err
		}
		if slots&(slots-1) != 0 {
			return l, fmt.Errorf("slots %d is not a power of two", slots)
		}
		if err := inRange("payload bytes", payloadBytes, 1, maxPayloadBytes); err != nil {
			return l, err
		}
		l.tableAt = tableAt
		l.slotsAt, l.slotBytes = ringSlotsAt, alignUp(slotHeaderBytes+payloadBytes, 64)
		l.segmentBytes = alignUp(l.slotsAt+slots*l.slotBytes, pageBytes)
	case kindFrame:
		if err := inRange("slots", slots, 2, maxFrameSlots); err != nil {
			return l, err
		}
		if err := inRange("pixel bytes", payloadBytes, 1, maxPixelBytes); err != nil {
			return l, err
		}
		l.slotsAt, l.slotBytes = frameSlotsAt, frameSlotBytes
		l.pixelsAt = alignUp(l.slotsAt+slots*l.slotBytes, pageBytes)
		l.pixelsStride = alignUp(payloadBytes, pageBytes)
		l.segmentBytes = l.pixelsAt + slots*l.pixelsStride
	case kindDispatch:
		if err := inRange("slots", slots, 1, maxDispatchSlots); err != nil {
			return l, err
		}
		if payloadBytes != 0 {
			return l, fmt.Errorf("payload bytes %d, want 0", payloadBytes)
		}
		l.slotsAt, l.slotBytes = dispatchSlotsAt, assignmentBytes
		l.segmentBytes = alignUp(l.slotsAt+slots*l.slotBytes, pageBytes)
	case kindDoorbell:
		if slots != 0 || payloadBytes != 0 {
			return l, fmt.Errorf("a doorbell has no slots, header says %d of %d bytes", slots, payloadBytes)
		}
		l.segmentBytes = hotAt + hotBytes
	default:
		return l, fmt.Errorf("segment kind %d unknown", kind)
	}
	if l.segmentBytes > maxSegmentBytes {
		return l, fmt.Errorf("%d slots of %d bytes exceed %d bytes", slots, payloadBytes, int64(maxSegmentBytes))
	}
	return l, nil
}

func inRange(what string, n, low, high int) error {
	if n < low || n > high {
		return fmt.Errorf("%s %d out of range %d…%d", what, n, low, high)
	}
	return nil
}

// headerBytes is everything before the first slot: identity, words and stream table.
func (l *layout) headerBytes() int {
	if l.slotsAt == 0 {
		return l.segmentBytes
	}
	return l.slotsAt
}

// words lists every number of the identity block with its place, for both directions.
func (l *layout) words() (u32 [10][2]int, u64 [3][2]int) {
	entries, entry := 0, 0
	if l.tableAt != 0 {
		entries, entry = MaxStreams, entryBytes
	}
	return [10][2]int{
			{offKind, int(l.kind)}, {offSlotsAt, l.slotsAt}, {offSlots, l.slots},
			{offSlotBytes, l.slotBytes}, {offPayloadBytes, l.payloadBytes}, {offHotAt, l.hotAt},
			{offIndex, l.index}, {offTableAt, l.tableAt}, {offTableEntries, entries}, {offEntryBytes, entry},
		}, [3][2]int{
			{offSegmentBytes, l.segmentBytes}, {offPixelsAt, l.pixelsAt}, {offPixelsStride, l.pixelsStride},
		}
}

// format lays the segment out in b: header zeroed, identity written, names set by the
// caller through names, the magic last.
func (l *layout) format(b []byte, names func(b []byte)) error {
	if len(b) != l.segmentBytes {
		return fmt.Errorf("format segment: memory has %d bytes, layout needs %d", len(b), l.segmentBytes)
	}
	if !aligned(b) {
		return fmt.Errorf("format segment: memory is not aligned to 8 bytes")
	}
	word64(b, offMagic).Store(0)
	clear(b[:l.headerBytes()])
	for i := range l.slots {
		word64(b, l.slotsAt+i*l.slotBytes).Store(0)
	}
	u32, u64 := l.words()
	for _, w := range u32 {
		le.PutUint32(b[w[0]:], uint32(w[1]))
	}
	for _, w := range u64 {
		le.PutUint64(b[w[0]:], uint64(w[1]))
	}
	le.PutUint32(b[offVersion:], Version)
	names(b)
	word64(b, offMagic).Store(magic)
	return nil
}

// readLayout checks the header of a segment that somebody else may have written, and
// returns its layout. want names the kinds that will do.
func readLayout(b []byte, want ...uint32) (layout, error) {
	if len(b) < hotAt+hotBytes {
		return layout{}, quarantine(ReasonSize, "segment has %d bytes, a header alone needs %d", len(b), hotAt+hotBytes)
	}
	if !aligned(b) {
		return layout{}, quarantine(ReasonSize, "memory is not aligned to 8 bytes")
	}
	if m := word64(b, offMagic).Load(); m != magic {
		return layout{}, quarantine(ReasonMagic, "magic %#016x, want %#016x: not a skewgate segment", m, uint64(magic))
	}
	if v := le.Uint32(b[offVersion:]); v != Version {
		return layout{}, quarantine(ReasonVersion, "segment has ABI version %d, this program speaks %d: use one release on both sides", v, Version)
	}
	kind := le.Uint32(b[offKind:])
	if !slices.Contains(want, kind) {
		return layout{}, quarantine(ReasonKind, "segment is of kind %d, want one of %d", kind, want)
	}
	l, err := newLayout(kind, int(le.Uint32(b[offSlots:])), int(le.Uint32(b[offPayloadBytes:])), int(le.Uint32(b[offIndex:])))
	if err != nil {
		return layout{}, quarantine(ReasonLayout, "%v", err)
	}
	if len(b) != l.segmentBytes {
		return layout{}, quarantine(ReasonSize, "segment has %d bytes, its header needs %d", len(b), l.segmentBytes)
	}
	return l, l.compare(b)
}

// compare says whether the identity block in b is still the one l was read from.
func (l *layout) compare(b []byte) error {
	u32, u64 := l.words()
	for _, w := range u32 {
		if got := le.Uint32(b[w[0]:]); got != uint32(w[1]) {
			return quarantine(ReasonLayout, "word at offset %d is %d, want %d", w[0], got, w[1])
		}
	}
	for _, w := range u64 {
		if got := le.Uint64(b[w[0]:]); got != uint64(w[1]) {
			return quarantine(ReasonLayout, "word at offset %d is %d, want %d", w[0], got, w[1])
		}
	}
	return nil
}
