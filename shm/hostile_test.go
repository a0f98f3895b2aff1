package shm

import (
	"math"
	"testing"
)

// Whatever a writer puts into its memory, its reader names it and goes on living.
func TestHostileRing(t *testing.T) {
	const slots, payload = 8, 64
	slotAt := func(sequence int) int { return ringSlotsAt + sequence%slots*128 }
	set64 := func(off int, v uint64) func([]byte) { return func(b []byte) { word64(b, off).Store(v) } }
	set32 := func(off int, v uint32) func([]byte) { return func(b []byte) { word32(b, off).Store(v) } }
	for _, tc := range []struct {
		name string
		do   func(b []byte)
		want Reason
	}{
		{"head is the largest number", set64(hotAt, math.MaxUint64), ReasonHead},
		{"head beyond any ring's life", set64(hotAt, maxSequence+1), ReasonHead},
		{"head jumps over unwritten slots", set64(hotAt, 1000), ReasonSequence},
		{"head jumps to the limit", set64(hotAt, maxSequence), ReasonSequence},
		{"head one too far", set64(hotAt, 4), ReasonSequence},
		{"head runs backwards", set64(hotAt, 0), ReasonHeadBackwards},
		{"slot invalidated but not overwritten", set64(slotAt(2), 0), ReasonSequence},
		{"slot of another lap", set64(slotAt(2), 2+slots), ReasonSequence},
		{"slot sequence is the largest number", set64(slotAt(2), math.MaxUint64), ReasonSequence},
		{"length beyond the slot", set32(slotAt(2)+slotLengthEtc, payload+1), ReasonLength},
		{"length is the largest number", set32(slotAt(2)+slotLengthEtc, math.MaxUint32), ReasonLength},
		{"kind 0", set32(slotAt(2)+slotLengthEtc+4, 0), ReasonMessageKind},
		{"kind 200", set32(slotAt(2)+slotLengthEtc+4, 200<<16), ReasonMessageKind},
		{"stream out of range", set32(slotAt(2)+slotStream, 1), ReasonStream},
		{"stream is the largest number", set32(slotAt(2)+slotStream, math.MaxUint32), ReasonStream},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, r, b := testRing(t, RingConfig{Slots: slots, PayloadBytes: payload})
			publish(t, w, "one")
			if got := read(t, r); got != "one" {
				t.Fatal(got)
			}
			publish(t, w, "two")
			publish(t, w, "three")
			tc.do(b)
			var h SlotHeader
			body := make([]byte, 4*payload) // more than a slot holds
			var err error
			for try := 0; err == nil; try++ {
				if try > 2*slots {
					t.Fatal("no verdict after two laps")
				}
				_, _, err = r.Next(&h, body)
			}
			wantReason(t, err, tc.want)
			if _, _, again := r.Next(&h, body); again != err || r.Err() != err || r.Pending() != 0 {
				t.Fatalf("want the ring to stay quarantined, got %v, %d pending", again, r.Pending())
			}
		})
	}
}

// A header that was wrong from the start is refused at attach, by both ends. F28
func TestHostileHeader(t *testing.T) {
	for _, tc := range []struct {
		name       string
		off        int
		value      uint32
		want       Reason
		readerOnly bool
	}{
		{"magic", offMagic, 0, ReasonMagic, false},
		{"older version", offVersion, 0, ReasonVersion, false},
		{"newer version", offVersion, 2, ReasonVersion, false},
		{"frame ring", offKind, kindFrame, ReasonKind, false},
		{"kind unknown", offKind, 77, ReasonKind, false},
		{"segment too small", offSegmentBytes, 4096, ReasonLayout, false},
		{"no slots", offSlots, 0, ReasonLayout, false},
		{"odd slots", offSlots, 7, ReasonLayout, false},
		{"more slots than memory", offSlots, 1 << 19, ReasonSize, false},
		{"slots are the largest number", offSlots, math.MaxUint32, ReasonLayout, false},
		{"other stride", offSlotBytes, 1 << 30, ReasonLayout, false},
		{"payload beyond stride", offPayloadBytes, 4096, ReasonSize, false},
		{"payload 0", offPayloadBytes, 0, ReasonLayout, false},
		{"hot words outside", offHotAt, math.MaxUint32 - 127, ReasonLayout, false},
		{"index", offIndex, 32, ReasonLayout, false},
		{"table elsewhere", offTableAt, 64, ReasonLayout, false},
		{"more streams", offTableEntries, 65, ReasonLayout, false},
		{"entry size", offEntryBytes, 1, ReasonLayout, false},
		{"slots elsewhere", offSlotsAt, 0, ReasonLayout, false},
		{"pixels in a detection ring", offPixelsAt, 4096, ReasonLayout, false},
		{"model name empty", offModel, 0, ReasonName, true},
		{"model name control character", offModel, 0x01010101, ReasonName, true},
		{"head", hotAt + 4, math.MaxUint32, ReasonHead, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, r, b := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
			word32(b, tc.off).Store(tc.value)
			_, err := NewReader(b)
			wantReason(t, err, tc.want)
			if !tc.readerOnly {
				_, err = NewWriter(b, 1, nil)
				wantReason(t, err, tc.want)
			}
			if tc.want != ReasonHead {
				wantReason(t, r.Check(), tc.want)
			}
		})
	}
	_, err := NewReader(make([]byte, 100))
	wantReason(t, err, ReasonSize)
	_, err = NewReader(nil)
	wantReason(t, err, ReasonSize)
}

func TestIdentityChanged(t *testing.T) {
	_, r, b := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	le.PutUint32(b[offReplica:], 9)
	wantReason(t, r.Check(), ReasonIdentity)
	wantReason(t, r.Check(), ReasonIdentity)
}

func TestHostileStreamTable(t *testing.T) {
	for name, do := range map[string]func(b []byte){
		"count too large":    func(b []byte) { word32(b, offStreamCount).Store(MaxStreams + 1) },
		"name without end":   func(b []byte) { copy(b[tableAt:], "0123456789012345678901234567890123456789012345678901234567890123") },
		"name not UTF-8":     func(b []byte) { b[tableAt+entryCamera] = 0xff },
		"hash of another":    func(b []byte) { b[tableAt+entryHash]++ },
		"entry never filled": func(b []byte) { word32(b, offStreamCount).Store(2) },
	} {
		t.Run(name, func(t *testing.T) {
			_, r, b := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
			do(b)
			if _, err := NewWriter(b, 43, nil); err == nil {
				t.Error("a successor accepted it")
			}
			_, first := r.Stream(0)
			_, second := r.Stream(1)
			if first && second {
				t.Error("both entries accepted")
			}
			if _, ok := r.Stream(math.MaxUint32); ok {
				t.Error("entry 2^32−1 accepted")
			}
		})
	}
}

// Words that only inform may hold anything.
func TestHostileWords(t *testing.T) {
	_, r, b := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	for off := 128; off < 256; off += 8 {
		le.PutUint64(b[off:], math.MaxUint64)
	}
	for off := hotAt + hotBlock; off < hotAt+hotBytes; off += 8 {
		le.PutUint64(b[off:], math.MaxUint64)
	}
	info := r.Info()
	if info.State.String() != "state(4294967295)" || info.Streams != MaxStreams || info.HeartbeatNS != -1 {
		t.Errorf("got %+v, %v", info, info.State)
	}
	if _, ok := r.Stream(63); ok {
		t.Error("stream 63 accepted")
	}
	if r.Taken() != math.MaxUint64 || r.Done() != math.MaxUint64 || r.Outcomes()[OutcomeOK] != math.MaxUint64 {
		t.Error("work words are passed on as they are")
	}
}
