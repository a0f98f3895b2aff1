package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/capture"
	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/shm"
)

// events keeps what the supervisor says of the one capture.
type events struct {
	mu  sync.Mutex
	all []supervise.Event
}

func (e *events) put(event supervise.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

// await returns the first event that is as wanted.
func (e *events) await(t *testing.T, what string, wanted func(supervise.Event) bool) supervise.Event {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		e.mu.Lock()
		for _, event := range e.all {
			if wanted(event) {
				e.mu.Unlock()
				return event
			}
		}
		e.mu.Unlock()
	}
	t.Fatalf("the supervisor never said: %s; it said %+v", what, e.all)
	return supervise.Event{}
}

// captureRig is a capture under the real supervisor, and the appliance's ends of its memory.
type captureRig struct {
	sup    *supervise.Supervisor
	said   *events
	frames *shm.FrameReader
	pace   *shm.DispatchWriter
	seen   uint64
}

func superviseCapture(t *testing.T, job capture.Job) *captureRig {
	t.Helper()
	segment := func(name string, size int, format func([]byte) error) *shm.Segment {
		s, err := shm.CreateSegment(name, size)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		if err := format(s.Bytes()); err != nil {
			t.Fatal(err)
		}
		return s
	}
	cfg := shm.FrameRingConfig{Slots: 4, PixelBytes: 640 * 360 * 3 / 2, Unit: job.Unit, Camera: job.Camera}
	ring := segment("frames", cfg.Bytes(), func(b []byte) error { return shm.FormatFrameRing(b, cfg) })
	bell := segment("doorbell", shm.DoorbellBytes(), shm.FormatDoorbell)
	work := segment("dispatch", shm.DispatchBytes(2), func(b []byte) error { return shm.FormatDispatch(b, 2) })
	readOnly, err := work.OpenReadOnly()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { readOnly.Close() })
	r := &captureRig{said: new(events)}
	if r.frames, err = shm.NewFrameReader(ring.Bytes()); err != nil {
		t.Fatal(err)
	}
	if r.pace, err = shm.NewDispatchWriter(work.Bytes()); err != nil {
		t.Fatal(err)
	}
	r.pace.SetPeer(r.frames.Peer())
	if r.sup, err = supervise.New(supervise.Options{OnEvent: r.said.put}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := r.sup.Shutdown(ctx); err != nil && !errors.Is(err, supervise.ErrShutdown) {
			t.Error(err)
		}
	})
	err = r.sup.Add(supervise.Spec{
		Task: "capture/" + job.Camera, Path: program(t), Args: []string{"capture"}, Hello: job,
		Files: []supervise.File{{Name: "frames", F: ring.File()}, {Name: "dispatch", F: readOnly}, {Name: "doorbell", F: bell.File()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// next allows the ring's next picture and waits for it.
func (r *captureRig) next(t *testing.T) shm.FrameMeta {
	t.Helper()
	r.pace.SetAllowed(r.seen + 1)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
		if r.frames.Head() > r.seen {
			r.seen++
			m, ok := r.frames.Meta(r.seen)
			if !ok {
				t.Fatalf("picture %d was lost though it was waited for", r.seen)
			}
			return m
		}
	}
	t.Fatalf("picture %d did not come: %+v", r.seen+1, r.sup.Snapshot())
	return shm.FrameMeta{}
}

// groupOf lists the processes of a process group.
func groupOf(pgid int) (pids []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		var state string
		var ppid, group int
		if _, err := fmt.Sscan(rest, &state, &ppid, &group); err == nil && group == pgid && state != "Z" {
			pids = append(pids, filepath.Base(filepath.Dir(name)))
		}
	}
	return pids
}

// The whole film through the shipped program; then SIGKILL amid the next one.
func TestCaptureVerb(t *testing.T) {
	job := capture.Job{
		Unit: "u", Camera: "gate", Source: "../../testdata/models/shapes_video.mp4",
		Pace: capture.PaceFast, Loop: true, Tag: capture.TagBarcode, FFmpeg: "ffmpeg",
	}
	r := superviseCapture(t, job)
	for i := range uint64(300) {
		if m := r.next(t); m.FrameID != i+1 || m.Tag != i || m.StreamEpoch != 1 {
			t.Fatalf("picture %d: got %+v", i, m)
		}
	}
	if m := r.next(t); m.FrameID != 1 || m.Tag != 0 || m.StreamEpoch != 2 {
		t.Fatalf("want the loop to begin epoch 2, got %+v", m)
	}
	ready := r.said.await(t, "ready", func(e supervise.Event) bool { return e.State == supervise.StateReady })
	r.said.await(t, "streaming", func(e supervise.Event) bool { return e.Note == capture.StateStreaming })
	if n := len(groupOf(ready.PID)); n != 2 {
		t.Errorf("want capture and ffmpeg in one group, got %d processes", n)
	}

	if err := unix.Kill(ready.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.said.await(t, "exit by signal 9", func(e supervise.Event) bool { return e.Exit != nil && e.Exit.Signal == 9 })
	if left := groupOf(ready.PID); len(left) != 0 {
		t.Errorf("want nothing left of the killed group, got %v", left)
	}
	if m := r.next(t); m.FrameID != 1 || m.Tag != 0 || m.StreamEpoch != 3 {
		t.Errorf("want the successor to begin epoch 3, got %+v", m)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	second := r.sup.Snapshot()[0].PID
	if err := r.sup.Stop(ctx, "capture/gate"); err != nil {
		t.Fatal(err)
	}
	end := r.said.await(t, "second exit", func(e supervise.Event) bool { return e.Exit != nil && e.Exit.Start == 2 })
	if end.Exit.Code != 0 || end.Exit.Signal != 0 || end.Exit.Cause != supervise.CauseStop {
		t.Errorf("want exit 0 as asked, got %v", end.Exit)
	}
	if left := groupOf(second); len(left) != 0 {
		t.Errorf("want nothing left of the stopped group, got %v", left)
	}
}

// A source that is not there is no reason to end: the process stays and says why.
func TestCaptureVerbRetries(t *testing.T) {
	r := superviseCapture(t, capture.Job{Unit: "u", Camera: "gate", Source: "no/film.mp4"})
	e := r.said.await(t, "retrying", func(e supervise.Event) bool { return e.Note == capture.StateRetrying })
	if !strings.Contains(string(e.Detail), "No such file") {
		t.Errorf("want the reason told, got %s", e.Detail)
	}
	if s := r.sup.Snapshot()[0]; s.Start != 1 || s.State != supervise.StateReady {
		t.Errorf("want the first start still ready, got %+v", s)
	}
}

func TestCaptureVerbByHand(t *testing.T) {
	out, err := exec.Command(program(t), "capture").CombinedOutput()
	var exited *exec.ExitError
	if !errors.As(err, &exited) || exited.ExitCode() != exitUsage || !strings.Contains(string(out), "not started by skewgate") {
		t.Errorf("want exit %d and what to do, got %v: %s", exitUsage, err, out)
	}
}
