package main

import (
	"strings"
	"testing"

	"github.com/skewgate/skewgate/appliance/status"
)

// What is null in the document is a dash for a person, never 0.
func TestStatusShowsMatching(t *testing.T) {
	num := func(v float64) *float64 { return &v }
	run, longest, ms := uint64(3), uint64(50_000), int64(1_260_000)
	d := &status.Document{
		Cameras: []status.Camera{
			{Name: "gate", Match: "bucket", Matching: status.Matching{
				QuantumMS: num(25), IntervalMS: num(33.3667), IntervalConfigMS: num(40), CaptureSkewMS: &status.Quantiles{Count: 9, P50: 4, P99: 5, Max: 6},
				SplitShare: num(0.2), Pictures: 100, PicturesSplit: 21, FusedJudged: 80, FusedMixed: 7, Collisions: 2,
				RunUnfused: &run, LongestRunUnfused: &longest, LongestUnfusedMS: &ms,
				PairOffsets: []status.PairOffset{{A: "a", B: "b", Count: 9, MedianMS: -4, DistanceP99MS: 5}},
			}},
			{Name: "yard", Match: "frame_id"},
		},
		Models: []status.Model{{Name: "b", Alone: []status.Alone{{Camera: "yard", Reason: "late", ByMS: num(512), Messages: 10, Count: 9}}}},
	}
	d.Correlation.Final = status.FinalSkew{HorizonMS: 10_000, Beyond: 4}
	var b strings.Builder
	if err := printStatus(&b, d); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"gate bucket of 25 ms 33.367 (config 40) 4/5/6 20.0 % 21 of 100 7 of 80 2 3/50000 (21m0s)",
		"yard frame_id - - - - - 0 -",
		"gate b a -4 5",
		"b/0 yard late +512 9 of 10",
		"final skew, 10 s after closing, p50/p99/max ms: - later still: 4 messages, p50/p99/max ms -",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}
