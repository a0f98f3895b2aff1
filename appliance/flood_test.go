package appliance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/supervise"
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

// flood is a path whose rings hold more than a turn takes, whenever it turns.
type flood struct {
	*work
	strangers []*shm.Writer
}

// newFlood begins with b at work on picture 2; 3 and 4 were dropped for it, 5 waits, and a has
// answered all. The rings of the strangers are full.
func newFlood(t *testing.T) *flood {
	t.Helper()
	text := rigConfig
	for i := range 2*maxMessagesPerTurn/ringSlots + 1 {
		text += fmt.Sprintf("  - {name: m%d, command: attach, cameras: [gate], frame_ids: true}\n", i)
	}
	f := &flood{work: newWork(t, text)}
	for _, rep := range f.path.replicas[2:] {
		rep.foreign.open = true
		w, err := shm.NewWriter(rep.segment.Bytes(), 1, nil)
		if err == nil {
			_, err = w.RegisterStream("box", "gate", 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.strangers = append(f.strangers, w)
	}
	f.both(0, 1)
	for id := uint64(2); id <= 5; id++ {
		f.picture(0, id)
		f.turn(1000)
		f.finish(0, id)
	}
	if len(f.got) != 1 {
		t.Fatalf("while b works on 2: want frame 1 alone, got %d frames", len(f.got))
	}
	f.fill()
	f.now += 1000 // what comes now comes behind all that
	return f
}

// fill fills the strangers' rings with messages that are malformed and as old as can be.
func (f *flood) fill() {
	f.t.Helper()
	for _, w := range f.strangers {
		for range ringSlots {
			if err := w.Publish(&shm.SlotHeader{PublishNS: 1, StreamEpoch: 1, Kind: shm.KindFused}, nil); err != nil {
				f.t.Fatal(err)
			}
		}
	}
}

// pass turns once, which reads nothing but the flood or nearly so, and fills the rings again.
func (f *flood) pass() {
	f.t.Helper()
	before := f.path.corr.Counters().Refused
	f.turn(1000)
	if read := f.path.corr.Counters().Refused - before; read < maxMessagesPerTurn-4 {
		f.t.Fatalf("a turn read %d messages of the flood: it is none", read)
	}
	f.fill()
}

// Rings that never get empty keep nobody's progress from being told, and it is not told before
// the answers that came with it: within two rings full of each, as promises say.
func TestFloodDoesNotHoldPromises(t *testing.T) {
	for _, later := range []bool{false, true} {
		t.Run(fmt.Sprintf("done a turn after the answer=%t", later), func(t *testing.T) {
			f := newFlood(t)
			f.answer(1, 0, 2)
			if later { // it is at hand by then, behind what else the rings were full of
				f.turn(1000)
			}
			f.done(1, shm.OutcomeOK)
			turns := 2*ringSlots*len(f.path.replicas)/maxMessagesPerTurn + 2
			for n := 0; f.frame(4) == nil; n++ {
				if n == turns {
					t.Fatalf("after %d turns full of a flood b's promise is not told", turns)
				}
				f.pass()
			}
			for id, want := range map[uint64]string{2: "quorum", 3: "settled", 4: "settled"} {
				if got := f.frame(id); got == nil || got.Frame.Reason != want {
					t.Errorf("frame %d: want it by %s, got %+v", id, want, got)
				}
			}
			if n := f.path.corr.Counters(); n.ProgressBroken != 0 || n.NowRegressions != 0 {
				t.Errorf("%d promises were broken, the clock ran back %d times", n.ProgressBroken, n.NowRegressions)
			}
			if err := f.path.corr.CheckIdentities(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A promise that the flood held up is no sign of life of a detector that has died meanwhile.
func TestHeldUpPromiseOfTheDead(t *testing.T) {
	f := newFlood(t)
	f.answer(1, 0, 2)
	f.done(1, shm.OutcomeOK)
	f.pass()
	if len(f.path.promises.seen) == 0 || f.frame(3) != nil {
		t.Fatalf("the flood holds no promise up: %+v", f.path.promises.seen)
	}
	r := f.path.replicas[1]
	f.mail.put(supervise.Event{Task: r.task, Start: r.word.start, State: supervise.StateExited, Exit: &supervise.ExitRecord{Signal: 9}})
	for range 2*ringSlots*len(f.path.replicas)/maxMessagesPerTurn + 2 {
		f.pass()
	}
	stream, err := f.path.corr.Stream("box", "gate", 1)
	if err != nil {
		t.Fatal(err)
	}
	if f.path.corr.Live(stream, r.model) {
		t.Error("b has died, and frames wait for it again")
	}
	for id, want := range map[uint64]int{2: 2, 3: 1, 4: 1, 5: 1} {
		if got := f.frame(id); got == nil || len(got.Members) != want {
			t.Errorf("frame %d: want it of %d models, got %+v", id, want, got)
		}
	}
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
