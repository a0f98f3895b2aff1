package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/onnx"
	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/shm"
)

const (
	models  = "../../testdata/models/"
	patient = 30 * time.Second // for anything another process does, on a busy machine
)

// program is the real skewgate-detect, built once for all tests.
var program string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "skewgate-detect-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "skewgate-detect")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build skewgate-detect: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// needLibrary is the real ONNX Runtime. Without it these tests prove nothing, so they fail.
func needLibrary(t testing.TB) string {
	t.Helper()
	found, tried := new(config.Runtime).FindLibrary("../../bin/skewgate", os.LookupEnv)
	if found == "" {
		t.Fatalf("no ONNX Runtime at %s\nthis test runs real models: run scripts/fetch-onnxruntime.sh first", tried)
	}
	path, err := filepath.Abs(found)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// shipped is one of the shipped manifests as a job carries it.
func shipped(t testing.TB, name string) onnx.Manifest {
	t.Helper()
	path, err := filepath.Abs(models + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, problems := config.LoadManifest(path, config.Options{})
	if config.HasErrors(problems) {
		t.Fatal(problems)
	}
	return onnx.Manifest{Model: c.Model, SHA256: c.SHA256, Layout: string(c.Layout), Threshold: c.Threshold, NMSIoU: c.NMSIoU, MaxBoxes: c.MaxBoxes}
}

// bench is the appliance's side of one detector: real segments, a real supervisor, the real program.
type bench struct {
	t      *testing.T
	events chan supervise.Event
	sup    *supervise.Supervisor
	job    job
	files  []supervise.File

	ring     *shm.Reader
	dispatch *shm.DispatchWriter
	bell     *shm.Doorbell
	frames   []*shm.FrameWriter
	frameMem [][]byte
	body     []byte
}

type source struct {
	name, tag     string
	width, height int
	slots         int
}

const task = "detect/test/0"

func newBench(t *testing.T, m onnx.Manifest, sources ...source) *bench {
	t.Helper()
	b := &bench{t: t, events: make(chan supervise.Event, 1000), body: make([]byte, 1<<16)}
	b.job = job{Unit: "u1", Model: "test", Generation: 7, Manifest: m, Library: needLibrary(t), Threads: 1}

	rc := shm.RingConfig{Slots: 64, PayloadBytes: m.MaxBoxes * boxBytes, Model: "test"}
	ring := b.segment("ring", rc.Bytes(), true, func(p []byte) error { return shm.FormatRing(p, rc) })
	dispatch := b.segment("dispatch", shm.DispatchBytes(8), false, func(p []byte) error { return shm.FormatDispatch(p, 8) })
	bell := b.segment("doorbell", shm.DoorbellBytes(), true, shm.FormatDoorbell)
	var err error
	if b.ring, err = shm.NewReader(ring); err != nil {
		t.Fatal(err)
	}
	if b.dispatch, err = shm.NewDispatchWriter(dispatch); err != nil {
		t.Fatal(err)
	}
	b.dispatch.SetPeer(b.ring.Peer())
	if b.bell, err = shm.NewDoorbell(bell); err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		fc := shm.FrameRingConfig{Slots: s.slots, PixelBytes: s.width * s.height * 3 / 2, Unit: "u1", Camera: s.name}
		mem := b.segment("frames/"+s.name, fc.Bytes(), false, func(p []byte) error { return shm.FormatFrameRing(p, fc) })
		w, err := shm.NewFrameWriter(mem, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.NextStreamEpoch()
		b.frames, b.frameMem = append(b.frames, w), append(b.frameMem, mem)
		b.job.Cameras = append(b.job.Cameras, jobCamera{Name: s.name, Tag: s.tag})
	}
	if b.sup, err = supervise.New(supervise.Options{OnEvent: func(e supervise.Event) { b.events <- e }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patient)
		defer cancel()
		if err := b.sup.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return b
}

// segment makes shared memory and keeps the file the child gets.
func (b *bench) segment(name string, size int, writable bool, format func([]byte) error) []byte {
	b.t.Helper()
	s, err := shm.CreateSegment(name, size)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { s.Close() })
	if err := format(s.Bytes()); err != nil {
		b.t.Fatal(err)
	}
	f := s.File()
	if !writable {
		if f, err = s.OpenReadOnly(); err != nil {
			b.t.Fatal(err)
		}
		b.t.Cleanup(func() { f.Close() })
	}
	b.files = append(b.files, supervise.File{Name: name, F: f})
	return s.Bytes()
}

func (b *bench) start() {
	b.t.Helper()
	err := b.sup.Add(supervise.Spec{Task: task, Path: program, Args: []string{"run"}, Files: b.files, Hello: b.job})
	if err != nil {
		b.t.Fatal(err)
	}
}

// wait returns the first event that is wanted.
func (b *bench) wait(what string, want func(supervise.Event) bool) supervise.Event {
	b.t.Helper()
	timeout := time.After(patient)
	for {
		select {
		case e := <-b.events:
			if want(e) {
				return e
			}
			if e.Exit != nil {
				b.t.Fatalf("waiting for %s: it ended: %v %q", what, e.Exit, e.Exit.LastStderr)
			}
		case <-timeout:
			b.t.Fatalf("no %s within %v", what, patient)
		}
	}
}

func (b *bench) ready() (readyReport, supervise.Event) {
	b.t.Helper()
	e := b.wait("ready", func(e supervise.Event) bool { return e.State == supervise.StateReady })
	var r readyReport
	if err := json.Unmarshal(e.Ready, &r); err != nil {
		b.t.Fatal(err)
	}
	return r, e
}

// publish puts a picture into a camera's ring, as capture does.
func (b *bench) publish(camera int, p onnx.Picture, frameID uint64) shm.FrameMeta {
	b.t.Helper()
	w := b.frames[camera]
	px, err := w.Begin(len(p.Pixels))
	if err != nil {
		b.t.Fatal(err)
	}
	copy(px, p.Pixels)
	m := shm.FrameMeta{
		CaptureNS: 1_000_000 * int64(frameID), FrameID: frameID, StreamEpoch: w.StreamEpoch(), PublishNS: int64(clock.Now()),
		Width: uint32(p.Width), Height: uint32(p.Height), Format: shm.FormatI420, ClockSource: shm.ClockFile,
	}
	if m.Seq, err = w.Publish(&m); err != nil {
		b.t.Fatal(err)
	}
	return m
}

// assign hands a picture over, as dispatch does.
func (b *bench) assign(camera uint32, m shm.FrameMeta, deadlineNS int64) {
	b.t.Helper()
	err := b.dispatch.Enqueue(&shm.Assignment{
		Camera: camera, FrameSeq: m.Seq, FrameID: m.FrameID, StreamEpoch: m.StreamEpoch, CaptureNS: m.CaptureNS,
		EnqueuedNS: int64(clock.Now()), DeadlineNS: deadlineNS,
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// settle waits until the detector is done with all that was assigned.
func (b *bench) settle() {
	b.t.Helper()
	for end := time.Now().Add(patient); b.ring.Done() != b.dispatch.Enq(); {
		if time.Now().After(end) {
			b.t.Fatalf("done %d of %d, outcomes %v", b.ring.Done(), b.dispatch.Enq(), b.ring.Outcomes())
		}
		if err := b.bell.Sleep(func() bool { return b.ring.Done() == b.dispatch.Enq() }, int64(time.Millisecond)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// next is the next message, which must be there.
func (b *bench) next() (shm.SlotHeader, []detect.Box) {
	b.t.Helper()
	var h shm.SlotHeader
	n, ok, err := b.ring.Next(&h, b.body)
	if err != nil || !ok {
		b.t.Fatalf("want a message, got %v %v", ok, err)
	}
	boxes, err := detect.AppendUnpacked(nil, b.body[:n], int(h.Count))
	if err != nil {
		b.t.Fatal(err)
	}
	return h, boxes
}

func (b *bench) noMessage() {
	b.t.Helper()
	var h shm.SlotHeader
	if _, ok, err := b.ring.Next(&h, b.body); ok || err != nil {
		b.t.Fatalf("want no message, got %+v %v", h, err)
	}
}
