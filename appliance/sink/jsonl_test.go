package sink

import (
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNewNamesWhatIsWrong(t *testing.T) {
	for _, o := range []Options{{}, {Path: "x"}, {Path: "x", MaxSize: -1}, {Path: "x", MaxSize: 1, Keep: -1}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken, want an error", o)
		}
	}
}

// Every frame offered is in exactly one place, whoever looks and whenever.
func TestIdentityHoldsAtAnyInstant(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	s, stop := running(t, Options{Path: path, MaxSize: 64 << 10, Keep: 1})
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		last := uint64(0)
		for {
			st := s.Stats()
			identity(t, st, st.Offered)
			if st.Offered < last || st.Queued > queueLines {
				t.Errorf("offered fell from %d, or too many are queued: %+v", last, st)
				return
			}
			last = st.Offered
			select {
			case <-done:
				return
			default:
			}
		}
	})
	const frames = 20_000
	for i := range uint64(frames) {
		switch {
		case i%1000 == 1:
			f := frame(i)
			f.Boxes = []Box{{Score: math.NaN()}}
			s.Offer(f)
		case i%1000 == 2:
			f := frame(i)
			f.Reason = strings.Repeat("x", maxLineBytes)
			s.Offer(f)
		default:
			s.Offer(frame(i))
		}
	}
	stop()
	close(done)
	watcher.Wait()
	st := s.Stats()
	identity(t, st, frames)
	if st.Lost[LostInvalid] != frames/1000 || st.Lost[LostTooLarge] != frames/1000 || st.Queued != 0 {
		t.Errorf("got %+v, want %d invalid and as many too large", st, frames/1000)
	}
}

// The path's side allocates nothing, also when the queue is full.
func TestOfferAllocatesNothing(t *testing.T) {
	s, err := New(Options{Path: "-"})
	if err != nil {
		t.Fatal(err)
	}
	f := full()
	s.Offer(f)
	if n := testing.AllocsPerRun(3*queueLines, func() { s.Offer(f) }); n != 0 {
		t.Errorf("%v allocations an Offer, want 0", n)
	}
	if st := s.Stats(); st.Queued == 0 || st.Lost[LostQueueFull] == 0 {
		t.Errorf("the queue was not filled: %+v", st)
	}
}
