package bench

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/skewgate/skewgate/bench/machine"
	"github.com/skewgate/skewgate/bench/report"
	"github.com/skewgate/skewgate/shm"
)

// publishSlots is the ring of the publish scenario: it fits into a core's L2, as the
// rings of detectors do.
const publishSlots = 1024

// publish times Publish alone, in this process, into real shared memory nobody reads.
func publish(ctx context.Context, h *Harness) ([]report.Row, error) {
	cost := &report.Row{
		Name: "publish", What: "Go, 256 B, without clock read and doorbell", Unit: "ns", RunUnit: "ns",
		Bound: report.Bound{Compare: report.AtMost, Limit: 30},
	}
	allocs := &report.Row{
		Name: "publish_allocs", What: "allocations of one publish", Unit: "allocs", RunUnit: "allocs",
		Bound: report.Bound{Compare: report.AtMost, Limit: 0},
	}
	rows := []*report.Row{cost, allocs}
	err := h.repeat(ctx, "publish", rows, func(ctx context.Context, rep int) ([]report.Run, error) {
		var r testing.BenchmarkResult
		err := h.inTurn(ctx, rep, func() (err error) {
			r, err = h.onThread(func(b *testing.B) error { return publishLoop(b, publishSlots) })
			return err
		})
		if err != nil {
			return nil, err
		}
		return []report.Run{{Value: float64(r.T.Nanoseconds()) / float64(r.N)}, {Value: float64(r.AllocsPerOp())}}, err
	})
	return settled(rows), err
}

// publishLoop publishes b.N messages.
func publishLoop(b *testing.B, slots int) error {
	c := shm.RingConfig{Slots: slots, PayloadBytes: messageBytes, Model: "bench"}
	s, err := shm.CreateSegment("bench-publish", c.Bytes())
	if err != nil {
		return err
	}
	defer s.Close()
	if err := shm.FormatRing(s.Bytes(), c); err != nil {
		return err
	}
	w, err := shm.NewWriter(s.Bytes(), 1, nil)
	if err != nil {
		return err
	}
	if _, err := w.RegisterStream("bench", "camera", 1); err != nil {
		return err
	}
	h, body := shm.SlotHeader{Kind: shm.KindBoxes, CaptureNS: 1, FrameID: 2}, make([]byte, messageBytes)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Publish(&h, body); err != nil {
			return err
		}
	}
	return nil
}

// onThread runs f under testing.Benchmark, pinned to the writer's processor.
func (h *Harness) onThread(f func(b *testing.B) error) (testing.BenchmarkResult, error) {
	testing.Init() // does nothing in a test binary
	old := flag.Lookup("test.benchtime").Value.String()
	took := max(time.Duration(float64(time.Second)*h.Scale), time.Millisecond)
	if err := flag.Set("test.benchtime", took.String()); err != nil {
		return testing.BenchmarkResult{}, err
	}
	defer func() { _ = flag.Set("test.benchtime", old) }()
	var failed error
	r := testing.Benchmark(func(b *testing.B) {
		// testing gives each call a goroutine; it ends locked, so its pinned thread does too.
		if failed = machine.Pin(h.writerCPU); failed == nil {
			failed = f(b)
		}
		if failed != nil {
			b.Fail()
		}
	})
	runtime.GC() // the next repetition begins like this one
	if failed == nil && r.N == 0 {
		failed = fmt.Errorf("benchmark did not run")
	}
	return r, failed
}
