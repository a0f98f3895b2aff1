package shm

import (
	"errors"
	"testing"
)

// A fuzz input is a program of 4-byte steps that an evil writer, an honest writer and
// a reader take in turns over one piece of memory: opcode, argument, u16 offset.
type step struct {
	op, arg byte
	off     uint16
}

func steps(data []byte) []step {
	var list []step
	for ; len(data) >= 4 && len(list) < 400; data = data[4:] {
		list = append(list, step{data[0], data[1], le.Uint16(data[2:])})
	}
	return list
}

// scribble stores one word, chosen to be near what means something.
func (s step) scribble(b []byte, slotsAt, head int) {
	places := [...]int{0, 128, 256, hotAt, hotAt + hotBlock, tableAt, slotsAt, slotsAt}
	off := (places[s.op>>5] + int(s.off)%256*8) % (len(b) - 8) &^ 7
	values := [...]uint64{uint64(s.arg), ^uint64(s.arg), word64(b, head).Load() + uint64(s.arg) - 128, uint64(s.arg) << 32, uint64(s.arg) << 48, word64(b, off).Load() ^ 1<<(s.arg%64)}
	word64(b, off).Store(values[int(s.op>>2)%len(values)])
}

// seeds are short programs: honest, lapped, and one scribble at each kind of place.
func seeds(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 3, 0, 0, 1, 0, 0, 0, 0, 200, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0})
	for place := range byte(8) {
		for value := range byte(6) {
			f.Add([]byte{0, 3, 0, 0, 2 | value<<2 | place<<5, 0xff, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 2 | value<<2 | place<<5, 130, 16, 0, 1, 0, 0, 0, 3, 0, 0, 0})
		}
	}
}

