package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance/capture"
	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/shm"
)

// newCaptureCmd is the child that runs one camera. `skewgate run` starts it; by hand
// it only says so.
func newCaptureCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "capture",
		Short:  "Run one camera (started by skewgate itself)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			err := runCapture()
			if errors.Is(err, supervise.ErrNotAChild) {
				return exit(exitUsage, err)
			}
			return err
		},
	}
}

func runCapture() error {
	var job capture.Job
	child, err := supervise.Attach(&job)
	if err != nil {
		return fmt.Errorf("attach capture: %w", err)
	}
	bytes := func(name string, writable bool) []byte {
		if err != nil {
			return nil
		}
		var f *os.File
		if f, err = child.File(name); err != nil {
			return nil
		}
		// Mapped until the process ends.
		var s *shm.Segment
		if s, err = shm.MapSegment(f, writable); err != nil {
			return nil
		}
		return s.Bytes()
	}
	ring, page, work := bytes("frames", true), bytes("doorbell", true), bytes("dispatch", false)
	if err != nil {
		return err
	}
	bell, err := shm.NewDoorbell(page)
	if err != nil { // everybody may write that page: without it a picture is seen some ms later
		fmt.Fprintln(os.Stderr, "capture: go on without a doorbell:", err)
		bell = nil
	}
	frames, err := shm.NewFrameWriter(ring, uint32(os.Getpid()), bell)
	if err != nil {
		return err
	}
	allowed, err := shm.NewDispatchReader(work)
	if err != nil {
		return err
	}
	return capture.Run(child, job, frames, allowed, os.Stderr)
}
