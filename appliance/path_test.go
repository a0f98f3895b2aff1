package appliance

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/shm"
)

// rig is an appliance whose children are played by the test: everything from the rings
// on is real, and time is the test's (R002-30).
type rig struct {
	*Appliance
	t       *testing.T
	now     clock.Mono
	frames  *shm.FrameWriter
	writers []*shm.Writer
	streams []uint32
	got     []*Fused
}

const rigConfig = `
unit: box
state_dir: state
cameras:
  - {name: gate, source: none.mp4, max_picture: 64x64}
models:
  - {name: a, manifest: m.yaml, cameras: [gate], classes: {circle: object, square: object}, unmapped: drop}
  - {name: b, manifest: m.yaml, cameras: [gate], weight: 2}
`

func newRig(t *testing.T, text string) *rig {
	t.Helper()
	dir := t.TempDir()
	models, err := filepath.Abs("../testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	manifest := fmt.Sprintf("model: %s\nlayout: yolov8\n", filepath.Join(models, "shapes_yolo.onnx"))
	for name, content := range map[string]string{"skewgate.yaml": text, "m.yaml": manifest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg, problems := config.Load(filepath.Join(dir, "skewgate.yaml"), config.Options{})
	if cfg == nil {
		t.Fatal(problems)
	}
	r := &rig{t: t}
	o := Options{
		Log: slog.New(slog.DiscardHandler), RunDir: filepath.Join(dir, "run"), Self: "/bin/true", Detect: "/bin/true",
		Tap: func(f *Fused) { r.got = append(r.got, f.Clone()) },
	}
	if r.Appliance, err = New(cfg, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.release(); err != nil {
			t.Error(err)
		}
	})
	r.now = clock.Now() // after whatever the path was told while it was built
	if r.frames, err = shm.NewFrameWriter(r.path.cameras[0].ring.Bytes(), 1, nil); err != nil {
		t.Fatal(err)
	}
	r.frames.NextStreamEpoch()
	for _, rep := range r.path.replicas {
		if rep.foreign != nil {
			continue
		}
		w, err := shm.NewWriter(rep.segment.Bytes(), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := w.RegisterStream("box", "gate", 1)
		if err != nil {
			t.Fatal(err)
		}
		r.writers, r.streams = append(r.writers, w), append(r.streams, stream)
		rep.word.ready = []byte(`{"names":["circle","square","triangle"]}`)
		r.path.employ(r.now, rep)
	}
	return r
}

// publish lets model m answer frame id, arriving at the given instant.
func (r *rig) publish(m int, id uint64, arrival clock.Mono, boxes ...detect.Box) {
	r.t.Helper()
	h := shm.SlotHeader{
		CaptureNS: int64(id) * 33e6, PublishNS: int64(arrival), FrameID: id, Tag: id, Stream: r.streams[m], StreamEpoch: 1,
		Kind: shm.KindBoxes, Count: uint16(len(boxes)),
	}
	if err := r.writers[m].Publish(&h, detect.AppendPacked(nil, boxes)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) turn(after clock.Mono) int {
	r.now += after
	return r.path.turn(r.now)
}

var aBox = detect.Box{X1: .1, Y1: .1, X2: .5, Y2: .5, Score: .8, Label: 0}

// Rings are merged by the writers' publish times, whatever ring is looked at first.
func TestMessagesAreMergedByArrival(t *testing.T) {
	r := newRig(t, rigConfig)
	start := r.now
	r.turn(1000) // both rings seen empty
	r.publish(0, 1, start+5000, aBox)
	r.publish(1, 1, start+3000, aBox)
	r.turn(9000)
	if len(r.got) != 1 {
		t.Fatalf("want one frame, got %d", len(r.got))
	}
	f := r.got[0].Frame
	if f.FirstArrival != start+3000 || f.LastArrival != start+5000 || f.Reason != "quorum" {
		t.Errorf("arrivals: want %d and %d, got %d and %d (%s)", start+3000, start+5000, f.FirstArrival, f.LastArrival, f.Reason)
	}
}

// A publish time is a child's word: it cannot lie before the last empty look or after now.
func TestArrivalIsClamped(t *testing.T) {
	r := newRig(t, rigConfig)
	r.turn(1000)
	empty := r.now
	r.publish(0, 1, 1, aBox)
	r.publish(1, 1, 1<<62, aBox)
	r.turn(1000)
	f := r.got[0].Frame
	if f.FirstArrival != empty || f.LastArrival != r.now {
		t.Errorf("want arrivals clamped to %d and %d, got %d and %d", empty, r.now, f.FirstArrival, f.LastArrival)
	}
}

// Class maps: mapped labels join, unmapped ones of a model that drops are gone, those
// of a model that passes keep their name; the label no model has is rejected.
func TestClassMaps(t *testing.T) {
	r := newRig(t, rigConfig)
	circle, square, triangle, unknown := aBox, aBox, aBox, aBox
	square.X1, square.X2, square.Label = .6, .9, 1
	triangle.Label, unknown.Label = 2, 99
	r.publish(0, 1, r.now, circle, square, triangle, unknown)
	r.publish(1, 1, r.now, triangle)
	r.turn(1000)
	var labels []string
	for _, b := range r.got[0].Frame.Boxes {
		labels = append(labels, b.Label)
	}
	if got := strings.Join(labels, " "); strings.Count(got, "object") != 2 || strings.Count(got, "triangle") != 1 || len(labels) != 3 {
		t.Errorf("fused labels: want object twice and triangle once, got %q", got)
	}
	r.path.takeView(r.now)
	rejected := r.Status().Fusion.Rejected
	if rejected["unknown_label"] != 1 || rejected["dropped_class"] != 1 {
		t.Errorf("rejected boxes: want one unknown_label and one dropped_class, got %v", rejected)
	}
}

// A detector may only speak of cameras it was given.
func TestForeignCameraIsRefused(t *testing.T) {
	r := newRig(t, rigConfig)
	stream, err := r.writers[0].RegisterStream("box", "elsewhere", 1)
	if err != nil {
		t.Fatal(err)
	}
	r.streams[0] = stream
	r.publish(0, 1, r.now, aBox)
	r.publish(1, 1, r.now, aBox)
	r.turn(1000)
	r.path.takeView(r.now)
	d := r.Status()
	if len(r.got) != 0 || d.Correlation.Counters["refused"] != 1 || d.Correlation.Counters["received"] != 1 {
		t.Errorf("want the message refused, got %d frames, counters %v", len(r.got), d.Correlation.Counters)
	}
}

// R002-6, F27: nonsense in one ring sets that ring aside; the other goes on, and
// written = read + lost holds for both.
func TestQuarantineTouchesOneRing(t *testing.T) {
	r := newRig(t, rigConfig)
	r.publish(0, 1, r.now, aBox)
	r.publish(1, 1, r.now, aBox)
	r.turn(1000)
	header := r.path.replicas[0].segment.Bytes()
	hotAt := int(header[40]) | int(header[41])<<8
	copy(header[hotAt:], []byte{255, 255, 255, 255, 255, 255, 255, 255})
	r.publish(1, 2, r.now, aBox)
	r.turn(1000)
	if r.path.replicas[0].quarantine == "" || r.path.replicas[1].quarantine != "" {
		t.Fatalf("quarantine: got %q and %q", r.path.replicas[0].quarantine, r.path.replicas[1].quarantine)
	}
	r.turn(1000)
	if len(r.got) != 2 || len(r.got[1].Members) != 1 || r.got[1].Frame.Missing[0].Why != "dead" {
		t.Errorf("want the second frame from b alone at once, got %d frames", len(r.got))
	}
}

// Pictures that the path was too slow for are counted, the newest are offered.
func TestLappedPicturesAreCounted(t *testing.T) {
	r := newRig(t, rigConfig)
	const published = 3 * frameSlots
	for id := uint64(1); id <= published; id++ {
		b, err := r.frames.Begin(64 * 64 * 3 / 2)
		if err != nil {
			t.Fatal(err)
		}
		b[0] = byte(id)
		m := shm.FrameMeta{FrameID: id, StreamEpoch: 1, Width: 64, Height: 64, Format: shm.FormatI420, PublishNS: int64(r.now)}
		if _, err := r.frames.Publish(&m); err != nil {
			t.Fatal(err)
		}
	}
	r.turn(1000)
	r.path.takeView(r.now)
	c := r.Status().Cameras[0]
	if c.FramesLost != published-frameSlots || c.Frames != frameSlots {
		t.Errorf("want %d lost and %d seen, got %d and %d", published-frameSlots, frameSlots, c.FramesLost, c.Frames)
	}
	if m := r.Status().Models[0]; m.Assigned != 1 || m.Dropped["superseded"] != frameSlots-2 {
		t.Errorf("want the first assigned and all but the newest superseded, got %d and %v", m.Assigned, m.Dropped)
	}
	// A ring that is laid out anew after nonsense takes nothing of what was counted.
	if err := r.path.cameras[0].layOut("box"); err != nil {
		t.Fatal(err)
	}
	r.path.takeView(r.now)
	if again := r.Status().Cameras[0]; again.Frames != c.Frames || again.FramesLost != c.FramesLost || again.LastFrameAgeMS == nil || again.StreamEpoch != 1 {
		t.Errorf("after a new ring: %d frames, %d lost, age %v, stream epoch %d", again.Frames, again.FramesLost, again.LastFrameAgeMS, again.StreamEpoch)
	}
}

// One frame through the path, from two rings to the callback, allocates nothing.
func TestPathAllocatesNothing(t *testing.T) {
	r := newRig(t, rigConfig)
	r.o.Tap = nil
	r.path.nextView = 1 << 62 // the status view is made by the clock, not per frame
	id := uint64(0)
	body := detect.AppendPacked(nil, []detect.Box{aBox, aBox, aBox})
	frame := func() {
		id++
		r.now += 33_000_000
		for m := range r.writers {
			h := shm.SlotHeader{
				CaptureNS: int64(id) * 33e6, PublishNS: int64(r.now), FrameID: id, Stream: r.streams[m], StreamEpoch: 1,
				Kind: shm.KindBoxes, Count: 3,
			}
			if err := r.writers[m].Publish(&h, body); err != nil {
				t.Fatal(err)
			}
		}
		r.path.turn(r.now)
	}
	for range 5000 { // closed records and windows reach their working size
		frame()
	}
	before := r.path.out.seq
	if n := testing.AllocsPerRun(1000, frame); n != 0 {
		t.Errorf("allocations per frame: want 0, got %v", n)
	}
	if got := r.path.out.seq - before; got < 1000 {
		t.Errorf("frames published while counting: %d", got)
	}
}

// CORRELATION §7: a detector that says nothing while another one of its camera speaks
// leaves the quorum after hung_after, is named, and returns with its next message. Two
// that are silent together, because the camera pauses, both stay.
func TestHungDetectorLeavesTheQuorum(t *testing.T) {
	r := newRig(t, strings.Replace(rigConfig, "cameras:", "correlation: {hung_after: 2s}\ncameras:", 1))
	const second = clock.Mono(1e9)
	r.publish(0, 1, r.now, aBox)
	r.publish(1, 1, r.now, aBox)
	r.turn(1000)
	r.turn(60 * second) // the camera pauses
	r.publish(0, 2, r.now, aBox)
	r.publish(1, 2, r.now, aBox)
	r.turn(1000)
	if got := r.got[len(r.got)-1]; len(r.got) != 2 || len(got.Members) != 2 {
		t.Fatalf("after a pause: want both in frame 2, got %d frames, the last from %d models", len(r.got), len(got.Members))
	}
	for id := uint64(3); id < 6; id++ { // b hangs
		r.turn(second)
		r.publish(0, id, r.now, aBox)
		r.turn(1000)
	}
	r.turn(second)
	if hung := r.Status().Models[1].HangsOn; len(hung) != 1 || hung[0] != "gate" {
		t.Fatalf("status: want b to hang on gate, got %v", hung)
	}
	before := len(r.got)
	r.publish(0, 6, r.now, aBox)
	r.turn(1000)
	if len(r.got) != before+1 || r.got[before].Frame.Reason != "quorum" || r.got[before].Frame.Missing[0].Why != "dead" {
		t.Errorf("a frame while b hangs: want it at once and b dead, got %d new frames", len(r.got)-before)
	}
	r.publish(0, 7, r.now, aBox)
	r.publish(1, 7, r.now, aBox)
	r.turn(second)
	if last := r.got[len(r.got)-1]; last.FrameID != 7 {
		t.Errorf("b is back: want frame 7, got %d", last.FrameID)
	}
	r.publish(0, 8, r.now, aBox)
	r.turn(1000)
	if last := r.got[len(r.got)-1]; last.FrameID != 7 {
		t.Errorf("b is back, so frame 8 waits for it, but it came out as %d", last.FrameID)
	}
	r.path.takeView(r.now)
	if hung := r.Status().Models[1].HangsOn; len(hung) != 0 {
		t.Errorf("status after its message: want no hang, got %v", hung)
	}
}

// A detector that was asked to go and has ended is out of the quorum like one that was
// lost: no frame waits for it.
func TestDetectorThatLeftIsNotWaitedFor(t *testing.T) {
	r := newRig(t, rigConfig)
	r.publish(0, 1, r.now, aBox)
	r.publish(1, 1, r.now, aBox)
	r.turn(1000)
	b := r.path.replicas[1]
	w := b.word
	w.state = supervise.StateDraining
	r.path.hearReplica(r.now, b, w)
	r.publish(1, 2, r.now, aBox) // what it still held
	r.publish(0, 2, r.now, aBox)
	r.turn(1000)
	if len(r.got) != 2 || len(r.got[1].Members) != 2 {
		t.Fatalf("while it drains: want its last answer in frame 2, got %d frames", len(r.got))
	}
	w.state = supervise.StateStopped
	r.path.hearReplica(r.now, b, w)
	r.publish(0, 3, r.now, aBox)
	r.turn(1000)
	if len(r.got) != 3 || r.got[2].Frame.Reason != "quorum" || r.got[2].Frame.Missing[0].Why != "dead" {
		t.Errorf("after it ended: want frame 3 at once without it, got %d frames", len(r.got))
	}
}

// F12: the lock names its holder and dies with it.
func TestStateLock(t *testing.T) {
	dir := t.TempDir()
	first, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lockState(dir)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("second lock: want the holder named, got %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := lockState(dir)
	if err != nil {
		t.Errorf("lock after its holder went: %v", err)
	} else {
		again.Close()
	}
}