func FuzzReader(f *testing.F) {
	seeds(f)
	c := RingConfig{Slots: 8, PayloadBytes: 64, Model: "m"}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := make([]byte, c.Bytes())
		if err := FormatRing(b, c); err != nil {
			t.Fatal(err)
		}
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
		var h SlotHeader
		body := make([]byte, 64)
		next := func() bool {
			n, ok, err := r.Next(&h, body)
			if err != nil && !errors.Is(err, ErrQuarantine) {
				t.Fatalf("error without a reason: %v", err)
			}
			if ok && (n > 64 || int(h.Length) != n || !h.Kind.valid() || h.Stream >= MaxStreams) {
				t.Fatalf("accepted %+v, n=%d", h, n)
			}
			if r.start+r.read+r.lost+1 != r.next {
				t.Fatalf("start %d + read %d + lost %d is not below %d", r.start, r.read, r.lost, r.next)
			}
			return ok
		}
		for _, s := range steps(data) {
			switch s.op & 3 {
			case 0:
				for range s.arg % 24 {
					if err := w.Publish(&SlotHeader{Kind: KindJSON}, body[:s.off%65]); err != nil {
						t.Fatal(err)
					}
				}
			case 1:
				next()
			case 2:
				s.scribble(b, ringSlotsAt, hotAt)
			case 3:
				r.Info()
				r.Stream(uint32(s.off))
				r.Stream(uint32(s.arg))
				r.Outcomes()
				if err := r.Check(); err != nil && !errors.Is(err, ErrQuarantine) {
					t.Fatalf("error without a reason: %v", err)
				}
			}
		}
		// However the memory was left, a reader comes to an end of it.
		for n := 0; next(); n++ {
			if n > c.Slots {
				t.Fatal("more messages than slots, and nobody writes")
			}
		}
		if again, err := NewReader(b); err == nil {
			again.Next(&h, body)
		}
		if again, err := NewWriter(b, 2, nil); err == nil {
			if i, err := again.RegisterStream("v", "d", 1); err == nil {
				if err := again.Publish(&SlotHeader{Kind: KindJSON, Stream: i}, body); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func FuzzFrameReader(f *testing.F) {
	seeds(f)
	c := FrameRingConfig{Slots: 3, PixelBytes: 96, Unit: "u", Camera: "c"}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := make([]byte, c.Bytes())
		if err := FormatFrameRing(b, c); err != nil {
			t.Fatal(err)
		}
		w, err := NewFrameWriter(b, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewFrameReader(b)
		if err != nil {
			t.Fatal(err)
		}
		look := func(seq uint64) {
			m, pixels, ok := r.View(seq)
			if want, known := FrameBytes(m.Format, m.Width, m.Height); ok && (!known || want != len(pixels) || want > 96) {
				t.Fatalf("accepted %+v with %d bytes", m, len(pixels))
			}
			for _, p := range pixels {
				spun += int(p)
			}
			r.Valid(seq)
			if err := r.Err(); err != nil && !errors.Is(err, ErrQuarantine) {
				t.Fatalf("error without a reason: %v", err)
			}
		}
		for _, s := range steps(data) {
			switch s.op & 3 {
			case 0:
				width := uint32(s.arg%32) + 1
				if _, err := w.Begin(int(3 * width)); err != nil {
					t.Fatal(err)
				}
				if s.off&1 != 0 {
					w.Abort()
				} else if _, err := w.Publish(&FrameMeta{Width: width, Height: 1, Format: FormatRGB24}); err != nil {
					t.Fatal(err)
				}
			case 1:
				look(r.Head())
			case 2:
				s.scribble(b, frameSlotsAt, hotAt)
			case 3:
				look(r.Oldest())
				look(r.Head() + uint64(s.arg) - 128)
				look(word64(b, hotAt).Load())
				r.Info()
			}
		}
		if again, err := NewFrameReader(b); err == nil {
			again.View(again.Head())
		}
		if again, err := NewFrameWriter(b, 2, nil); err == nil {
			if _, err := again.Begin(96); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzDispatchReader(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		w, r, b := testDispatch(t, 4)
		var a Assignment
		for _, s := range steps(data) {
			switch s.op & 3 {
			case 0:
				for range s.arg % 10 {
					enqueue(t, w, 1)
				}
			case 1:
				if _, err := r.Next(&a); err != nil && !errors.Is(err, ErrQuarantine) {
					t.Fatalf("error without a reason: %v", err)
				}
			case 2:
				s.scribble(b, dispatchSlotsAt, hotAt)
			case 3:
				r.Allowed()
				r.pending()
			}
		}
		for n := 0; ; n++ {
			ok, err := r.Next(&a)
			if err != nil || !ok {
				break
			}
			if n > 4 {
				t.Fatal("more assignments than slots, and nobody writes")
			}
		}
	})
}

// FuzzAttach gives every kind of segment the same wild first bytes.
func FuzzAttach(f *testing.F) {
	ring := RingConfig{Slots: 2, PayloadBytes: 64, Model: "m"}
	good := make([]byte, ring.Bytes())
	if err := FormatRing(good, ring); err != nil {
		f.Fatal(err)
	}
	frames := FrameRingConfig{Slots: 2, PixelBytes: 96, Unit: "u", Camera: "c"}
	film := make([]byte, frames.Bytes())
	if err := FormatFrameRing(film, frames); err != nil {
		f.Fatal(err)
	}
	dispatch := make([]byte, DispatchBytes(4))
	if err := FormatDispatch(dispatch, 4); err != nil {
		f.Fatal(err)
	}
	bell := make([]byte, DoorbellBytes())
	if err := FormatDoorbell(bell); err != nil {
		f.Fatal(err)
	}
	for _, b := range [][]byte{good, film, dispatch, bell} {
		f.Add(b[:512], uint16(len(b)/64))
		f.Add(b[:64], uint16(len(b)/64))
	}
	f.Fuzz(func(t *testing.T, header []byte, size uint16) {
		b := make([]byte, int(size)*64)
		copy(b, header)
		check := func(err error) bool {
			if err != nil && !errors.Is(err, ErrQuarantine) {
				t.Fatalf("error without a reason: %v", err)
			}
			return err == nil
		}
		if r, err := NewReader(b); check(err) {
			r.Next(&SlotHeader{}, make([]byte, 8))
			check(r.Check())
			r.Stream(0)
		}
		if r, err := NewFrameReader(b); check(err) {
			r.View(r.Head())
		}
		if r, err := NewDispatchReader(b); check(err) {
			_, err := r.Next(&Assignment{})
			check(err)
		}
		if d, err := NewDoorbell(b); check(err) {
			d.sleep.Store(0)
			d.Ring()
		}
		if w, err := NewDispatchWriter(b); check(err) {
			w.SetPeer(Peer{word32(b, 0)})
			_ = w.Enqueue(&Assignment{})
		}
		if w, err := NewFrameWriter(b, 1, nil); check(err) {
			_, _ = w.Begin(w.PixelBytes())
		}
		if w, err := NewWriter(b, 1, nil); check(err) {
			_, _ = w.RegisterStream("u", "c", 1)
			_ = w.Publish(&SlotHeader{Kind: KindBoxes}, make([]byte, w.PayloadBytes()))
		}
	})
}

func FuzzSplitRaw(f *testing.F) {
	for _, s := range []string{"", "\x00", "\x00\x00", "\x03\x00abc", "\x03\x00abcdef", "\x04\x00abc", "\xff\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		text, body, err := SplitRaw(b)
		if err != nil {
			if !errors.Is(err, ErrRaw) {
				t.Fatal(err)
			}
			return
		}
		again, err := AppendRaw(nil, string(text), body)
		if err != nil || string(again) != string(b) {
			t.Fatalf("want %q again, got %q, %v", b, again, err)
		}
	})
}
