package shm

import (
	"bytes"
	"errors"
	"math"
	"os"
	"runtime"
	"strconv"
	"testing"
)

func testFrames(t testing.TB, slots, pixels int) (*FrameWriter, *FrameReader, []byte) {
	t.Helper()
	c := FrameRingConfig{Slots: slots, PixelBytes: pixels, Unit: "box-7", Camera: "road", Index: 3}
	b := make([]byte, c.Bytes())
	if err := FormatFrameRing(b, c); err != nil {
		t.Fatal(err)
	}
	w, err := NewFrameWriter(b, 42, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewFrameReader(b)
	if err != nil {
		t.Fatal(err)
	}
	return w, r, b
}

// picture publishes an RGB picture of w by 1 whose every byte is fill.
func picture(t testing.TB, fw *FrameWriter, width uint32, fill byte) uint64 {
	t.Helper()
	pixels, err := fw.Begin(int(3 * width))
	if err != nil {
		t.Fatal(err)
	}
	for i := range pixels {
		pixels[i] = fill
	}
	seq, err := fw.Publish(&FrameMeta{Width: width, Height: 1, Format: FormatRGB24, FrameID: uint64(fill), StreamEpoch: fw.StreamEpoch()})
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func TestFrameInPlace(t *testing.T) {
	w, r, b := testFrames(t, 3, 300)
	if r.Head() != 0 || r.Oldest() != 0 {
		t.Fatalf("want nothing, got head %d", r.Head())
	}
	if _, _, ok := r.View(0); ok {
		t.Fatal("picture 0 exists")
	}
	pixels, err := w.Begin(6 * 4 * 3 / 2)
	if err != nil || len(pixels) != 36 || cap(pixels) != 36 {
		t.Fatalf("want 36 bytes, got %d of %d, %v", len(pixels), cap(pixels), err)
	}
	for i := range pixels {
		pixels[i] = byte(i)
	}
	in := FrameMeta{CaptureNS: -1, PublishNS: 2, FrameID: 3, Tag: 4, StreamEpoch: 5, Width: 6, Height: 4, Format: FormatI420, ClockSource: ClockFile, Flags: 7}
	seq, err := w.Publish(&in)
	if err != nil || seq != 1 || in.Seq != 1 || in.Length != 36 {
		t.Fatalf("want picture 1 of 36 bytes, got %+v, %v", in, err)
	}
	if r.Head() != 1 {
		t.Fatalf("want head 1, got %d", r.Head())
	}
	got, view, ok := r.View(1)
	if !ok || got != in || !bytes.Equal(view, pixels) {
		t.Fatalf("want %+v, got %+v, %v", in, got, ok)
	}
	if &view[0] != &pixels[0] || &view[0] != &b[int(1)*4096+frameSlotsAt+4096] {
		t.Error("pixels were copied, or are not on their page")
	}
	if !r.Valid(1) || r.Valid(2) || r.Valid(0) {
		t.Error("want picture 1 and no other to be valid")
	}
}

func TestFrameLapped(t *testing.T) {
	w, r, _ := testFrames(t, 3, 30)
	first := picture(t, w, 10, 1)
	r.Head()
	_, view, ok := r.View(first)
	if !ok {
		t.Fatal("no picture")
	}
	picture(t, w, 10, 2)
	picture(t, w, 10, 3)
	if !r.Valid(first) {
		t.Fatal("lapped too early: the ring holds three")
	}
	if _, err := w.Begin(30); err != nil { // takes the first one's slot
		t.Fatal(err)
	}
	if r.Valid(first) {
		t.Fatalf("pixels %v are being overwritten and still valid", view)
	}
	if _, ok := r.Meta(first); ok {
		t.Fatal("a picture being overwritten was returned")
	}
	w.Abort()
	if r.Head() != 3 || r.Oldest() != 1 {
		t.Fatalf("want 1…3, got %d…%d", r.Oldest(), r.Head())
	}
	if seq := picture(t, w, 5, 4); seq != 4 {
		t.Fatalf("want picture 4 after an abort, got %d", seq)
	}
	for seq := range uint64(6) {
		m, pixels, ok := r.View(seq)
		if want := seq >= 2 && seq <= 4; ok != want {
			t.Fatalf("picture %d: want %v, got %v", seq, want, ok)
		}
		if ok && (m.FrameID != seq || pixels[0] != byte(seq)) {
			t.Fatalf("picture %d is %+v with %v", seq, m, pixels)
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
}

func TestFrameVerbsPair(t *testing.T) {
	w, _, _ := testFrames(t, 2, 30)
	if _, err := w.Publish(&FrameMeta{Width: 1, Height: 1, Format: FormatRGB24}); !errors.Is(err, ErrOrder) {
		t.Errorf("publish without begin: want ErrOrder, got %v", err)
	}
	for _, n := range []int{31, 0, -1} {
		if _, err := w.Begin(n); !errors.Is(err, ErrTooLarge) {
			t.Errorf("begin %d: want ErrTooLarge, got %v", n, err)
		}
	}
	if _, err := w.Begin(30); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Begin(30); !errors.Is(err, ErrOrder) {
		t.Errorf("begin twice: want ErrOrder, got %v", err)
	}
	for _, m := range []FrameMeta{
		{Width: 9, Height: 1, Format: FormatRGB24}, {Width: 10, Height: 1, Format: 3},
		{Width: 0, Height: 1, Format: FormatRGB24}, {Width: math.MaxUint32, Height: 1, Format: FormatRGB24},
	} {
		if _, err := w.Publish(&m); err == nil {
			t.Errorf("published %+v in 30 bytes", m)
		}
	}
	if seq, err := w.Publish(&FrameMeta{Width: 10, Height: 1, Format: FormatRGB24}); seq != 1 || err != nil {
		t.Errorf("want picture 1 after all, got %d, %v", seq, err)
	}
}

func TestFrameBytes(t *testing.T) {
	for _, tc := range []struct {
		format, w, h uint32
		want         int
		ok           bool
	}{
		{FormatI420, 4, 2, 12, true}, {FormatI420, 3, 3, 17, true}, {FormatI420, 1, 1, 3, true},
		{FormatRGB24, 3, 3, 27, true}, {FormatRGB24, 16384, 16384, 3 << 28, true},
		{FormatRGB24, 16385, 1, 0, false}, {FormatRGB24, 1, 0, 0, false}, {0, 1, 1, 0, false}, {3, 1, 1, 0, false},
	} {
		if got, ok := FrameBytes(tc.format, tc.w, tc.h); got != tc.want || ok != tc.ok {
			t.Errorf("%+v: got %d, %v", tc, got, ok)
		}
	}
}

func TestFrameWriterRestart(t *testing.T) {
	w, r, b := testFrames(t, 3, 30)
	if a, b := w.NextStreamEpoch(), w.NextStreamEpoch(); a != 1 || b != 2 {
		t.Fatalf("want stream_epoch 1, 2, got %d, %d", a, b)
	}
	picture(t, w, 10, 1)
	// Killed between the sequence and head: picture 2 was never there.
	if _, err := w.Begin(30); err != nil {
		t.Fatal(err)
	}
	header, _ := w.slot(2)
	(&FrameMeta{Width: 10, Height: 1, Format: FormatRGB24, Length: 30, FrameID: 99}).put(header)
	word64(header, frameSequence).Store(2)
	if _, ok := r.Meta(2); ok {
		t.Fatal("a picture beyond head was returned")
	}
	w2, err := NewFrameWriter(b, 43, nil)
	if err != nil {
		t.Fatal(err)
	}
	w2.SetState(StateReady)
	w2.Heartbeat(5)
	if w2.StreamEpoch() != 2 || w2.NextStreamEpoch() != 3 {
		t.Fatalf("want stream_epoch to go on at 2, 3")
	}
	if seq := picture(t, w2, 10, 2); seq != 2 {
		t.Fatalf("want picture 2, got %d", seq)
	}
	if m, ok := r.Meta(2); !ok || m.FrameID != 2 {
		t.Fatalf("want the successor's picture 2, got %+v, %v", m, ok)
	}
	want := FrameRingInfo{Unit: "box-7", Camera: "road", Slots: 3, PixelBytes: 30, PID: 43, RingEpoch: 2, StreamEpoch: 3, State: StateReady, HeartbeatNS: 5, Head: 2}
	if got := r.Info(); got != want {
		t.Fatalf("want %+v, got %+v", want, got)
	}
}

func TestHostileFrames(t *testing.T) {
	slot := func(seq int) int { return frameSlotsAt + seq%3*frameSlotBytes }
	head := hotAt + 3*hotBlock
	for _, tc := range []struct {
		name  string
		off   int
		value uint32
		want  Reason // "" = only not there
	}{
		{"head is huge", head + 4, math.MaxUint32, ReasonHead},
		{"head runs backwards", head, 1, ReasonHeadBackwards},
		{"length beyond the slot", slot(2) + frameLength, 31, ReasonPicture},
		{"length is huge", slot(2) + frameLength, math.MaxUint32, ReasonPicture},
		{"width is huge", slot(2) + frameWidth, math.MaxUint32, ReasonPicture},
		{"height is not what length says", slot(2) + frameHeight, 2, ReasonPicture},
		{"format unknown", slot(2) + frameFormat, 9, ReasonPicture},
		{"sequence of another", slot(2) + frameSequence, 5, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, r, b := testFrames(t, 3, 30)
			picture(t, w, 10, 1)
			picture(t, w, 10, 2)
			r.Head()
			word32(b, tc.off).Store(tc.value)
			r.Head()
			if _, _, ok := r.View(2); ok {
				t.Fatal("accepted")
			}
			if tc.want == "" {
				if r.Err() != nil {
					t.Fatal(r.Err())
				}
				return
			}
			wantReason(t, r.Err(), tc.want)
			if r.Head() != 2 {
				t.Errorf("want head to stay 2, got %d", r.Head())
			}
		})
	}
	// Consistent, but larger than the slot.
	w, r, b := testFrames(t, 3, 30)
	picture(t, w, 10, 1)
	(&FrameMeta{Width: 100, Height: 1, Format: FormatRGB24, Length: 300}).put(b[slot(1):])
	if _, _, ok := r.View(1); ok {
		t.Fatal("a picture of 300 bytes in slots of 30 was accepted")
	}
	wantReason(t, r.Err(), ReasonPicture)
}

func TestFrameNoAllocations(t *testing.T) {
	w, r, _ := testFrames(t, 3, 30)
	m := FrameMeta{Width: 10, Height: 1, Format: FormatRGB24}
	n := testing.AllocsPerRun(100, func() {
		if _, err := w.Begin(30); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Publish(&m); err != nil {
			t.Fatal(err)
		}
		if _, _, ok := r.View(r.Head()); !ok || !r.Valid(r.Head()) {
			t.Fatal("no picture")
		}
	})
	if n != 0 {
		t.Fatalf("want 0 allocations, got %v", n)
	}
}

const filmPixels = 3 * 4096

// filmRole publishes n pictures, each filled with its sequence.
func filmRole(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	b, err := mapFD(3, true)
	if err != nil {
		return err
	}
	w, err := NewFrameWriter(b, uint32(os.Getpid()), nil)
	if err != nil {
		return err
	}
	m := FrameMeta{Width: 4096, Height: 1, Format: FormatRGB24}
	for i := range n {
		pixels, err := w.Begin(filmPixels)
		if err != nil {
			return err
		}
		for j := 0; j < len(pixels); j += 8 {
			le.PutUint64(pixels[j:], uint64(i+1))
		}
		m.FrameID = uint64(i + 1)
		if _, err := w.Publish(&m); err != nil {
			return err
		}
	}
	return nil
}

// A picture found valid after use was that picture throughout, however fast the other
// process goes round the ring; and being lapped does happen here.
func TestFramesAcrossProcesses(t *testing.T) {
	n := count(t, "SHM_TEST_MESSAGES", 100_000)
	c := FrameRingConfig{Slots: 2, PixelBytes: filmPixels, Unit: "u", Camera: "c"}
	s := newSegment(t, c.Bytes(), func(b []byte) error { return FormatFrameRing(b, c) })
	r, err := NewFrameReader(readOnly(t, s))
	if err != nil {
		t.Fatal(err)
	}
	cmd := spawn(t, "film", []*os.File{s.File()}, strconv.Itoa(n))
	used, lapped := 0, 0
	eventually(t, "the last picture", func() bool {
		head := r.Head()
		m, pixels, ok := r.View(head)
		if !ok {
			if r.Err() != nil {
				t.Fatal(r.Err())
			}
			runtime.Gosched()
			return false
		}
		foreign := 0
		for j := 0; j < len(pixels); j += 8 {
			if le.Uint64(pixels[j:]) != head {
				foreign++
			}
		}
		if !r.Valid(head) {
			lapped++
			return false
		}
		used++
		if foreign != 0 || m.FrameID != head {
			t.Fatalf("picture %d was valid with %d foreign words, %+v", head, foreign, m)
		}
		return head == uint64(n)
	})
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pictures, %d used, %d lapped while in use", n, used, lapped)
}
