package shm

import "testing"

// Rewind gives back what is still there, and the sums hold from there on.
func TestRewind(t *testing.T) {
	for _, c := range []struct {
		name       string
		published  int
		back, want uint64
	}{
		{"nothing", 0, 5, 0},
		{"less than there is", 6, 3, 3},
		{"all there is", 6, 100, 6},
		{"one lap", 20, 100, 7},
		{"not at all", 6, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := RingConfig{Slots: 8, PayloadBytes: 64, Model: "m"}
			b := make([]byte, cfg.Bytes())
			if err := FormatRing(b, cfg); err != nil {
				t.Fatal(err)
			}
			w, err := NewWriter(b, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			s, err := w.RegisterStream("u", "c", 1)
			if err != nil {
				t.Fatal(err)
			}
			publish := func(n int) {
				for range n {
					h := SlotHeader{Stream: s, Kind: KindBoxes}
					if err := w.Publish(&h, nil); err != nil {
						t.Fatal(err)
					}
				}
			}
			publish(c.published)
			r, err := NewReader(b)
			if err != nil {
				t.Fatal(err)
			}
			r.Rewind(c.back)
			var h SlotHeader
			read := func() (n uint64) {
				for {
					_, ok, err := r.Next(&h, nil)
					if err != nil {
						t.Fatal(err)
					}
					if !ok {
						return n
					}
					n++
				}
			}
			if got := read(); got != c.want || r.Lost() != 0 {
				t.Errorf("read %d and lost %d, want %d and 0", got, r.Lost(), c.want)
			}
			if c.want > 0 && h.Sequence != w.Head() {
				t.Errorf("last message is %d, want %d", h.Sequence, w.Head())
			}
			publish(10)
			read()
			if r.Written() != r.Start()+r.Read()+r.Lost() {
				t.Errorf("written %d != start %d + read %d + lost %d", r.Written(), r.Start(), r.Read(), r.Lost())
			}
		})
	}
}
