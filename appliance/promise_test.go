package appliance

import (
	"slices"
	"strings"
	"testing"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/shm"
)

// work is the rig's cameras and the dispatch side of its detectors.
type work struct {
	*rig
	cameras []*shm.FrameWriter
	streams [][]uint32 // by detector and camera
}

func newWork(t *testing.T, text string) *work {
	t.Helper()
	w := &work{rig: newRig(t, text), streams: make([][]uint32, 8)}
	for i, c := range w.path.cameras {
		frames := w.frames
		if i > 0 {
			var err error
			if frames, err = shm.NewFrameWriter(c.ring.Bytes(), 1, nil); err != nil {
				t.Fatal(err)
			}
			frames.NextStreamEpoch()
		}
		w.cameras = append(w.cameras, frames)
		for m := range w.writers {
			stream, err := w.writers[m].RegisterStream("box", c.cfg.Name, 1)
			if err != nil {
				t.Fatal(err)
			}
			w.streams[m] = append(w.streams[m], stream)
		}
	}
	return w
}

// picture lets a camera publish picture id.
func (w *work) picture(camera int, id uint64) {
	w.t.Helper()
	if _, err := w.cameras[camera].Begin(64 * 64 * 3 / 2); err != nil {
		w.t.Fatal(err)
	}
	m := shm.FrameMeta{FrameID: id, CaptureNS: int64(id) * 33e6, StreamEpoch: 1, Width: 64, Height: 64, Format: shm.FormatI420, PublishNS: int64(w.now)}
	if _, err := w.cameras[camera].Publish(&m); err != nil {
		w.t.Fatal(err)
	}
}

// answer lets a detector publish, without saying done.
func (w *work) answer(m, camera int, id uint64) {
	w.t.Helper()
	w.rig.streams[m] = w.streams[m][camera]
	w.publish(m, id, w.now, aBox)
}

// done lets a detector say done for all it was given.
func (w *work) done(m int, o shm.Outcome) {
	n := w.path.replicas[m].work.Enq()
	w.writers[m].SetTaken(n)
	w.writers[m].SetDone(n, o)
}

// finish lets a detector answer a picture of the first camera and say done, and turns.
func (w *work) finish(m int, id uint64) {
	w.t.Helper()
	w.answer(m, 0, id)
	w.done(m, shm.OutcomeOK)
	w.turn(1000)
}

// both lets all detectors answer a picture, so that each is known to work.
func (w *work) both(camera int, id uint64) {
	w.t.Helper()
	w.picture(camera, id)
	w.turn(1000)
	for m := range w.writers {
		w.answer(m, camera, id)
		w.done(m, shm.OutcomeOK)
	}
	w.turn(1000)
}

func (w *work) frame(id uint64) *Fused {
	if i := slices.IndexFunc(w.got, func(f *Fused) bool { return f.FrameID == id }); i >= 0 {
		return w.got[i]
	}
	return nil
}

// CORRELATION §6: pictures that a slow detector never got do not hold the other's answers
// up: they settle the moment it is past them, which is when it has finished the one before.
func TestDroppedPicturesSettle(t *testing.T) {
	w := newWork(t, rigConfig)
	w.both(0, 1)
	for id := uint64(2); id <= 5; id++ { // b works on 2; 3 and 4 are dropped, 5 waits
		w.picture(0, id)
		w.turn(1000)
		w.finish(0, id)
	}
	if len(w.got) != 1 {
		t.Fatalf("while b works on 2: want frame 1 alone, got %d frames", len(w.got))
	}
	w.finish(1, 2)
	if f := w.frame(2); f == nil || f.Frame.Reason != "quorum" || len(f.Members) != 2 {
		t.Errorf("frame 2: want it of both, got %+v", f)
	}
	for id := uint64(3); id <= 4; id++ {
		if f := w.frame(id); f == nil || f.Frame.Reason != "settled" || f.Frame.Missing[0].Why != "passed" {
			t.Errorf("frame %d: want it settled at once, got %+v", id, f)
		}
	}
	if w.frame(5) != nil {
		t.Error("frame 5 does not wait for b, who has it")
	}
	w.picture(0, 6) // the other's answer to 5 comes, and both are done in one turn
	w.finish(1, 5)
	if f := w.frame(5); f == nil || len(f.Members) != 2 {
		t.Errorf("frame 5: want b's answer in it, which was there before b was done, got %+v", f)
	}
	if n := w.path.corr.Counters(); n.ProgressBroken != 0 {
		t.Errorf("%d promises were broken", n.ProgressBroken)
	}
}

// A detector that was asked to go still answers what it holds, and then is past all the rest.
func TestLeavingDetectorFinishes(t *testing.T) {
	w := newWork(t, rigConfig)
	w.both(0, 1)
	w.picture(0, 2)
	w.turn(1000)
	b := w.path.replicas[1]
	word := b.word
	word.state = supervise.StateDraining
	w.path.hearReplica(w.now, b, word)
	w.picture(0, 3)
	for id := uint64(2); id <= 3; id++ {
		w.finish(0, id)
	}
	if len(w.got) != 1 {
		t.Fatalf("while it finishes 2: want frame 1 alone, got %d frames", len(w.got))
	}
	w.finish(1, 2)
	if f := w.frame(2); f == nil || len(f.Members) != 2 {
		t.Errorf("frame 2: want its last answer in it, got %+v", f)
	}
	if f := w.frame(3); f == nil || f.Frame.Reason != "settled" {
		t.Errorf("frame 3: want it settled, got %+v", f)
	}
	word.state = supervise.StateStopped
	w.path.hearReplica(w.now, b, word)
	w.path.takeView(w.now)
	if m := w.Status().Models[1]; m.Outcomes["died"] != 0 || m.Dropped["not_ready"] != 1 {
		t.Errorf("its account: want nothing lost and one dropped, got %+v", m)
	}
}

