package shm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Every sleep below ends by a wake-up or the test fails: the timeout is so long that
// one lost wake-up shows.
const lostNS = int64(5 * time.Second)

type wakeSegments struct{ ring, door, dispatch *Segment }

func newWakeSegments(t *testing.T) wakeSegments {
	c := RingConfig{Slots: 8, PayloadBytes: 64, Model: "ringer"}
	return wakeSegments{
		ring:     newSegment(t, c.Bytes(), func(b []byte) error { return FormatRing(b, c) }),
		door:     newSegment(t, DoorbellBytes(), FormatDoorbell),
		dispatch: newSegment(t, DispatchBytes(4), func(b []byte) error { return FormatDispatch(b, 4) }),
	}
}

// ringerRole answers each assignment with one message, after a random pause that puts
// its ring at any point of the path's falling asleep. Between two it sleeps itself.
func ringerRole(args []string) error { return answer(args, true) }

// sleeperRole never rings: the path polls and only the child sleeps.
func sleeperRole(args []string) error { return answer(args, false) }

func answer(args []string, ring bool) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	b, err := mapFD(3, true)
	if err != nil {
		return err
	}
	door, err := mapFD(4, true)
	if err != nil {
		return err
	}
	dispatch, err := mapFD(5, false) // read-only, as every child has it
	if err != nil {
		return err
	}
	var bell *Doorbell
	if ring {
		if bell, err = NewDoorbell(door); err != nil {
			return err
		}
	}
	w, err := NewWriter(b, uint32(os.Getpid()), bell)
	if err != nil {
		return err
	}
	if _, err := w.RegisterStream("u", "c", 1); err != nil {
		return err
	}
	in, err := NewDispatchReader(dispatch)
	if err != nil {
		return err
	}
	w.ResetWork(in.Enq())
	w.SetState(StateReady)
	var a Assignment
	for i := 0; i < n; {
		ok, err := in.Next(&a)
		if err != nil {
			return err
		}
		if !ok {
			began := time.Now()
			if err := in.Wait(w.SleepFlag(), lostNS); err != nil {
				return err
			}
			if took := time.Since(began); took > time.Duration(lostNS)*9/10 {
				return fmt.Errorf("assignment %d: wake-up lost, slept %v", i+1, took)
			}
			continue
		}
		i++
		if a.Seq != uint64(i) || a.FrameID != mix(a.Seq) {
			return fmt.Errorf("assignment %d is %+v", i, a)
		}
		spin(rand.IntN(3000))
		if err := w.Publish(&SlotHeader{Kind: KindBoxes, FrameID: a.FrameID}, nil); err != nil {
			return err
		}
		w.SetDone(a.Seq, OutcomeOK)
	}
	return nil
}

var spun int

func spin(n int) {
	for range n {
		spun++
	}
}

func TestNoWakeUpIsLost(t *testing.T) {
	for _, role := range []string{"ringer", "sleeper"} {
		t.Run(role, func(t *testing.T) {
			n := count(t, "SHM_TEST_WAKEUPS", 5000)
			seg := newWakeSegments(t)
			ro, err := seg.dispatch.OpenReadOnly()
			if err != nil {
				t.Fatal(err)
			}
			defer ro.Close()
			r, err := NewReader(readOnly(t, seg.ring))
			if err != nil {
				t.Fatal(err)
			}
			bell, err := NewDoorbell(seg.door.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			out, err := NewDispatchWriter(seg.dispatch.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			out.SetPeer(r.Peer())
			cmd := spawn(t, role, []*os.File{seg.ring.File(), seg.door.File(), ro}, strconv.Itoa(n))
			eventually(t, "the child", func() bool { return r.Info().State == StateReady })
			pending := func() bool { return r.Pending() > 0 }
			var h SlotHeader
			for i := range n {
				spin(rand.IntN(3000))
				if err := out.Enqueue(&Assignment{FrameID: mix(uint64(i + 1))}); err != nil {
					t.Fatal(err)
				}
				for began := time.Now(); ; {
					_, ok, err := r.Next(&h, nil)
					if err != nil {
						t.Fatal(err)
					}
					if ok {
						break
					}
					if role == "ringer" {
						if err := bell.Sleep(pending, lostNS); err != nil {
							t.Fatal(err)
						}
					}
					if took := time.Since(began); took > time.Duration(lostNS)*9/10 {
						t.Fatalf("answer %d: wake-up lost, waited %v", i+1, took)
					}
				}
				if h.FrameID != mix(uint64(i+1)) {
					t.Fatalf("answer %d is %+v", i+1, h)
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			if r.Done() != uint64(n) || r.Outcomes()[OutcomeOK] != uint64(n) {
				t.Errorf("want %d done, got %d, %v", n, r.Done(), r.Outcomes())
			}
			wantCounts(t, r, uint64(n), 0, uint64(n))
			t.Logf("%d rounds: %d wake-ups of the path, %d of the child", n, bell.bell.Load(), out.bell.Load())
			if out.bell.Load() == 0 || role == "ringer" && bell.bell.Load() == 0 {
				t.Error("nobody ever slept: this test has shown nothing")
			}
		})
	}
}
