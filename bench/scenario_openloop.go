package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/skewgate/skewgate/bench/load"
	"github.com/skewgate/skewgate/bench/report"
)

// How the openloop scenario searches.
const (
	openLoopSlots = 1 << 16
	openLoopTime  = 500 * time.Millisecond // of one rate
	openLoopSteps = 8                      // halvings: to 1/256 of the highest rate
	openLoopLate  = 5 * time.Millisecond   // a sender that ends later than this could not keep up
)

// openLoop finds the highest rate at which a spinning reader of a large ring loses
// nothing, though the writer does not wait for it, and the sender keeps to its schedule.
func openLoop(ctx context.Context, h *Harness) ([]report.Row, error) {
	row := &report.Row{
		Name: "openloop", What: "highest rate of a Poisson sender that never waits, 64 Ki slots, nothing lost", Unit: "msg/s", RunUnit: "msg/s",
	}
	var sender, losses int
	rows := []*report.Row{row}
	err := h.repeat(ctx, "openloop", rows, func(ctx context.Context, rep int) ([]report.Run, error) {
		var rate float64
		err := h.inTurn(ctx, rep, func() (err error) {
			rate, err = h.highestRate(ctx, &losses, &sender)
			return err
		})
		return []report.Run{{Value: rate}}, err
	})
	row.Note = fmt.Sprintf("%d rates failed by loss, %d because the sender fell behind its schedule", losses, sender)
	return settled(rows), err
}

// highestRate bisects, and counts why rates failed.
func (h *Harness) highestRate(ctx context.Context, losses, sender *int) (float64, error) {
	low, high := 0.0, float64(load.MaxRate)
	rate := high // perhaps all of it is possible
	for step := 0; step <= openLoopSteps && low < load.MaxRate; step++ {
		kept, lost, err := h.openLoopAt(ctx, rate)
		switch {
		case err != nil:
			return 0, err
		case lost > 0:
			high = rate
			*losses++
		case !kept:
			high = rate
			*sender++
		default:
			low = rate
		}
		rate = (low + high) / 2
	}
	return low, nil
}

// openLoopAt sends for openLoopTime at rate and says whether the sender kept up and how
// many messages were lost.
func (h *Harness) openLoopAt(ctx context.Context, rate float64) (keptUp bool, lost uint64, err error) {
	n := h.count(uint64(rate*openLoopTime.Seconds()), 1000)
	began := time.Now()
	read, wrote, err := h.ring(ctx, ringRun{
		slots: openLoopSlots, messages: n, rate: rate, poisson: true, wait: waitSpin, mayFail: true,
		limit: time.Duration(float64(n)/rate*4*1e9) + 30*time.Second,
	})
	if err != nil {
		return false, 0, err
	}
	if read.Latencies.Count() > 0 {
		h.keep("openloop", fmt.Sprintf("%.0f/s", rate), began, read.Latencies)
	}
	return !wrote.CutShort && wrote.LateEndNS <= int64(openLoopLate), read.Lost, nil
}
