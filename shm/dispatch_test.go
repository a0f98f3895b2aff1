package shm

import (
	"math"
	"testing"
	"time"
)

func testDispatch(t testing.TB, slots int) (*DispatchWriter, *DispatchReader, []byte) {
	t.Helper()
	b := make([]byte, DispatchBytes(slots))
	if err := FormatDispatch(b, slots); err != nil {
		t.Fatal(err)
	}
	w, err := NewDispatchWriter(b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewDispatchReader(b)
	if err != nil {
		t.Fatal(err)
	}
	return w, r, b
}

func enqueue(t testing.TB, w *DispatchWriter, id uint64) {
	t.Helper()
	if err := w.Enqueue(&Assignment{FrameID: id}); err != nil {
		t.Fatal(err)
	}
}

func TestAssignment(t *testing.T) {
	w, r, b := testDispatch(t, 4)
	var got Assignment
	if ok, err := r.Next(&got); ok || err != nil {
		t.Fatalf("want nothing, got %v, %v", ok, err)
	}
	in := Assignment{FrameSeq: 2, FrameID: 3, CaptureNS: -4, EnqueuedNS: 5, DeadlineNS: 6, Generation: 7, Camera: 8, StreamEpoch: 9}
	if err := w.Enqueue(&in); err != nil || in.Seq != 1 || w.Enq() != 1 || r.Enq() != 1 {
		t.Fatalf("got %+v, %v", in, err)
	}
	if ok, err := r.Next(&got); !ok || err != nil || got != in {
		t.Fatalf("want %+v, got %+v, %v", in, got, err)
	}
	// A successor of the child begins after what its predecessor was given, one of the
	// appliance's writer goes on counting.
	enqueue(t, w, 0)
	next, err := NewDispatchReader(b)
	if err != nil {
		t.Fatal(err)
	}
	w2, err := NewDispatchWriter(b)
	if err != nil {
		t.Fatal(err)
	}
	enqueue(t, w2, 33)
	if ok, err := next.Next(&got); !ok || err != nil || got.Seq != 3 || got.FrameID != 33 {
		t.Fatalf("want assignment 3, got %+v, %v", got, err)
	}
}

func TestDispatchOverrun(t *testing.T) {
	for _, slots := range []int{1, 3, 4} {
		w, r, _ := testDispatch(t, slots)
		for i := range 10 {
			enqueue(t, w, uint64(i+1))
		}
		var a Assignment
		for want := uint64(10 - slots + 1); want <= 10; want++ {
			if ok, err := r.Next(&a); !ok || err != nil || a.FrameID != want || a.Seq != want {
				t.Fatalf("%d slots: want %d, got %+v, %v, %v", slots, want, a, ok, err)
			}
		}
		if ok, _ := r.Next(&a); ok || r.Lost() != uint64(10-slots) {
			t.Fatalf("%d slots: want %d lost, got %d", slots, 10-slots, r.Lost())
		}
	}
}

func TestDispatchWait(t *testing.T) {
	w, r, _ := testDispatch(t, 4)
	ring, reader, _ := testRing(t, RingConfig{Slots: 2, PayloadBytes: 8})
	w.SetPeer(reader.Peer())
	flag := ring.SleepFlag()
	wait := func(what string, wantWaiting bool) {
		t.Helper()
		timeout := 10 * time.Millisecond
		if !wantWaiting {
			timeout = time.Minute
		}
		began := time.Now()
		if err := r.Wait(flag, int64(timeout)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Fatalf("%s: waited %v", what, took)
		}
		if reader.Peer().Asleep() {
			t.Fatalf("%s: flag still up", what)
		}
	}
	wait("nothing to do", true)
	enqueue(t, w, 1)
	wait("an assignment", false)
	var a Assignment
	if ok, err := r.Next(&a); !ok || err != nil {
		t.Fatal(ok, err)
	}
	w.SetAllowed(7)
	wait("allowed changed", false)
	if r.Allowed() != 7 {
		t.Fatalf("want 7 allowed, got %d", r.Allowed())
	}
	if w.bell.Load() != 0 {
		t.Error("a system call was made for a child that was awake")
	}
	wait("allowed seen", true)
}

// A sleeper on the heap is woken by an assignment, by pictures allowed, and by Wake.
func TestDispatchWakes(t *testing.T) {
	for name, wake := range map[string]func(w *DispatchWriter) error{
		"assignment": func(w *DispatchWriter) error { return w.Enqueue(&Assignment{}) },
		"allowed":    func(w *DispatchWriter) error { w.SetAllowed(1); return nil },
		"wake":       func(w *DispatchWriter) error { w.Wake(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			w, r, _ := testDispatch(t, 4)
			ring, reader, _ := testRing(t, RingConfig{Slots: 2, PayloadBytes: 8})
			w.SetPeer(reader.Peer())
			woken := make(chan error, 1)
			go func() {
				began := time.Now()
				err := r.Wait(ring.SleepFlag(), int64(time.Minute))
				if err == nil && time.Since(began) > 30*time.Second {
					t.Error("wake-up lost")
				}
				woken <- err
			}()
			eventually(t, "the child to sleep", func() bool { return reader.Peer().Asleep() })
			if err := wake(w); err != nil {
				t.Fatal(err)
			}
			// Wake alone leaves no trace for one who has not yet read the bell.
			for tries := 0; ; tries++ {
				select {
				case err := <-woken:
					if err != nil {
						t.Fatal(err)
					}
					return
				case <-time.After(20 * time.Millisecond):
					if name != "wake" {
						continue
					}
					w.Wake()
				}
			}
		})
	}
}

func TestZeroPeerCountsAsAsleep(t *testing.T) {
	w, _, _ := testDispatch(t, 1)
	enqueue(t, w, 1)
	if w.bell.Load() != 1 {
		t.Error("a child whose flag is unknown was not woken")
	}
}

func TestHostileDispatch(t *testing.T) {
	for name, tc := range map[string]struct {
		off  int
		v    uint64
		want Reason
	}{
		"enq is huge":        {hotAt, math.MaxUint64, ReasonHead},
		"enq runs backwards": {hotAt, 0, ReasonHead},
		"enq one too far":    {hotAt, 3, ReasonSequence},
		"slot of another":    {dispatchSlotsAt + 2*assignmentBytes, 9, ReasonSequence},
	} {
		t.Run(name, func(t *testing.T) {
			w, r, b := testDispatch(t, 4)
			enqueue(t, w, 1)
			var a Assignment
			if ok, err := r.Next(&a); !ok || err != nil {
				t.Fatal(ok, err)
			}
			enqueue(t, w, 2)
			word64(b, tc.off).Store(tc.v)
			var err error
			for try := 0; err == nil && try < 10; try++ {
				_, err = r.Next(&a)
			}
			wantReason(t, err, tc.want)
		})
	}
	for _, slots := range []int{-1, 0, maxDispatchSlots + 1} {
		if err := FormatDispatch(make([]byte, 1<<20), slots); err == nil {
			t.Errorf("%d slots accepted", slots)
		}
	}
}
