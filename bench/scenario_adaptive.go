package bench

import (
	"context"
	"time"

	"github.com/skewgate/skewgate/bench/report"
)

// What the adaptive scenario sends: a little more than 7 cameras at 25 frames a second.
const (
	adaptiveRate   = 177 // messages/s
	adaptiveWarmup = 30
)

// adaptive looks at a reader that sleeps between messages, waiting exactly as the path
// does: how much of a processor that takes, and how long a wake-up is against a bare
// futex.
func adaptive(ctx context.Context, h *Harness) ([]report.Row, error) {
	cpu := &report.Row{
		Name: "adaptive_cpu", What: "reader at 177 messages/s, path.wait adaptive: share of a core", Unit: "%", RunUnit: "%",
		Bound: report.Bound{Compare: report.AtMost, Limit: 1},
	}
	// Not bounded: what the wake-ups alone take here, of a reader that does nothing else.
	floor := &report.Row{
		Name: "adaptive_cpu_vs_futex", What: "the same, processor time of a message", RunUnit: "ns", PeerName: "bare futex",
	}
	p50 := &report.Row{
		Name: "adaptive_vs_futex", What: "the same, one-way p50", RunUnit: "ns", PeerName: "bare futex",
		Bound: report.Bound{Compare: report.AtMost, Limit: 1.3},
	}
	n := h.count(5*adaptiveRate, 20) + adaptiveWarmup
	limit := time.Duration(n)*time.Second/adaptiveRate*2 + 30*time.Second
	rows := []*report.Row{cpu, floor, p50}
	err := h.repeat(ctx, "adaptive", rows, func(ctx context.Context, rep int) ([]report.Run, error) {
		var ours, theirs *result
		err := h.inTurn(ctx, rep,
			func() (err error) {
				began := time.Now()
				ours, _, err = h.ring(ctx, ringRun{slots: latencySlots, messages: n, rate: adaptiveRate, wait: waitAdaptive, warmup: adaptiveWarmup, limit: limit})
				if err == nil {
					h.keep("adaptive", "go", began, ours.Latencies)
				}
				return err
			},
			func() (err error) {
				began := time.Now()
				theirs, err = h.cPair(ctx, cRun{
					program: "futex", reader: "sleeper", writer: "waker", messages: n, rate: adaptiveRate, warmup: adaptiveWarmup, limit: limit,
				})
				if err == nil {
					h.keep("adaptive", "futex", began, theirs.Latencies)
				}
				return err
			},
		)
		if err != nil {
			return nil, err
		}
		share := 100 * float64(ours.CPUNS) / float64(ours.LastNS-ours.FirstNS)
		cost := report.Run{Value: float64(ours.CPUNS) / float64(ours.Messages), Peer: float64(theirs.CPUNS) / float64(theirs.Messages)}
		return []report.Run{{Value: share}, cost, quantiles(0.5, ours, theirs)}, nil
	})
	return settled(rows), err
}
