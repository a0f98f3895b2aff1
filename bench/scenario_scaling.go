package bench

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/skewgate/skewgate/bench/report"
)

// Sizes that the scaling scenario steps through, and messages at each, at full scale.
var (
	scalingCameras = []uint64{16, 64, 256, 1024, 4096}
	scalingOpen    = []uint64{100, 1000, 10_000, 100_000}
)

const (
	scalingMessages = 1_500_000
	// steepest is the highest exponent k of cost a message ~ size^k between two sizes. Work that
	// grows with what is there has 1; larger tables in slower memory have a little.
	steepest = 0.4
)

// scaling times the correlator's step over more cameras and more open groups.
func scaling(ctx context.Context, h *Harness) ([]report.Row, error) {
	ratio := func(name, what, least string, limit float64) *report.Row {
		return &report.Row{Name: name, What: what, RunUnit: "ns", PeerName: least, Bound: report.Bound{Compare: report.AtMost, Limit: limit}}
	}
	exponent := func(name, what string) *report.Row {
		return &report.Row{Name: name, What: what, Unit: "exponent", RunUnit: "exponent", Bound: report.Bound{Compare: report.AtMost, Limit: steepest}}
	}
	cameras := ratio("scaling_cameras", "processor time of a message at 4,096 cameras, the correlator alone, quickest of ten parts", "16 cameras", 2.5)
	cameraSteps := exponent("scaling_cameras_steepest", "the steepest growth of that between two of 16, 64, 256, 1,024, 4,096; linear work has 1")
	open := ratio("scaling_open", "the same at 100,000 open groups", "100 open groups", 4)
	openSteps := exponent("scaling_open_steepest", "the steepest growth of that between two of 100, 1,000, 10,000, 100,000; linear work has 1")
	rows := []*report.Row{cameras, cameraSteps, open, openSteps}
	var cameraNS, openNS [][]float64
	err := h.repeat(ctx, "scaling", rows, func(ctx context.Context, rep int) ([]report.Run, error) {
		byCameras, byOpen := make([]float64, len(scalingCameras)), make([]float64, len(scalingOpen))
		var sides []func() error
		for i, n := range scalingCameras {
			sides = append(sides, h.stepSide(ctx, &byCameras[i], job{Cameras: n}))
		}
		for i, n := range scalingOpen {
			sides = append(sides, h.stepSide(ctx, &byOpen[i], job{Cameras: trafficCameras, Open: n}))
		}
		if err := h.inTurn(ctx, rep, sides...); err != nil {
			return nil, err
		}
		cameraNS, openNS = append(cameraNS, byCameras), append(openNS, byOpen)
		last := func(v []float64) report.Run { return report.Run{Value: v[len(v)-1], Peer: v[0]} }
		return []report.Run{
			last(byCameras), {Value: steepestOf(scalingCameras, byCameras)}, last(byOpen), {Value: steepestOf(scalingOpen, byOpen)},
		}, nil
	})
	cameraSteps.Note, openSteps.Note = medians(scalingCameras, cameraNS), medians(scalingOpen, openNS)
	return settled(rows), err
}

// stepSide measures one size.
func (h *Harness) stepSide(ctx context.Context, ns *float64, j job) func() error {
	return func() error {
		j.Role, j.Messages = "step", h.count(scalingMessages, 10_000)
		r, err := h.alone(ctx, j)
		if err == nil {
			*ns = float64(r.CPUNS) / float64(r.Messages)
		}
		return err
	}
}

// steepestOf is the highest exponent between two neighbouring sizes, 0 if nothing grows.
func steepestOf(sizes []uint64, costs []float64) float64 {
	k := 0.0
	for i := 1; i < len(sizes); i++ {
		k = max(k, math.Log(costs[i]/costs[i-1])/math.Log(float64(sizes[i])/float64(sizes[i-1])))
	}
	return k
}

// medians says what a message cost at each size.
func medians(sizes []uint64, runs [][]float64) string {
	if len(runs) == 0 {
		return ""
	}
	var words []string
	for i, size := range sizes {
		var costs []float64
		for _, run := range runs {
			costs = append(costs, run[i])
		}
		words = append(words, fmt.Sprintf("%d: %.0f ns", size, report.NewSpread(costs).Median))
	}
	return "medians of all repetitions: " + strings.Join(words, ", ")
}
