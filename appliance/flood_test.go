package appliance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/shm"
)

// A ring that never gets empty, of a writer that stamps all with one time of long ago: its
// messages do not stay in the past, so that the other rings' turn comes.
func TestArrivalDoesNotStandStill(t *testing.T) {
	r := newRig(t, rigConfig)
	flood := r.path.replicas[0]
	for id := range uint64(ringSlots) {
		r.publish(0, id, 1)
	}
	r.now += 1_000_000
	begun := r.now
	if !flood.peek(r.now) || flood.arrival >= begun {
		t.Fatalf("the first arrived at %d, after the turn began at %d", flood.arrival, begun)
	}
	for n := range uint64(2 * ringSlots) {
		flood.have = false
		r.publish(0, n, 1) // one more for each that is read: it is never found empty
		if !flood.peek(r.now) {
			t.Fatal("the ring was found empty")
		}
		if flood.arrival >= begun {
			if n < ringSlots/2 {
				t.Errorf("message %d was there before the turn and is said to have come in it", n)
			}
			return
		}
	}
	t.Errorf("after two rings full its messages still arrive at %d, before this turn began at %d", flood.arrival, begun)
}

// More malformed messages than a turn takes: none is a step of the correlator, and yet the
// others' frames close in time.
func TestRefusedMessagesDoNotHoldTimeouts(t *testing.T) {
	const strangers = maxMessagesPerTurn/ringSlots + 1
	text := rigConfig
	for i := range strangers {
		text += fmt.Sprintf("  - {name: m%d, command: attach, cameras: [gate], frame_ids: true}\n", i)
	}
	r := newRig(t, strings.Replace(text, "state_dir: state\n", "state_dir: state\ncorrelation: {emit_empty: true}\n", 1))
	r.turn(1000)
	r.publish(0, 1, r.now, aBox) // b does not answer
	r.turn(1000)
	if len(r.got) != 0 {
		t.Fatal("a frame closed at once")
	}
	r.now += clock.Mono(r.cfg.Correlation.Timeout)
	for _, rep := range r.path.replicas[2:] {
		rep.foreign.open = true
		w, err := shm.NewWriter(rep.segment.Bytes(), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := w.RegisterStream("box", "gate", 1)
		if err != nil {
			t.Fatal(err)
		}
		for range ringSlots {
			h := shm.SlotHeader{PublishNS: int64(r.now), Stream: stream, StreamEpoch: 1, Kind: shm.KindFused}
			if err := w.Publish(&h, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.turn(1000)
	if n := r.path.corr.Counters().Refused; n < maxMessagesPerTurn-strangers {
		t.Fatalf("%d messages refused in one turn: this test floods too little", n)
	}
	if len(r.got) != 1 || r.got[0].Frame.Reason != "timeout" {
		t.Fatalf("after its timeout and a turn full of nonsense: %d frames", len(r.got))
	}
	if err := r.path.corr.CheckIdentities(); err != nil {
		t.Error(err)
	}
}