const twoCameras = `
unit: box
state_dir: state
correlation: {hung_after: 2s, timeout: 300ms}
cameras:
  - {name: gate, source: none.mp4, max_picture: 64x64}
  - {name: hall, source: none.mp4, max_picture: 64x64}
models:
  - {name: a, manifest: m.yaml, cameras: [gate, hall]}
  - {name: b, manifest: m.yaml, cameras: [gate, hall]}
`

// CORRELATION §7: a detector that hangs in a picture of one camera gets none of the other's
// any more. That those are dropped moves its progress, and is no sign of life.
func TestDropsDoNotMakeItLookAlive(t *testing.T) {
	w := newWork(t, twoCameras)
	w.both(0, 1)
	w.both(1, 1)
	id := uint64(2)
	next := func(cameras ...int) {
		for _, c := range cameras {
			w.picture(c, id)
			w.turn(1000)
			w.answer(0, c, id)
			w.done(0, shm.OutcomeOK)
		}
		w.turn(clock.Mono(100e6))
		id++
	}
	for range 30 { // b hangs in the first picture of gate
		next(0, 1)
	}
	for range 10 {
		next(0, 1)
		if on := w.path.replicas[1].hangsOn(); len(on) != 2 {
			t.Fatalf("b hangs on %v, want both cameras", on)
		}
	}
	begin := len(w.got)
	w.picture(1, id)
	w.turn(1000)
	w.answer(0, 1, id)
	w.done(0, shm.OutcomeOK)
	w.turn(1000)
	if len(w.got) != begin+1 || w.got[begin].Frame.Reason != "quorum" || w.got[begin].Frame.Missing[0].Why != "dead" {
		t.Errorf("a frame of hall: want it at once and b dead, got %d new ones", len(w.got)-begin)
	}
	id++
	w.answer(1, 0, 2) // it goes on
	w.done(1, shm.OutcomeOK)
	w.turn(1000)
	if on := w.path.replicas[1].hangsOn(); slices.Contains(on, "gate") {
		t.Errorf("back with its message, it still hangs on %v", on)
	}
}

// A detector that finishes pictures without a message, because each was overwritten before it
// looked, lives: its progress is its word.
func TestFinishedPicturesAreAWord(t *testing.T) {
	w := newWork(t, strings.Replace(rigConfig, "cameras:", "correlation: {hung_after: 2s}\ncameras:", 1))
	w.both(0, 1)
	for id := uint64(2); id < 40; id++ {
		w.picture(0, id)
		w.turn(1000)
		w.answer(0, 0, id)
		w.done(0, shm.OutcomeOK)
		w.done(1, shm.OutcomeLapped)
		w.turn(clock.Mono(100e6))
		if f := w.frame(id); f == nil || f.Frame.Reason != "settled" {
			t.Fatalf("frame %d: want it settled, got %+v", id, f)
		}
	}
	if on := w.path.replicas[1].hangsOn(); len(on) != 0 {
		t.Errorf("it is said to hang on %v", on)
	}
}

func TestPromisesAllocateNothing(t *testing.T) {
	w := newWork(t, rigConfig)
	w.o.Tap = nil
	w.path.nextView = 1 << 62
	w.both(0, 1)
	id := uint64(1)
	var h shm.SlotHeader
	var m shm.FrameMeta
	round := func() {
		id++
		w.now += 33_000_000
		if _, err := w.frames.Begin(64 * 64 * 3 / 2); err != nil {
			t.Fatal(err)
		}
		m = shm.FrameMeta{FrameID: id, CaptureNS: int64(id) * 33e6, StreamEpoch: 1, Width: 64, Height: 64, Format: shm.FormatI420, PublishNS: int64(w.now)}
		if _, err := w.frames.Publish(&m); err != nil {
			t.Fatal(err)
		}
		w.path.turn(w.now)
		h = shm.SlotHeader{CaptureNS: m.CaptureNS, PublishNS: int64(w.now), FrameID: id, Stream: w.streams[0][0], StreamEpoch: 1, Kind: shm.KindBoxes}
		if err := w.writers[0].Publish(&h, nil); err != nil {
			t.Fatal(err)
		}
		w.done(0, shm.OutcomeOK)
		w.done(1, shm.OutcomeLapped)
		w.path.turn(w.now)
	}
	for range 5000 {
		round()
	}
	before := w.path.corr.Counters().FlushedSettled
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("allocations per picture: want 0, got %v", n)
	}
	if n := w.path.corr.Counters().FlushedSettled - before; n < 1000 {
		t.Errorf("settled while counting: %d", n)
	}
}
