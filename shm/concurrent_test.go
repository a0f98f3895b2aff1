package shm

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// A writer and a reader on heap memory, the writer kept from lapping the reader: here
// the race detector sees each hand-over, and a missing release or acquire is a report.
func TestHandOver(t *testing.T) {
	const slots, payload = 16, 64
	n := uint64(count(t, "SHM_TEST_MESSAGES", 100_000))
	w, r, _ := testRing(t, RingConfig{Slots: slots, PayloadBytes: payload})
	c := newCheckedReader(r)
	var done atomic.Uint64 // read so far; what keeps the writer back
	go func() {
		var h SlotHeader
		buf := make([]byte, payload)
		for i := uint64(1); i <= n; i++ {
			for i > done.Load()+slots {
				runtime.Gosched()
			}
			body := checkedMessage(i, payload, &h, buf)
			if err := w.Publish(&h, body); err != nil {
				t.Error(err)
			}
		}
	}()
	eventually(t, "all messages", func() bool {
		if _, err := c.drain(slots); err != nil {
			t.Fatal(err)
		}
		done.Store(c.last)
		return c.last == n
	})
	wantCounts(t, r, n, 0, n)
}

// The same flat out, the writer lapping the reader at will: nothing torn, all counted.
func TestLappedAtFullSpeed(t *testing.T) {
	if raceEnabled {
		t.Skip("skip[race]: a reader that is lapped copies bytes that are being written, on purpose, and throws them away: the race detector cannot know")
	}
	const payload = 512
	n := uint64(count(t, "SHM_TEST_MESSAGES", 500_000))
	for _, slots := range []int{2, 4, 64} {
		w, r, _ := testRing(t, RingConfig{Slots: slots, PayloadBytes: payload})
		c := newCheckedReader(r)
		go func() {
			var h SlotHeader
			buf := make([]byte, payload)
			for i := uint64(1); i <= n; i++ {
				body := checkedMessage(i, payload, &h, buf)
				if err := w.Publish(&h, body); err != nil {
					t.Error(err)
				}
			}
		}()
		eventually(t, "all messages", func() bool {
			empty, err := c.drain(1000)
			if err != nil {
				t.Fatalf("%d slots: %v", slots, err)
			}
			return empty && c.Written() == n
		})
		if err := c.balance(); err != nil {
			t.Fatalf("%d slots: %v", slots, err)
		}
		t.Logf("%d slots: %d read, %d lost", slots, c.Read(), c.Lost())
	}
}
