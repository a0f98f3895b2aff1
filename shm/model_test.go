package shm

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRingModel runs the ring against a slice of all that was ever published: any mix
// of publishing, reading and restarting gives exactly the newest messages, in order,
// and exact counts.
func TestRingModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := 1 << rapid.IntRange(1, 5).Draw(t, "log2 slots")
		payload := rapid.IntRange(8, 200).Draw(t, "payload")
		c := RingConfig{Slots: slots, PayloadBytes: payload, Model: "m", Index: rapid.IntRange(0, 40).Draw(t, "index")}
		b := make([]byte, c.Bytes())
		if err := FormatRing(b, c); err != nil {
			t.Fatal(err)
		}
		attach := func() *Writer {
			w, err := NewWriter(b, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.RegisterStream("u", "c", 1); err != nil {
				t.Fatal(err)
			}
			return w
		}
		w := attach()
		r, err := NewReader(b)
		if err != nil {
			t.Fatal(err)
		}
		var all []string   // published, all[i] has sequence i+1
		next, lost := 0, 0 // the model reader's place in all, and what it missed
		open := false      // a writer died with the slot of the oldest message open
		body := make([]byte, payload)

		t.Repeat(map[string]func(*rapid.T){
			"publish": func(t *rapid.T) {
				for range rapid.IntRange(1, 2*slots).Draw(t, "how many") {
					text := rapid.StringN(0, payload/4, payload).Draw(t, "body")
					if err := w.Publish(&SlotHeader{Kind: KindJSON, FrameID: uint64(len(all))}, []byte(text)); err != nil {
						t.Fatal(err)
					}
					all = append(all, text)
					open = false
				}
			},
			"read": func(t *rapid.T) {
				var h SlotHeader
				n, ok, err := r.Next(&h, body)
				if err != nil {
					t.Fatal(err)
				}
				oldest := len(all) - slots
				if open {
					oldest++
				}
				if next < oldest {
					lost += oldest - next
					next = oldest
				}
				if r.Lost() != uint64(lost) {
					t.Fatalf("want lost %d, got %d", lost, r.Lost())
				}
				if ok != (next < len(all)) {
					t.Fatalf("want message %v, got %v", next < len(all), ok)
				}
				if !ok {
					return
				}
				if string(body[:n]) != all[next] || h.FrameID != uint64(next) || h.Sequence != uint64(next+1) {
					t.Fatalf("want message %d %q, got %+v %q", next, all[next], h, body[:n])
				}
				next++
			},
			"restart": func(*rapid.T) { w = attach() },
			"die half way": func(*rapid.T) {
				word64(w.b, int((w.head+1)&w.mask)*w.stride).Store(0)
				w, open = attach(), true
			},
			"": func(t *rapid.T) {
				if r.Read()+r.Lost() > uint64(len(all)) {
					t.Fatalf("read %d + lost %d of %d", r.Read(), r.Lost(), len(all))
				}
			},
		})
		for {
			var h SlotHeader
			_, ok, err := r.Next(&h, body)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
		}
		if r.Written() != uint64(len(all)) || r.Read()+r.Lost() != r.Written() {
			t.Fatalf("published %d, written %d, read %d, lost %d", len(all), r.Written(), r.Read(), r.Lost())
		}
	})
}
