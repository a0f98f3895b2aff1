package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/skewgate/skewgate/shm"
)

// A ringRun is one run over our ring between two processes of this program.
type ringRun struct {
	slots    int
	messages uint64
	rate     float64 // 0 = flat out
	poisson  bool
	wait     string
	bell     bool // the writer has a doorbell; with wait adaptive it always has
	warmup   uint64
	limit    time.Duration
	mayFail  bool // the writer may turn out to be too slow for the rate
}

// ring makes the segments and lets the two roles run. Each message is accounted for:
// received or, at a given rate, lost.
func (h *Harness) ring(ctx context.Context, run ringRun) (read, wrote *result, err error) {
	s, err := newRingSegments(run)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	j := job{
		Slots: uint64(run.slots), Messages: run.messages, Rate: run.rate, Poisson: run.poisson, Seed: 1, Wait: run.wait, Bell: run.bell || run.wait == waitAdaptive, Warmup: run.warmup,
		LimitNS: int64(run.limit), MayFail: run.mayFail,
	}
	role := func(name string, cpu int, ring *os.File) func(context.Context) (*process, error) {
		j := j
		j.Role, j.CPU = name, cpu
		return func(ctx context.Context) (*process, error) {
			text, err := json.Marshal(j)
			if err != nil {
				return nil, err
			}
			command := append(append([]string{}, h.Program...), string(text))
			return start(ctx, name, command, []*os.File{ring, s.control.File(), s.bell.File()})
		}
	}
	read, wrote, err = runBoth(ctx, run.limit, role("reader", h.readerCPU, s.readOnly), role("writer", h.writerCPU, s.ring.File()))
	if err != nil {
		return nil, nil, err
	}
	if wrote.Messages != run.messages && !wrote.CutShort || read.Messages+read.Lost != wrote.Messages {
		return nil, nil, fmt.Errorf("%d messages wanted, %d sent, %d received, %d lost: they do not add up", run.messages, wrote.Messages, read.Messages, read.Lost)
	}
	return read, wrote, nil
}

// ringSegments are the memory of one run.
type ringSegments struct {
	ring, control, bell *shm.Segment
	readOnly            *os.File
}

func newRingSegments(run ringRun) (s *ringSegments, err error) {
	s = &ringSegments{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	c := shm.RingConfig{Slots: run.slots, PayloadBytes: messageBytes, Model: "bench"}
	if s.ring, err = shm.CreateSegment("bench-ring", c.Bytes()); err != nil {
		return s, err
	}
	if err = shm.FormatRing(s.ring.Bytes(), c); err != nil {
		return s, err
	}
	if s.readOnly, err = s.ring.OpenReadOnly(); err != nil {
		return s, err
	}
	if s.bell, err = shm.CreateSegment("bench-bell", shm.DoorbellBytes()); err != nil {
		return s, err
	}
	if err = shm.FormatDoorbell(s.bell.Bytes()); err != nil {
		return s, err
	}
	s.control, err = newPlainSegment("control", controlBytes)
	return s, err
}

func (s *ringSegments) close() error {
	var errs []error
	for _, segment := range []*shm.Segment{s.ring, s.control, s.bell} {
		if segment != nil {
			errs = append(errs, segment.Close())
		}
	}
	if s.readOnly != nil {
		errs = append(errs, s.readOnly.Close())
	}
	return errors.Join(errs...)
}
