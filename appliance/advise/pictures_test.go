package advise

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
)

// scene is messages of one camera with known pictures, in order of arrival.
type scene struct {
	messages []Message
	models   int
	interval int64
	spread   int64 // bound of the capture times in one picture
}

// drawScene draws one. Only an unruly one has a model that gives one picture two capture times.
func drawScene(t *rapid.T, unruly bool) scene {
	s := scene{
		models:   rapid.IntRange(2, 4).Draw(t, "models"),
		interval: rapid.Int64Range(10, 40).Draw(t, "interval"),
	}
	s.spread = rapid.Int64Range(0, s.interval).Draw(t, "spread")
	start := rapid.Int64Range(-100, 100).Draw(t, "start")
	type arriving struct {
		Message
		at int64
	}
	var all []arriving
	for i := range rapid.Int64Range(1, 30).Draw(t, "pictures") {
		for model := range int32(s.models) {
			skew := rapid.Int64Range(0, s.spread).Draw(t, "skew")
			for range rapid.SampledFrom([]int{1, 1, 1, 0, 2}).Draw(t, "times") {
				if unruly {
					skew = rapid.Int64Range(0, s.spread).Draw(t, "another skew")
				}
				all = append(all, arriving{Message{
					Stream: int32(i / 20), Model: model, Picture: i + 1, CaptureNS: start + i*s.interval + skew,
				}, i*s.interval + rapid.Int64Range(0, 3*s.interval).Draw(t, "lag")})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b arriving) int { return int(a.at - b.at) })
	for _, m := range all {
		s.messages = append(s.messages, m.Message)
	}
	return s
}

// replayed is what the correlator itself makes of messages, matched by buckets of q. Nobody is
// late and nobody is left out: all models are expected, and there is no timeout to speak of.
func (s *scene) replayed(t *rapid.T, messages []Message, q int64) (groups [][]Message, collisions int) {
	cfg := correlate.DefaultConfig()
	cfg.QuantumNS, cfg.TimeoutNS, cfg.MaxAgeNS, cfg.Camera.Match = q, 1<<60, correlate.Never, correlate.MatchBucket
	for model := range s.models {
		cfg.Camera.Expected = append(cfg.Camera.Expected, string(rune('a'+model)))
	}
	c, err := correlate.New(cfg, func(g *correlate.Group) {
		var group []Message
		for _, m := range g.Members {
			group = append(group, messages[m.Arrival])
		}
		groups = append(groups, group)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range messages {
		stream, err := c.Stream("u", "c", uint32(m.Stream))
		if err != nil {
			t.Fatal(err)
		}
		model, err := c.Model(string(rune('a' + m.Model)))
		if err != nil {
			t.Fatal(err)
		}
		c.Step(clock.Mono(i), &correlate.Message{Stream: stream, Model: model, CaptureNS: m.CaptureNS})
	}
	c.Tick(1 << 61)
	if n := c.Counters(); n.Late != 0 || n.Pending != 0 {
		t.Fatalf("counters %+v: somebody is late or open", n)
	}
	return groups, int(c.Counters().DupCollision)
}

// What is worked out for a quantum is what the correlator does with it.
func TestBucketsAgainstTheCorrelator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, true)
		q := rapid.Int64Range(1, 3*s.interval).Draw(t, "quantum")
		got := NewPictures(slices.Clone(s.messages)).At(q)

		groups, collisions := s.replayed(t, s.messages, q)
		want := Buckets{Messages: len(s.messages), Collided: collisions}
		for _, g := range groups {
			if len(g) < 2 {
				continue
			}
			want.Frames++
			if slices.ContainsFunc(g, func(m Message) bool { return m.Picture != g[0].Picture }) {
				want.Mixed++
			}
		}
		// A picture is split if its messages alone, each model's first, give several groups.
		byPicture := map[int64][]Message{}
		for _, m := range s.messages {
			known := byPicture[m.Picture]
			if !slices.ContainsFunc(known, func(o Message) bool { return o.Model == m.Model }) {
				byPicture[m.Picture] = append(known, m)
			}
		}
		sum := 0.0
		for _, own := range byPicture {
			if len(own) < 2 {
				continue
			}
			want.Pictures++
			if alone, _ := s.replayed(t, own, q); len(alone) > 1 {
				want.Split++
			}
			// Over all phases of the bucket: shift by each nanosecond of it.
			split := 0
			for phase := range q {
				shifted := slices.Clone(own)
				for i := range shifted {
					shifted[i].CaptureNS += phase
				}
				if slices.ContainsFunc(shifted, func(m Message) bool { return bucketOf(m.CaptureNS, q) != bucketOf(shifted[0].CaptureNS, q) }) {
					split++
				}
			}
			sum += float64(split) / float64(q)
		}
		if want.Pictures > 0 {
			want.AnyPhase = sum / float64(want.Pictures)
		}
		if diff := got.AnyPhase - want.AnyPhase; diff > 1e-9 || diff < -1e-9 {
			t.Fatalf("quantum %d: over all phases %v, want %v", q, got.AnyPhase, want.AnyPhase)
		}
		got.AnyPhase = want.AnyPhase
		if got != want {
			t.Fatalf("quantum %d: want %+v, got %+v", q, want, got)
		}
	})
}

