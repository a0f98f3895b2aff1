package shm

import (
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hexOf is a body as the driver wants and prints it.
func hexOf(b []byte) string {
	if len(b) == 0 {
		return "-"
	}
	return hex.EncodeToString(b)
}

// cLine is a message as the driver prints it.
func cLine(h *SlotHeader, body []byte) string {
	return fmt.Sprintf("1 %d %d %d %d %d %d %d %d %d %d %d %s", h.Sequence, h.CaptureNS, h.PublishNS, h.FrameID, h.Tag,
		h.Stream, h.StreamEpoch, h.Length, h.Count, h.Kind, h.Flags, hexOf(body))
}

// cMessages has every kind of message, and the edges of every number.
var cMessages = []struct {
	name string
	h    SlotHeader
	text string // capture time as text
	body []byte
}{
	{"boxes", SlotHeader{Kind: KindBoxes, CaptureNS: 1, PublishNS: 2, FrameID: 3, Tag: 4, StreamEpoch: 5, Count: 2}, "", make([]byte, 48)},
	{"no boxes", SlotHeader{Kind: KindBoxes, CaptureNS: 9, FrameID: 4}, "", nil},
	{"JSON", SlotHeader{Kind: KindJSON, CaptureNS: -1, Stream: 1}, "", []byte(`{"detections":[]}`)},
	{"JSON without text", SlotHeader{Kind: KindJSON}, "", nil},
	{"progress", SlotHeader{Kind: KindProgress, CaptureNS: 77}, "", nil},
	{"largest numbers", SlotHeader{Kind: KindFused, CaptureNS: math.MaxInt64, PublishNS: math.MinInt64, FrameID: math.MaxUint64,
		Tag: math.MaxUint64, Stream: 1, StreamEpoch: math.MaxUint32, Count: math.MaxUint16, Flags: math.MaxUint8}, "", []byte{1}},
	{"full slot", SlotHeader{Kind: KindBoxes}, "", []byte(strings.Repeat("x", 256))},
	{"text", SlotHeader{Kind: KindBoxes, CaptureNS: RawCapture, Count: 1}, "12:00 noon", make([]byte, 24)},
	{"empty text", SlotHeader{Kind: KindJSON, CaptureNS: RawCapture}, "", []byte("{}")},
}

func cRing(t *testing.T) *Segment {
	c := RingConfig{Slots: 4, PayloadBytes: 256, Model: "mine", Replica: 2, Generation: 11, Index: 3}
	return newSegment(t, c.Bytes(), func(b []byte) error { return FormatRing(b, c) })
}

func testCWrites(t *testing.T, c *cBuild) {
	s := cRing(t)
	r, err := NewReader(readOnly(t, s))
	if err != nil {
		t.Fatal(err)
	}
	d := c.drive(t, s.File())
	d.want("0", "map 3 rw 0")
	d.want("0", "writer 0 4711 0")
	d.want("0", "stream u gate 1")
	d.want("1", "stream u über 7")
	d.want("0", "stream u gate 2")
	body := make([]byte, 256)
	for i, m := range cMessages {
		words := fmt.Sprintf("%d %d %d %d %d %d %d %d %d", m.h.Kind, m.h.Stream, m.h.StreamEpoch, m.h.CaptureNS, m.h.PublishNS, m.h.FrameID, m.h.Tag, m.h.Count, m.h.Flags)
		want := m.body
		if m.h.CaptureNS == RawCapture {
			d.want(fmt.Sprint(i+1), "publish-text %s %s %s", words, hexOf([]byte(m.text)), hexOf(m.body))
			if want, err = AppendRaw(nil, m.text, m.body); err != nil {
				t.Fatal(err)
			}
		} else {
			d.want(fmt.Sprint(i+1), "publish %s %s", words, hexOf(m.body))
		}
		var h SlotHeader
		n, ok, err := r.Next(&h, body)
		if err != nil || !ok {
			t.Fatalf("%s: ok=%v err=%v", m.name, ok, err)
		}
		wantHeader := m.h
		wantHeader.Sequence, wantHeader.Length = uint64(i+1), uint32(len(want))
		if h != wantHeader || string(body[:n]) != string(want) {
			t.Errorf("%s: want %+v %q, got %+v %q", m.name, wantHeader, want, h, body[:n])
		}
	}
	d.wantError(-2, "-", "257 bytes into slots of 256", "publish 1 0 1 0 0 0 0 0 0 %s", strings.Repeat("00", 257))
	d.wantError(-3, "-", "register it first", "publish 1 2 1 0 0 0 0 0 0 -")
	d.wantError(-1, "-", "kind 5", "publish 5 0 1 0 0 0 0 0 0 -")
	d.want("0", "state 3")
	d.want("0", "heartbeat 123456789")
	d.want("0", "generation 12")
	want := RingInfo{Model: "mine", Replica: 2, Slots: 4, PayloadBytes: 256, Generation: 12, PID: 4711, RingEpoch: 1,
		State: StateReady, HeartbeatNS: 123456789, Head: uint64(len(cMessages)), Streams: 2}
	if got := r.Info(); got != want {
		t.Errorf("want %+v, got %+v", want, got)
	}
	if s, ok := r.Stream(1); !ok || s.Camera != "über" || s.Epoch != 7 {
		t.Errorf("stream 1: %+v, %v", s, ok)
	}
	if s, ok := r.Stream(0); !ok || s.Camera != "gate" || s.Epoch != 2 {
		t.Errorf("stream 0: %+v, %v", s, ok)
	}
	// A message begun and forgotten costs the one it would have overwritten, no more.
	d.want("0", "begin 0 256")
	if _, ok, err := r.Next(&SlotHeader{}, body); ok || err != nil {
		t.Errorf("begun message was read: ok=%v err=%v", ok, err)
	}
	d.end()
}

func testCReads(t *testing.T, c *cBuild) {
	s := cRing(t)
	w, err := NewWriter(s.Bytes(), 99, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.OpenReadOnly()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := c.drive(t, f, f)
	d.wantError(-6, "-", "map segment", "map 3 rw 0") // read-only is read-only
	d.want("0", "map 4 ro 0")
	d.want("0", "reader 0")
	d.wantError(-3, "-", "stream 0 of 0", "stream-info 0")
	for i, camera := range []string{"gate", "über"} {
		if _, err := w.RegisterStream("u", camera, uint32(i+4)); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range cMessages {
		body := m.body
		if m.h.CaptureNS == RawCapture {
			if body, err = AppendRaw(nil, m.text, m.body); err != nil {
				t.Fatal(err)
			}
		}
		h := m.h
		if err := w.Publish(&h, body); err != nil {
			t.Fatal(err)
		}
		d.want(cLine(&h, body), "next 256")
	}
	d.want("0", "next 256")
	hash := streamHash("u", "über")
	d.want(fmt.Sprintf("u über 5 %d %d", hash, EpochHash(hash, 5)), "stream-info 1")
	w.SetState(StateWarming)
	w.Heartbeat(-3)
	d.want(fmt.Sprintf("mine 2 4 256 11 99 1 2 -3 %d 2", len(cMessages)), "info")

	// Lapped: six into four slots. F27
	h := SlotHeader{Kind: KindBoxes}
	for range 6 {
		if err := w.Publish(&h, []byte("body")); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		h.Sequence = uint64(len(cMessages) + 3 + i)
		d.want(cLine(&h, []byte("bo")), "next 2") // and cut to the room there is
	}
	d.want("0", "next 2")
	n := len(cMessages)
	d.want(fmt.Sprintf("0 %d 2 %d", n+4, n+6), "counts")

	// Nonsense is named, and the ring stays quarantined.
	word64(s.Bytes(), hotAt+3*hotBlock).Store(uint64(n + 7))
	d.wantError(-4, "slot_sequence", "attach anew", "next 2")
	word64(s.Bytes(), hotAt+3*hotBlock).Store(uint64(n + 6))
	d.wantError(-4, "slot_sequence", "attach anew", "next 2")
	d.want("0", "reader 0")
	le.PutUint32(s.Bytes()[offVersion:], 2)
	d.wantError(-4, "abi_version", "ABI version 2, this library speaks 1", "reader 0") // F28
	d.end()
}

// A C writer wakes a path that sleeps on the doorbell.
func testCWakes(t *testing.T, c *cBuild) {
	s := cRing(t)
	bells := newSegment(t, DoorbellBytes(), FormatDoorbell)
	bell, err := NewDoorbell(bells.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(readOnly(t, s))
	if err != nil {
		t.Fatal(err)
	}
	d := c.drive(t, s.File(), bells.File())
	d.want("0", "map 3 rw 0")
	d.want("0", "map 4 rw 1")
	d.want("0", "doorbell 1")
	d.want("0", "writer 0 1 1")
	d.want("0", "stream u gate 1")
	for i := range 20 {
		slept := make(chan time.Duration)
		go func() {
			began := time.Now()
			if err := bell.Sleep(func() bool { return r.Pending() > 0 }, int64(time.Minute)); err != nil {
				t.Error(err)
			}
			slept <- time.Since(began)
		}()
		eventually(t, "the path to lie down", func() bool { return bell.sleep.Load() != 0 })
		time.Sleep(time.Millisecond) // most probably in the kernel by now; correct if not
		d.want(fmt.Sprint(i+1), "publish 1 0 1 0 0 0 0 0 0 -")
		if took := <-slept; took > 30*time.Second {
			t.Fatalf("publish %d did not wake the path; it slept %v", i, took)
		}
		if _, ok, err := r.Next(&SlotHeader{}, nil); !ok || err != nil {
			t.Fatalf("woken for nothing: ok=%v err=%v", ok, err)
		}
	}
	if n := bell.bell.Load(); n == 0 {
		t.Error("the bell was never rung: this test has shown nothing")
	}
	d.end()
}

// The C library refuses a file whose size could change under its mapping. F25
func testCUnsealed(t *testing.T, c *cBuild) {
	fd, err := unix.MemfdCreate("plain", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	plain := os.NewFile(uintptr(fd), "plain")
	defer plain.Close()
	if err := plain.Truncate(hotAt + hotBytes); err != nil {
		t.Fatal(err)
	}
	pipe, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	d := c.drive(t, plain, pipe)
	d.wantError(-5, "-", "need shrink, grow and seal", "map 3 ro 0")
	d.wantError(-6, "-", "it is no memfd", "map 4 ro 0")
	d.end()
}
