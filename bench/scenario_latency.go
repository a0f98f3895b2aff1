package bench

import (
	"context"
	"time"

	"github.com/skewgate/skewgate/bench/report"
)

// What the latency scenario sends.
const (
	latencyRate   = 10_000 // messages/s
	latencyWarmup = 1000
	latencySlots  = 1024
)

// latency compares the medians of one-way latency, from the intended time, with both
// sides spinning on processors of their own.
func latency(ctx context.Context, h *Harness) ([]report.Row, error) {
	p50 := &report.Row{
		Name: "latency_vs_c", What: "one way, spinning, 10,000 messages/s, p50", RunUnit: "ns", PeerName: "C ring",
		Bound: report.Bound{Compare: report.AtMost, Limit: 1.4},
	}
	p99 := &report.Row{Name: "latency_p99_vs_c", What: "the same, p99; it tells of the machine rather than of the rings", RunUnit: "ns", PeerName: "C ring"}
	n := h.count(20_000, 500) + latencyWarmup
	limit := time.Duration(n)*time.Second/latencyRate*2 + 30*time.Second
	rows := []*report.Row{p50, p99}
	err := h.repeat(ctx, "latency", rows, func(ctx context.Context, rep int) ([]report.Run, error) {
		var ours, theirs *result
		err := h.inTurn(ctx, rep,
			func() (err error) {
				began := time.Now()
				ours, _, err = h.ring(ctx, ringRun{slots: latencySlots, messages: n, rate: latencyRate, wait: waitSpin, warmup: latencyWarmup, limit: limit})
				if err == nil {
					h.keep("latency", "go", began, ours.Latencies)
				}
				return err
			},
			func() (err error) {
				began := time.Now()
				theirs, err = h.cPair(ctx, cRun{
					program: "spsc", reader: "reader", writer: "writer", slots: latencySlots, messageBytes: messageBytes,
					messages: n, rate: latencyRate, warmup: latencyWarmup, limit: limit,
				})
				if err == nil {
					h.keep("latency", "c", began, theirs.Latencies)
				}
				return err
			},
		)
		if err != nil {
			return nil, err
		}
		return []report.Run{quantiles(0.5, ours, theirs), quantiles(0.99, ours, theirs)}, nil
	})
	return settled(rows), err
}

func quantiles(q float64, ours, theirs *result) report.Run {
	return report.Run{Value: float64(ours.Latencies.Quantile(q)), Peer: float64(theirs.Latencies.Quantile(q))}
}
