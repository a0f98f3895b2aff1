package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/capture"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect/eval"
	"github.com/skewgate/skewgate/appliance/onnx"
	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/shm"
)

// film decodes the shapes film with the real ffmpeg; the pixels are valid during see only.
func film(t *testing.T, see func(k int, p onnx.Picture)) {
	t.Helper()
	cmd := exec.Command("ffmpeg", "-loglevel", "error", "-threads", "1", "-i", models+"shapes_video.mp4", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("decode the film: %v; install ffmpeg", err)
	}
	p := onnx.Picture{Pixels: make([]byte, 640*360*3/2), Width: 640, Height: 360}
	r := bufio.NewReaderSize(out, 1<<20)
	for k := 0; ; k++ {
		if _, err := io.ReadFull(r, p.Pixels); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		see(k, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

var shapes = source{name: "shapes", tag: "barcode", width: 640, height: 360, slots: 4}

// The whole film through the real program: one answer a picture, each with the header of its own
// picture and the barcode of the pixels that were used, with the published precision and recall.
func TestFilmThroughTheRings(t *testing.T) {
	b := newBench(t, shipped(t, "shapes_yolo"), shapes)
	b.start()
	r, _ := b.ready()
	if r.Width != 320 || r.Height != 320 || r.Layout != onnx.LayoutYOLOv8 || r.Provider == "" || r.LibraryVersion < "1.24" ||
		r.WarmUpMS <= 0 || r.ModelSHA256 != b.job.Manifest.SHA256 || strings.Join(r.Names, " ") != "circle square triangle" {
		t.Errorf("ready report %+v", r)
	}
	if i := b.ring.Info(); i.State != shm.StateReady || i.Generation != 7 || i.PID == 0 {
		t.Errorf("ring says %+v", i)
	}

	file, err := os.Open(models + "shapes_video.truth.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	truth, err := eval.ReadTruth(file, 640, 360, r.Names)
	if err != nil {
		t.Fatal(err)
	}
	var score eval.Score
	pictures := 0
	film(t, func(k int, p onnx.Picture) {
		m := b.publish(0, p, uint64(k+1))
		b.assign(0, m, 0)
		b.settle()
		h, boxes := b.next()
		if h.FrameID != m.FrameID || h.CaptureNS != m.CaptureNS || h.StreamEpoch != m.StreamEpoch || h.Kind != shm.KindBoxes {
			t.Fatalf("picture %d: message %+v of frame %+v", k, h, m)
		}
		if h.Tag != uint64(k) {
			t.Errorf("picture %d: barcode %d", k, h.Tag)
		}
		if now := int64(clock.Now()); h.PublishNS < m.PublishNS || h.PublishNS > now {
			t.Errorf("picture %d: published at %d, put into the ring at %d, now %d", k, h.PublishNS, m.PublishNS, now)
		}
		if s, ok := b.ring.Stream(h.Stream); !ok || s.Unit != "u1" || s.Camera != "shapes" || s.Epoch != m.StreamEpoch {
			t.Fatalf("picture %d: stream %+v %v", k, s, ok)
		}
		found := make([]eval.Found, len(boxes))
		for i, x := range boxes {
			found[i] = eval.Found{X1: float64(x.X1), Y1: float64(x.Y1), X2: float64(x.X2), Y2: float64(x.Y2), Score: float64(x.Score), Label: r.Names[x.Label]}
		}
		score.Add(found, &truth[k], eval.Options{IoU: .5})
		pictures++
	})
	b.noMessage()
	if o := b.ring.Outcomes(); pictures != 300 || o != [shm.NumOutcomes]uint64{shm.OutcomeOK: 300} {
		t.Errorf("%d pictures, outcomes %v", pictures, o)
	}
	t.Logf("precision %.3f recall %.3f", score.Precision(), score.Recall())
	if p, r := score.Precision(), score.Recall(); p < .70 || p > .76 || r < .73 || r > .79 {
		t.Errorf("want about .728 and .757, got %.3f and %.3f", p, r)
	}
}

// grey is a picture nothing is found in and no barcode is on.
func grey(width, height int) onnx.Picture {
	return onnx.Picture{Pixels: bytes.Repeat([]byte{128}, width*height+2*((width+1)/2)*((height+1)/2)), Width: width, Height: height}
}

func TestOutcomes(t *testing.T) {
	b := newBench(t, shipped(t, "people_small"), source{"road", "none", 768, 576, 4}, source{"yard", "barcode", 640, 360, 4})
	b.start()
	b.ready()
	want := [shm.NumOutcomes]uint64{}
	check := func(what string, o shm.Outcome) {
		t.Helper()
		b.settle()
		want[o]++
		if got := b.ring.Outcomes(); got != want {
			t.Fatalf("%s: want outcomes %v, got %v", what, want, got)
		}
		if b.ring.Taken() != b.dispatch.Enq() {
			t.Errorf("%s: taken %d of %d", what, b.ring.Taken(), b.dispatch.Enq())
		}
	}

	// Nothing found is an answer, with the header's tag where none is to be read from the pixels.
	m := b.publish(0, grey(768, 576), 1)
	b.assign(0, m, int64(clock.Now().Add(patient)))
	check("empty", shm.OutcomeOK)
	if h, boxes := b.next(); len(boxes) != 0 || h.Count != 0 || h.Length != 0 || h.FrameID != 1 || h.Tag != 0 {
		t.Errorf("empty: %+v %v", h, boxes)
	}

	// The other camera; no barcode to read on it.
	b.assign(1, b.publish(1, grey(640, 360), 1), 0)
	check("no barcode", shm.OutcomeOK)
	if h, _ := b.next(); h.Tag != capture.NoTag {
		t.Errorf("unreadable barcode: tag %d", h.Tag)
	}

	b.assign(0, b.publish(0, grey(768, 576), 2), int64(clock.Now())-1)
	check("expired", shm.OutcomeExpired)

	gone := b.publish(0, grey(768, 576), 3)
	for id := range uint64(4) {
		b.publish(0, grey(768, 576), 4+id)
	}
	b.assign(0, gone, 0)
	check("overwritten", shm.OutcomeLapped)

	b.assign(2, m, 0)
	check("camera out of range", shm.OutcomeError)

	// Another size in the same ring, and a new epoch of the stream.
	b.frames[0].NextStreamEpoch()
	m = b.publish(0, grey(101, 77), 1)
	b.assign(0, m, 0)
	check("odd size", shm.OutcomeOK)
	h, _ := b.next()
	if s, ok := b.ring.Stream(h.Stream); !ok || h.StreamEpoch != 2 || s.Epoch != 2 || s.Camera != "road" {
		t.Errorf("new epoch: %+v %+v", h, s)
	}

	// Too thin for the input: an error of this picture alone.
	b.assign(0, b.publish(0, grey(8192, 2), 2), 0)
	check("too thin", shm.OutcomeError)
	b.assign(0, b.publish(0, grey(768, 576), 3), 0)
	check("after errors", shm.OutcomeOK)
	b.next()
	b.noMessage()
}

// A camera that overwrites pictures while they are being used costs those pictures and mixes none:
// the barcode of the pixels used is always the one of the header published with them.
func TestOverwrittenWhileInUse(t *testing.T) {
	const kept, rounds = 40, 4000
	b := newBench(t, shipped(t, "shapes_yolo"), source{"shapes", "barcode", 640, 360, 2})
	b.start()
	b.ready()
	var pictures []onnx.Picture
	film(t, func(k int, p onnx.Picture) {
		if k < kept {
			p.Pixels = bytes.Clone(p.Pixels)
			pictures = append(pictures, p)
		}
	})
	answers := 0
	collect := func() {
		var h shm.SlotHeader
		for {
			_, ok, err := b.ring.Next(&h, b.body)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return
			}
			answers++
			if want := (h.FrameID - 1) % kept; h.Tag != want {
				t.Fatalf("frame %d holds picture %d, its message was made of picture %d", h.FrameID, want, h.Tag)
			}
		}
	}
	for i := range rounds {
		m := b.publish(0, pictures[i%kept], uint64(i+1))
		if b.dispatch.Enq() == b.ring.Done() {
			b.assign(0, m, 0)
		}
		if i%8 == 0 { // now and then a picture is left in peace
			time.Sleep(time.Millisecond)
		}
		collect()
	}
	b.settle()
	collect()
	o := b.ring.Outcomes()
	t.Logf("%d answers, %d overwritten while in use", o[shm.OutcomeOK], o[shm.OutcomeLapped])
	if o[shm.OutcomeOK] != uint64(answers) || o[shm.OutcomeOK]+o[shm.OutcomeLapped] != b.dispatch.Enq() {
		t.Errorf("%d answers, outcomes %v of %d", answers, o, b.dispatch.Enq())
	}
	if o[shm.OutcomeOK] < 10 || o[shm.OutcomeLapped] < 10 {
		t.Errorf("too few of either kind to prove anything: %v", o)
	}
}

// Assignments that were overwritten before they could be taken are accounted for: done is always
// the sum of the outcomes, and reaches enq.
func TestMissedAssignmentsAreCounted(t *testing.T) {
	b := newBench(t, shipped(t, "people_small"), source{"road", "none", 768, 576, 4})
	b.start()
	_, e := b.ready()
	if err := syscall.Kill(e.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	m := b.publish(0, grey(768, 576), 1)
	for range 20 {
		b.assign(0, m, 0)
	}
	if err := syscall.Kill(e.PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.settle()
	sum := uint64(0)
	for _, n := range b.ring.Outcomes() {
		sum += n
	}
	// The dispatch segment holds 8.
	if o := b.ring.Outcomes(); sum != 20 || o[shm.OutcomeDropped] < 12 || o[shm.OutcomeOK] < 1 {
		t.Errorf("outcomes %v", o)
	}
}

// A frame ring that makes no sense costs its pictures, is told on stderr, and works again once it
// was laid out anew.
func TestHostileFrameRing(t *testing.T) {
	b := newBench(t, shipped(t, "people_small"), source{"road", "none", 768, 576, 4})
	b.start()
	b.ready()
	m := b.publish(0, grey(768, 576), 1)
	whole := bytes.Clone(b.frameMem[0])
	for i := range b.frameMem[0][:64] {
		b.frameMem[0][i] ^= 0xff // magic, version, sizes
	}
	b.assign(0, m, 0)
	b.settle()
	copy(b.frameMem[0], whole)
	b.assign(0, m, 0)
	b.settle()
	if o := b.ring.Outcomes(); o[shm.OutcomeError] != 1 || o[shm.OutcomeOK] != 1 {
		t.Errorf("outcomes %v", o)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	if err := b.sup.Stop(ctx, task); err != nil {
		t.Fatal(err)
	}
	e := b.wait("end", func(e supervise.Event) bool { return e.Exit != nil })
	if told := strings.Join(e.Exit.LastStderr, "\n"); !strings.Contains(told, "picture 1 of camera 0") {
		t.Errorf("stderr %q", told)
	}
}

// Asked to end, it finishes and exits 0; killed, its successor goes on in the same ring and takes
// none of its predecessor's work.
func TestEndAndSuccession(t *testing.T) {
	b := newBench(t, shipped(t, "people_small"), source{"road", "none", 768, 576, 4})
	b.start()
	_, first := b.ready()
	m := b.publish(0, grey(768, 576), 1)
	b.assign(0, m, 0)
	b.settle()
	if h, _ := b.next(); h.Sequence != 1 {
		t.Errorf("first message has sequence %d", h.Sequence)
	}
	epoch := b.ring.Info().RingEpoch

	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	e := b.wait("end", func(e supervise.Event) bool { return e.Exit != nil })
	if e.Exit.Signal != 9 {
		t.Errorf("exit record %v", e.Exit)
	}
	b.assign(0, m, 0) // for the dead one
	_, second := b.ready()
	t.Logf("killed and ready again after %v", time.Since(killed).Round(time.Millisecond))
	if time.Since(killed) > 3*time.Second {
		t.Errorf("ready only %v after the kill, want 3 s", time.Since(killed))
	}
	if second.PID == first.PID || b.ring.Info().RingEpoch != epoch+1 {
		t.Errorf("ring epoch %d after %d", b.ring.Info().RingEpoch, epoch)
	}
	if b.ring.Done() != b.dispatch.Enq() {
		t.Errorf("the successor begins at %d, want %d", b.ring.Done(), b.dispatch.Enq())
	}
	b.noMessage()
	b.assign(0, m, 0)
	b.settle()
	if h, _ := b.next(); h.Sequence != 2 || h.FrameID != 1 {
		t.Errorf("the successor's message %+v", h)
	}

	before := b.ring.Info().HeartbeatNS
	time.Sleep(time.Second)
	if beat := b.ring.Info().HeartbeatNS - before; beat < int64(500*time.Millisecond) {
		t.Errorf("heartbeat moved %v in a second without work", time.Duration(beat))
	}

	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	if err := b.sup.Stop(ctx, task); err != nil {
		t.Fatal(err)
	}
	e = b.wait("end", func(e supervise.Event) bool { return e.Exit != nil })
	if e.Exit.Code != 0 || e.Exit.Signal != 0 || e.Exit.Cause != supervise.CauseStop {
		t.Errorf("exit record %v", e.Exit)
	}
	if s := b.ring.Info().State; s != shm.StateDraining {
		t.Errorf("ring says %v", s)
	}
}

// What is wrong with a model, a library or a job ends the process with words that say so.
func TestRefusals(t *testing.T) {
	good := shipped(t, "people_small")
	broken := filepath.Join(t.TempDir(), "broken.onnx")
	if err := os.WriteFile(broken, []byte("\x08\x08half a model"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func(*job)
		want   []string
	}{
		{"BrokenModel", func(j *job) { j.Manifest.Model, j.Manifest.SHA256 = broken, "" }, []string{"broken.onnx", "no whole ONNX model"}},
		{"OtherModel", func(j *job) { j.Manifest.SHA256 = strings.Repeat("00", 32) }, []string{"SHA-256", "manifest wants 0000"}},
		{"NoLibrary", func(j *job) { j.Library = "/nonexistent/lib.so" }, []string{"/nonexistent/lib.so", "scripts/fetch-onnxruntime.sh"}},
		{"WrongNames", func(j *job) { j.Manifest.Names = []string{"a", "b"} }, []string{"2 class names do not fit"}},
		{"NoThreads", func(j *job) { j.Threads = 0 }, []string{"0 threads"}},
		{"Cameras", func(j *job) { j.Cameras = nil; j.Unit = "" }, []string{"0 cameras", `unit ""`}},
		{"Tag", func(j *job) { j.Cameras[0].Tag = "qr" }, []string{`tag "qr"`}},
		{"CameraWithoutFile", func(j *job) { j.Cameras[0].Name = "elsewhere" }, []string{`no file "frames/elsewhere"`}},
		{"RingTooSmall", func(j *job) { j.Manifest.MaxBoxes = 1000 }, []string{"max_boxes 1000 needs"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, good, source{"road", "none", 768, 576, 2})
			tt.change(&b.job)
			b.start()
			e := b.wait("end", func(e supervise.Event) bool { return e.Exit != nil })
			told := strings.Join(e.Exit.LastStderr, "\n")
			if e.Exit.Code != exitFailed {
				t.Errorf("exit record %v: %s", e.Exit, told)
			}
			for _, want := range tt.want {
				if !strings.Contains(told, want) {
					t.Errorf("want %q in: %s", want, told)
				}
			}
		})
	}
}

func TestRunByHand(t *testing.T) {
	out, err := exec.Command(program, "run").CombinedOutput()
	ee, ok := errors.AsType[*exec.ExitError](err)
	if !ok || ee.ExitCode() != exitUsage || !strings.Contains(string(out), "skewgate run") {
		t.Errorf("want exit %d and a pointer to skewgate run, got %v: %s", exitUsage, err, out)
	}
}
