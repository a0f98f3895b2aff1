package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/skewgate/skewgate/bench/load"
	"github.com/skewgate/skewgate/shm"
)

// maxSamples bounds the latencies that a C peer keeps: 80 MB of them.
const maxSamples = 10_000_000

// A cRun is one run between two processes of a C peer.
type cRun struct {
	program        string // in peers/, without .c
	reader, writer string // its first argument
	slots          int    // 0 = the program has no such argument
	messageBytes   int
	messages       uint64
	rate           float64 // 0 = flat out
	warmup         uint64
	limit          time.Duration
}

// cPair runs both sides of a C peer, pinned as ours are, in memory of the same sort.
func (h *Harness) cPair(ctx context.Context, run cRun) (read *result, err error) {
	program, err := h.compile(ctx, run.program)
	if err != nil {
		return nil, err
	}
	if run.rate > 0 && run.messages > maxSamples {
		return nil, fmt.Errorf("peer %s: %d latencies, can keep %d", run.program, run.messages, maxSamples)
	}
	// Two pages for indexes, or for the word and its times.
	sizes := []int{2*4096 + max(run.slots*run.messageBytes, 4096), controlBytes, 8}
	if run.rate > 0 {
		sizes[2] = 8 * int(run.messages)
	}
	var segments []*shm.Segment
	var files []*os.File
	defer func() {
		for _, s := range segments {
			err = errors.Join(err, s.Close())
		}
	}()
	for i, bytes := range sizes {
		s, err := newPlainSegment(run.program+strconv.Itoa(i), bytes)
		if err != nil {
			return nil, err
		}
		segments, files = append(segments, s), append(files, s.File())
	}
	side := func(verb string, cpu int) func(context.Context) (*process, error) {
		args := []string{program, verb, strconv.Itoa(cpu)}
		if run.slots > 0 {
			args = append(args, strconv.Itoa(run.slots))
		}
		seconds := int(run.limit/time.Second) + 1 // an alarm of its own, should we be gone
		args = append(args, strconv.FormatUint(run.messages, 10), strconv.FormatFloat(run.rate, 'f', -1, 64), strconv.Itoa(seconds))
		return func(ctx context.Context) (*process, error) { return start(ctx, run.program+" "+verb, args, files) }
	}
	read, _, err = runBoth(ctx, run.limit, side(run.reader, h.readerCPU), side(run.writer, h.writerCPU))
	if err != nil {
		return nil, err
	}
	if read.Messages != run.messages || read.Lost != 0 {
		return nil, fmt.Errorf("peer %s: %d messages wanted, %d received, %d wrong", run.program, run.messages, read.Messages, read.Lost)
	}
	if run.rate > 0 {
		read.Latencies = load.NewHistogram()
		for _, ns := range int64s(segments[2].Bytes())[run.warmup:run.messages] {
			read.Latencies.Record(ns)
		}
	}
	return read, nil
}
