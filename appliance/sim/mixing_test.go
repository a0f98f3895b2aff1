package sim

import (
	"math"
	"testing"

	"github.com/skewgate/skewgate/appliance/correlate"
)

// Where buckets cannot promise, how often they mix two pictures and tear one follows from
// interval, skew and quantum (CORRELATION §8), and is what happens.
func TestMixingIsForeseen(t *testing.T) {
	const T = 33_366_667
	for _, tc := range []struct{ q, d int64 }{{25 * ms, 18 * ms}, {25 * ms, 5 * ms}, {30 * ms, 10 * ms}, {10 * ms, 8 * ms}, {15*ms + 1, 18 * ms}} {
		p := &Plan{Seed: 1, LengthNS: 100 * sec, Config: correlate.DefaultConfig()}
		p.Config.QuantumNS, p.Config.EmitEmpty = tc.q, true
		p.Config.Camera = correlate.CameraConfig{Match: correlate.MatchBucket, Expected: []string{"A", "B"}}
		p.Cameras = []CameraPlan{{Name: "gate", IntervalNS: T}}
		p.Models = []ModelPlan{
			{Name: "A", Says: "A", LatencyNS: 8 * ms, FindP: 1},
			{Name: "B", Says: "B", LatencyNS: 20 * ms, FindP: 1, SkewNS: tc.d},
		}
		j := newJudge(p)
		buckets := map[int]map[int64]bool{} // by picture
		j.onGroup = func(g *group) {
			for _, m := range g.members {
				picture := j.truth.Of(m.tag).Picture
				if buckets[picture] == nil {
					buckets[picture] = map[int64]bool{}
				}
				buckets[picture][int64(g.first)] = true
			}
		}
		r, err := runWith(p, sound, habits{}, j)
		if err != nil {
			t.Fatal(err)
		}
		torn := 0
		for _, in := range buckets {
			if len(in) > 1 {
				torn++
			}
		}
		share := func(n int) float64 { return float64(n) / float64(len(buckets)) }
		mix := max(0, 1-float64(T-tc.d)/float64(tc.q))
		tear := min(1, float64(tc.d)/float64(tc.q))
		t.Logf("q %d ms, D %d ms: mixed %.3f, foreseen %.3f; torn %.3f, foreseen %.3f", tc.q/ms, tc.d/ms, share(r.Mixed), mix, share(torn), tear)
		if len(buckets) < 2900 || math.Abs(share(r.Mixed)-mix) > 0.01 || math.Abs(share(torn)-tear) > 0.01 {
			t.Errorf("q %d ns, D %d ns: mixed %.3f, want %.3f; torn %.3f, want %.3f; of %d pictures", tc.q, tc.d, share(r.Mixed), mix, share(torn), tear, len(buckets))
		}
	}
}

// A frame interval a hair off the quantum puts the same mistake into frame after frame: the
// share of mixed frames is as foreseen, and they come in one block that lasts for minutes.
func TestPhaseLockMixesInOneBlock(t *testing.T) {
	const T, q, d = 25_000_500, 25 * ms, 5 * ms
	p := &Plan{Seed: 1, LengthNS: 1250 * sec, Config: correlate.DefaultConfig()} // once through all phases
	p.Config.QuantumNS, p.Config.EmitEmpty = q, true
	p.Config.Camera = correlate.CameraConfig{Match: correlate.MatchBucket, Expected: []string{"A", "B"}}
	p.Config.Limits.Closed = 1000
	p.Cameras = []CameraPlan{{Name: "gate", IntervalNS: T, PhaseNS: 10 * ms}}
	p.Models = []ModelPlan{
		{Name: "A", Says: "A", LatencyNS: 2 * ms, FindP: 1}, {Name: "B", Says: "B", LatencyNS: 3 * ms, FindP: 1, SkewNS: d},
	}
	frames, mixed, longest, now := 0, 0, 0, 0
	j := newJudge(p)
	j.onGroup = func(g *group) {
		frames++
		if len(g.members) == 2 && j.truth.Of(g.members[0].tag).Picture != j.truth.Of(g.members[1].tag).Picture {
			mixed, now = mixed+1, now+1
			longest = max(longest, now)
			return
		}
		now = 0
	}
	if _, err := runWith(p, sound, habits{}, j); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d frames, %d of two pictures, the longest run of those %d", frames, mixed, longest)
	if share := float64(mixed) / float64(frames); math.Abs(share-0.2) > 0.01 || longest < mixed*9/10 {
		t.Errorf("%.3f of the frames mix two pictures, want 0.2; the longest run is %d of %d, want nearly all", share, longest, mixed)
	}
}
