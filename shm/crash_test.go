package shm

import (
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const crashPayload = 2048

func crashRing(t *testing.T, slots int) (*Segment, *checkedReader) {
	t.Helper()
	c := RingConfig{Slots: slots, PayloadBytes: crashPayload, Model: "flood"}
	s := newSegment(t, c.Bytes(), func(b []byte) error { return FormatRing(b, c) })
	r, err := NewReader(readOnly(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return s, newCheckedReader(r)
}

// floodRole publishes self-checking messages into descriptor 3, n of them or for ever.
func floodRole(args []string) error {
	b, err := mapFD(3, true)
	if err != nil {
		return err
	}
	w, err := NewWriter(b, uint32(os.Getpid()), nil)
	if err != nil {
		return err
	}
	if _, err := w.RegisterStream("u", "c", 1); err != nil {
		return err
	}
	n := -1
	if len(args) > 0 {
		if n, err = strconv.Atoi(args[0]); err != nil {
			return err
		}
	}
	var h SlotHeader
	buf := make([]byte, w.PayloadBytes())
	for ; n != 0; n-- {
		if err := w.Publish(&h, checkedMessage(w.Head()+1, len(buf), &h, buf)); err != nil {
			return err
		}
	}
	return nil
}

// A writer in another process says how many it will publish; the reader accounts for
// every one of them.
func TestCountsAcrossProcesses(t *testing.T) {
	s, c := crashRing(t, 64)
	n := count(t, "SHM_TEST_MESSAGES", 200_000)
	cmd := spawn(t, "flood", []*os.File{s.File()}, strconv.Itoa(n))
	eventually(t, "all messages", func() bool {
		empty, err := c.drain(1000)
		if err != nil {
			t.Fatal(err)
		}
		return empty && c.Written() == uint64(n)
	})
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := c.balance(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d published, %d read, %d lost", n, c.Read(), c.Lost())
}

// F21: a writer in full flight is killed at a random instant, again and again.
// SHM_TEST_KILLS=10000 is the long run.
func TestKilledWriters(t *testing.T) {
	kills := count(t, "SHM_TEST_KILLS", 150)
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("SHM_TEST_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("SHM_TEST_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s, c := crashRing(t, 16)
	openSlots := 0
	for i := range kills {
		cmd := spawn(t, "flood", []*os.File{s.File()})
		before := c.Written()
		eventually(t, "the successor's first message", func() bool {
			if _, err := c.drain(100); err != nil {
				t.Fatalf("kill %d: %v", i, err)
			}
			return c.Written() > before
		})
		for until := time.Now().Add(time.Duration(random.IntN(2000)) * time.Microsecond); time.Now().Before(until); {
			if _, err := c.drain(10); err != nil {
				t.Fatalf("kill %d: %v", i, err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
			t.Fatalf("kill %d: writer ended otherwise: %v", i, err)
		}
		// The dead writer's ring is drained in a bounded number of steps: nothing blocks.
		if empty, err := c.drain(100); err != nil || !empty {
			t.Fatalf("kill %d: empty=%v err=%v", i, empty, err)
		}
		if err := c.balance(); err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
		if got := c.Info().RingEpoch; got != uint32(i+1) {
			t.Fatalf("kill %d: want ring_epoch %d, got %d", i, i+1, got)
		}
		if word64(c.b, int((c.Written()+1)&c.mask)*c.stride).Load() == 0 {
			openSlots++
		}
	}
	t.Logf("%d kills, %d of them inside publish: %d written, %d read, %d lost, 0 torn",
		kills, openSlots, c.Written(), c.Read(), c.Lost())
	if kills >= 100 && openSlots == 0 {
		t.Error("no kill hit a publish: this test has shown nothing")
	}
}