// Up to the safe quantum no phase joins two pictures; a nanosecond more, and one does.
func TestSafeQuantum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, true)
		safe, ok := NewPictures(slices.Clone(s.messages)).Safe()
		if !ok {
			return // one picture
		}
		joined := func(q int64) bool {
			for phase := range q {
				type place struct {
					stream int32
					bucket int64
				}
				seen := map[place]int64{}
				for _, m := range s.messages {
					at := place{m.Stream, bucketOf(m.CaptureNS+phase, q)}
					if known, there := seen[at]; there && known != m.Picture {
						return true
					}
					seen[at] = m.Picture
				}
			}
			return false
		}
		if safe > 0 && joined(safe) {
			t.Fatalf("buckets of %d join two pictures", safe)
		}
		if !joined(safe + 1) {
			t.Fatalf("buckets of %d join no two pictures either", safe+1)
		}
	})
}

// Without ids, pictures that spread less than what is left of half an interval are told apart
// as the ids would.
func TestEstimatedPictures(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, false)
		if len(s.messages) == 0 || s.messages[len(s.messages)-1].Picture < 6 || 2*s.spread >= s.interval/2 {
			return // too few, or too near to each other
		}
		blind := slices.Clone(s.messages)
		for i := range blind {
			blind[i].Picture = 0
		}
		withID, without := NewPictures(slices.Clone(s.messages)), NewPictures(blind)
		if withID.Method != ByFrameID || without.Method != ByTime {
			return // one model alone
		}
		// A median over skipped pictures may be twice the interval: what lies between is not told apart.
		if without.Interval > s.interval+s.spread || without.Interval < s.interval-s.spread {
			return
		}
		compared++
		for _, q := range []int64{1, s.interval / 2, s.interval, 2 * s.interval} {
			if want, got := withID.At(q), without.At(q); want.Split != got.Split || want.Mixed != got.Mixed || want.Pictures != got.Pictures {
				t.Fatalf("quantum %d: want %+v, got %+v", q, want, got)
			}
		}
	})
	if compared < 10 {
		t.Errorf("%d scenes compared, want 10 at least", compared)
	}
}

func TestIntervals(t *testing.T) {
	at := func(model int32, picture, ns int64) Message {
		return Message{Model: model, Picture: picture, CaptureNS: ns}
	}
	for _, tc := range []struct {
		name     string
		messages []Message
		method   Method
		interval int64
		skipped  int
	}{
		{"nothing", nil, Unknown, 0, 0},
		{"one model", []Message{at(1, 0, 0), at(1, 0, 40), at(1, 0, 80)}, Unknown, 40, 0},
		{"what one skips another has", []Message{at(1, 1, 0), at(2, 1, 1), at(2, 2, 40), at(1, 3, 80), at(2, 4, 120)}, ByFrameID, 40, 0},
		{"ids that do not count", []Message{at(1, 900, 0), at(2, 900, 1), at(1, 5, 40), at(2, 5, 41)}, ByFrameID, 40, 0},
		{"some without", []Message{at(1, 1, 0), at(2, 1, 1), at(3, 0, 2), at(1, 2, 40)}, ByFrameID, 40, 1},
		{"one model with ids", []Message{at(1, 1, 0), at(2, 0, 1), at(1, 2, 40), at(2, 0, 41)}, ByTime, 40, 0},
		{"streams are apart", []Message{{Stream: 1, Model: 1, CaptureNS: 0}, {Stream: 2, Model: 1, CaptureNS: 7}, {Stream: 1, Model: 1, CaptureNS: 40}}, Unknown, 40, 0},
	} {
		p := NewPictures(tc.messages)
		if p.Method != tc.method || p.Interval != tc.interval || p.Skipped != tc.skipped {
			t.Errorf("%s: got %s, %d apart, %d skipped; want %s, %d and %d", tc.name, p.Method, p.Interval, p.Skipped, tc.method, tc.interval, tc.skipped)
		}
	}
}
