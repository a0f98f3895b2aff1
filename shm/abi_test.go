package shm

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// The numbers below are those of ABI.md, not this package's constants: who changes one
// by accident breaks writers in other languages, and this test.

type field struct {
	off  int
	want string // hex
}

func wantBytes(t *testing.T, b []byte, fields []field) {
	t.Helper()
	for _, f := range fields {
		want, err := hex.DecodeString(f.want)
		if err != nil {
			t.Fatal(err)
		}
		if got := b[f.off : f.off+len(want)]; !bytes.Equal(got, want) {
			t.Errorf("offset %d: want %s, got %x", f.off, f.want, got)
		}
	}
}

func TestABIDetectionRing(t *testing.T) {
	c := RingConfig{Slots: 4, PayloadBytes: 100, Model: "people", Replica: 7, Generation: 0x1122, Index: 34}
	if c.Bytes() != 32768 {
		t.Fatalf("want 32768 bytes, got %d", c.Bytes())
	}
	b := make([]byte, c.Bytes())
	if err := FormatRing(b, c); err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(b, 0x0a0b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.RegisterStream("u1", "gate", 5); err != nil {
		t.Fatal(err)
	}
	w.SetState(StateReady)
	w.Heartbeat(0x77)
	w.SetTaken(9)
	w.SetDone(8, OutcomeLapped)
	w.own.sleep.Store(1)
	h := SlotHeader{CaptureNS: RawCapture, PublishNS: 2, FrameID: 3, Tag: 4, Stream: 0, StreamEpoch: 5, Kind: KindProgress, Count: 0x0607, Flags: 9}
	if err := w.Publish(&h, []byte("body")); err != nil {
		t.Fatal(err)
	}
	const hot = 4096 + 2*128 // index 34 mod 32
	wantBytes(t, b, []field{
		{0, "534b455747415445" + "01000000" + "01000000" + "0080000000000000"},
		{24, "00700000" + "04000000" + "c0000000" + "64000000" + "00110000" + "02000000"},
		{48, "00300000" + "40000000" + "00010000" + "00000000" + "0000000000000000" + "0000000000000000"},
		{128, "2211000000000000" + "01000000" + "0b0a0000" + "01000000" + "00000000"},
		{256, "70656f706c6500"},
		{448, "07000000" + "0e93d418"},
		{hot, "0100000000000000"},
		{hot + 128, "0900000000000000" + "0800000000000000" + "0000000000000000" + "0000000000000000" + "0100000000000000" + "0000000000000000" + "0000000000000000"},
		{hot + 256, "01000000"},
		{hot + 384, "03000000" + "00000000" + "7700000000000000"},
		{12288, "753100"}, {12288 + 64, "6761746500"}, {12288 + 136, "05000000"},
		{28672 + 192, "0100000000000000" + "0000000000000080" + "0200000000000000" + "0300000000000000" + "0400000000000000" +
			"00000000" + "05000000" + "04000000" + "0706" + "03" + "09" + "0000000000000000" + "626f6479"},
	})
}

func TestABIFrameRing(t *testing.T) {
	c := FrameRingConfig{Slots: 3, PixelBytes: 5000, Unit: "u1", Camera: "gate", Index: 1}
	if c.Bytes() != 40960 {
		t.Fatalf("want 40960 bytes, got %d", c.Bytes())
	}
	b := make([]byte, c.Bytes())
	if err := FormatFrameRing(b, c); err != nil {
		t.Fatal(err)
	}
	w, err := NewFrameWriter(b, 6, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.NextStreamEpoch()
	pixels, err := w.Begin(6)
	if err != nil {
		t.Fatal(err)
	}
	copy(pixels, "rgbrgb")
	m := FrameMeta{CaptureNS: 1, PublishNS: 2, FrameID: 3, Tag: 4, StreamEpoch: 1, Width: 2, Height: 1, Format: FormatRGB24, ClockSource: ClockMonotonic, Flags: 8}
	if _, err := w.Publish(&m); err != nil {
		t.Fatal(err)
	}
	wantBytes(t, b, []field{
		{0, "534b455747415445" + "01000000" + "02000000" + "00a0000000000000"},
		{24, "00300000" + "03000000" + "80000000" + "88130000" + "80100000" + "01000000"},
		{48, "00000000" + "00000000" + "00000000" + "00000000" + "0040000000000000" + "0020000000000000"},
		{136, "01000000" + "06000000" + "00000000" + "01000000"},
		{320, "753100"}, {384, "6761746500"},
		{4096 + 128, "0100000000000000"},
		{12288 + 128, "0100000000000000" + "0100000000000000" + "0200000000000000" + "0300000000000000" + "0400000000000000" +
			"01000000" + "02000000" + "02000000" + "01000000" + "06000000" + "03000000" + "08000000"},
		{16384 + 8192, "726762726762"},
	})
}

func TestABIDispatchAndDoorbell(t *testing.T) {
	b := make([]byte, 16384)
	if DispatchBytes(3) != 16384 {
		t.Fatalf("want 16384 bytes, got %d", DispatchBytes(3))
	}
	if err := FormatDispatch(b, 3); err != nil {
		t.Fatal(err)
	}
	w, err := NewDispatchWriter(b)
	if err != nil {
		t.Fatal(err)
	}
	a := Assignment{FrameSeq: 2, FrameID: 3, CaptureNS: 4, EnqueuedNS: 5, DeadlineNS: 6, Generation: 7, Camera: 8, StreamEpoch: 9}
	if err := w.Enqueue(&a); err != nil {
		t.Fatal(err)
	}
	w.SetAllowed(10)
	wantBytes(t, b, []field{
		{0, "534b455747415445" + "01000000" + "03000000" + "0040000000000000" + "00300000" + "03000000" + "40000000" + "00000000" + "00100000"},
		{4096, "0100000000000000"}, {4096 + 128, "0a00000000000000"}, {4096 + 256, "02000000"},
		{12288 + 64, "0100000000000000" + "0200000000000000" + "0300000000000000" + "0400000000000000" + "0500000000000000" +
			"0600000000000000" + "0700000000000000" + "08000000" + "09000000"},
	})
	bell := make([]byte, 12288)
	if err := FormatDoorbell(bell); err != nil {
		t.Fatal(err)
	}
	d, err := NewDoorbell(bell)
	if err != nil {
		t.Fatal(err)
	}
	d.sleep.Store(1)
	d.Ring()
	wantBytes(t, bell, []field{
		{0, "534b455747415445" + "01000000" + "04000000" + "0030000000000000"},
		{4096, "01000000"}, {4096 + 256, "01000000"},
	})
}

func TestABIOutputRing(t *testing.T) {
	c := RingConfig{Slots: 4, PayloadBytes: 100, Model: "fused"}
	b := make([]byte, c.Bytes())
	if err := FormatOutputRing(b, c); err != nil {
		t.Fatal(err)
	}
	wantBytes(t, b, []field{{8, "01000000" + "05000000"}})
	w, err := NewWriter(b, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.RegisterStream("u", "c", 1); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Publish(&SlotHeader{Kind: KindFused}, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, r); got != "x" {
		t.Fatalf("want x, got %q", got)
	}
}
