package shm

import (
	"errors"
	"fmt"
	"testing"
)

func TestStreams(t *testing.T) {
	w, r, _ := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	i, err := w.RegisterStream("box-7", "Tür ✓", 3)
	if err != nil || i != 1 {
		t.Fatalf("want stream 1, got %d, %v", i, err)
	}
	if i, err = w.RegisterStream("box-7", "road", 9); err != nil || i != 0 {
		t.Fatalf("want stream 0 again, got %d, %v", i, err)
	}
	for i, want := range []StreamInfo{
		{"box-7", "road", 9, streamHash("box-7", "road")},
		{"box-7", "Tür ✓", 3, streamHash("box-7", "Tür ✓")},
	} {
		if got, ok := r.Stream(uint32(i)); !ok || got != want {
			t.Errorf("stream %d: want %+v, got %+v, %v", i, want, got, ok)
		}
	}
	if _, ok := r.Stream(2); ok {
		t.Error("stream 2 exists")
	}
	// An epoch raised later shows, although names are cached.
	if _, err := w.RegisterStream("box-7", "road", 10); err != nil {
		t.Fatal(err)
	}
	if got, _ := r.Stream(0); got.Epoch != 10 {
		t.Errorf("want epoch 10, got %d", got.Epoch)
	}
}

func TestStreamTableFull(t *testing.T) {
	w, r, b := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	for i := 1; i < MaxStreams; i++ {
		if _, err := w.RegisterStream("u", fmt.Sprint("c", i), 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.RegisterStream("u", "one more", 1); !errors.Is(err, ErrStream) {
		t.Fatalf("want ErrStream, got %v", err)
	}
	if err := w.Publish(&SlotHeader{Kind: KindBoxes, Stream: MaxStreams - 1}, nil); err != nil {
		t.Fatal(err)
	}
	var h SlotHeader
	if _, ok, err := r.Next(&h, nil); !ok || err != nil || h.Stream != MaxStreams-1 {
		t.Fatalf("got %+v, %v, %v", h, ok, err)
	}
	w, err := NewWriter(b, 43, nil)
	if err != nil {
		t.Fatal(err)
	}
	if i, err := w.RegisterStream("u", "c63", 2); err != nil || i != 63 {
		t.Fatalf("after a restart: want stream 63, got %d, %v", i, err)
	}
}

func TestStreamNames(t *testing.T) {
	w, _, _ := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	for _, pair := range [][2]string{{"", "c"}, {"u", ""}, {"u", "a\x00b"}, {"u\x7f", "c"}, {"u", string(make([]byte, 64))}} {
		if _, err := w.RegisterStream(pair[0], pair[1], 1); err == nil {
			t.Errorf("%q accepted", pair)
		}
	}
}

// Unit and camera are kept apart in the hash, and the epoch goes on from it.
func TestStreamHash(t *testing.T) {
	if streamHash("ab", "c") == streamHash("a", "bc") {
		t.Error("ab/c and a/bc share a hash")
	}
	if got, want := EpochHash(streamHash("u", "c"), 0x01020304), fnv(fnvOffset, "u\x00c\x00\x04\x03\x02\x01"); got != want {
		t.Errorf("want %#x, got %#x", want, got)
	}
	if got, want := fnv(fnvOffset, "foobar"), uint64(0x85944171f73967e8); got != want { // FNV's published vector
		t.Errorf("want %#x, got %#x", want, got)
	}
}
