package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/skewgate/skewgate/bench/report"
)

// throughputSlots is the size of both rings.
const throughputSlots = 1024

// throughput counts messages delivered a second, writer flat out but never lapping.
func throughput(ctx context.Context, h *Harness) ([]report.Row, error) {
	rate := &report.Row{
		Name: "throughput", What: "two processes, 256 B, one way, nothing lost", Unit: "msg/s", RunUnit: "msg/s",
		Bound: report.Bound{Compare: report.AtLeast, Limit: 14e6},
	}
	ratio := &report.Row{
		Name: "throughput_vs_c", What: "the same, of a plain C single-producer ring", RunUnit: "msg/s", PeerName: "C ring",
		Bound: report.Bound{Compare: report.AtLeast, Limit: 0.4},
	}
	bell := &report.Row{
		Name: "throughput_doorbell", What: "the first, with a doorbell that nobody sleeps on: a full barrier a message, as detectors publish", Unit: "msg/s", RunUnit: "msg/s",
	}
	// About as many for each as take a second: in less, one hiccup of the machine counts
	// for too much.
	n, cn := h.count(15_000_000, 10_000), h.count(40_000_000, 10_000)
	limit := time.Minute
	rows := []*report.Row{rate, ratio, bell}
	err := h.repeat(ctx, "throughput", rows, func(ctx context.Context, rep int) ([]report.Run, error) {
		var ours, theirs, withBell float64
		err := h.inTurn(ctx, rep,
			func() (err error) {
				ours, err = h.delivered(ctx, ringRun{slots: throughputSlots, messages: n, wait: waitSpin, limit: limit})
				return err
			},
			func() (err error) {
				withBell, err = h.delivered(ctx, ringRun{slots: throughputSlots, messages: n, wait: waitSpin, bell: true, limit: limit})
				return err
			},
			func() error {
				read, err := h.cPair(ctx, cRun{
					program: "spsc", reader: "reader", writer: "writer", slots: throughputSlots, messageBytes: messageBytes,
					messages: cn, limit: limit,
				})
				if err == nil {
					theirs = read.rate()
				}
				return err
			},
		)
		return []report.Run{{Value: ours}, {Value: ours, Peer: theirs}, {Value: withBell}}, err
	})
	return settled(rows), err
}

// delivered runs our ring flat out and returns its rate.
func (h *Harness) delivered(ctx context.Context, run ringRun) (perSecond float64, err error) {
	read, _, err := h.ring(ctx, run)
	if err != nil {
		return 0, err
	}
	if read.Lost != 0 {
		return 0, fmt.Errorf("%d messages lost, though the writer waits for the reader", read.Lost)
	}
	return read.rate(), nil
}
