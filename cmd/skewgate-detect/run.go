package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/onnx"
	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/shm"
)

// warmUpRuns come before ready: the first run of a model costs several times a later one.
const warmUpRuns = 3

func newRunCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Detect for a running skewgate (started by it, not by hand)",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return run() },
	}
}

// run is the whole life of the child: attach, load, warm up, work until the appliance asks for the
// end. An error ends the process; the supervisor keeps its words and starts it anew.
func run() error {
	var j job
	child, err := supervise.Attach(&j)
	if errors.Is(err, supervise.ErrNotAChild) {
		return &exitError{exitUsage, err}
	}
	if err != nil {
		return err
	}
	if err := j.check(); err != nil {
		return err
	}
	m, err := mapMemory(child, &j)
	if err != nil {
		return err
	}
	if err := report(child, m.ring, shm.StateBuilding); err != nil {
		return err
	}
	libraryVersion, err := onnx.OpenLibrary(j.Library)
	if err != nil {
		return err
	}
	detector, err := onnx.Load(&j.Manifest, j.Threads)
	if err != nil {
		return err
	}
	if err := report(child, m.ring, shm.StateWarming); err != nil {
		return err
	}
	start := clock.Now()
	if err := detector.WarmUp(warmUpRuns); err != nil {
		return fmt.Errorf("model %q: %w", j.Manifest.Model, err)
	}
	warmUp := clock.Now().Sub(start)

	// Only now: what was assigned before this was meant for a predecessor.
	work, err := shm.NewDispatchReader(m.dispatch)
	if err != nil {
		return err
	}
	m.ring.ResetWork(work.Enq())
	l := newLoop(&j, m, detector, work)
	m.ring.Heartbeat(int64(clock.Now()))
	m.ring.SetState(shm.StateReady)
	info := detector.Info()
	err = child.Ready(readyReport{
		Names: info.Names, Width: info.Width, Height: info.Height, Layout: info.Layout, Provider: info.Provider,
		LibraryVersion: libraryVersion, WarmUpMS: float64(warmUp) / float64(time.Millisecond), ModelSHA256: info.SHA256,
	})
	if err != nil {
		return err
	}
	if err := l.until(child.Done()); err != nil {
		return err
	}
	m.ring.SetState(shm.StateDraining)
	return detector.Close()
}

// report tells the state both ways: in the ring for whoever reads it, and to the supervisor.
func report(child *supervise.Child, ring *shm.Writer, s shm.State) error {
	ring.SetState(s)
	ring.Heartbeat(int64(clock.Now()))
	return child.State(s.String(), nil)
}

// memory is all shared memory of this process, mapped for its whole life.
type memory struct {
	ring     *shm.Writer
	dispatch []byte
	frames   [][]byte // by camera, in the job's order
}

func mapMemory(child *supervise.Child, j *job) (*memory, error) {
	segment := func(name string, writable bool) ([]byte, error) {
		f, err := child.File(name)
		if err != nil {
			return nil, err
		}
		s, err := shm.MapSegment(f, writable)
		if err != nil {
			return nil, err
		}
		return s.Bytes(), nil
	}
	bellBytes, err := segment("doorbell", true)
	if err != nil {
		return nil, err
	}
	bell, err := shm.NewDoorbell(bellBytes)
	if err != nil { // everybody may write that page: without it a message is seen some ms later
		fmt.Fprintln(os.Stderr, "skewgate-detect: go on without a doorbell:", err)
		bell = nil
	}
	ringBytes, err := segment("ring", true)
	if err != nil {
		return nil, err
	}
	m := &memory{}
	if m.ring, err = shm.NewWriter(ringBytes, uint32(os.Getpid()), bell); err != nil {
		return nil, err
	}
	m.ring.SetGeneration(j.Generation)
	m.ring.SetState(shm.StateStarting)
	if need := j.Manifest.MaxBoxes * boxBytes; need > m.ring.PayloadBytes() {
		return nil, fmt.Errorf("job: max_boxes %d needs messages of %d bytes, the ring's have %d", j.Manifest.MaxBoxes, need, m.ring.PayloadBytes())
	}
	if m.dispatch, err = segment("dispatch", false); err != nil {
		return nil, err
	}
	for _, c := range j.Cameras {
		frames, err := segment("frames/"+c.Name, false)
		if err != nil {
			return nil, err
		}
		m.frames = append(m.frames, frames)
	}
	return m, nil
}
