package correlate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/hist"
)

// film is a camera as its detectors see it: each decodes the stream by itself, so that its
// capture times of one picture differ, and each answers after its own time.
type film struct {
	intervalNS int64
	roundNS    int64 // capture times are cut to this
	models     []filmed
	withID     bool
}

type filmed struct {
	name     string
	aheadNS  int64 // of its capture clock
	jitterNS int64
	lagNS    int64
	keep     func(frame int) bool // nil = every picture
}

// shot is one message of a film.
type shot struct {
	at int64
	m  naiveMessage
}

// shoot returns the messages of so many pictures in order of arrival.
func (f *film) shoot(rng *rand.Rand, from, frames int) (all []shot) {
	for i := from; i < from+frames; i++ {
		taken := int64(i) * f.intervalNS
		for _, m := range f.models {
			if m.keep != nil && !m.keep(i) {
				continue
			}
			ns := taken + m.aheadNS
			if m.jitterNS > 0 {
				ns += rng.Int64N(2*m.jitterNS+1) - m.jitterNS
			}
			if f.roundNS > 0 {
				ns = ns / f.roundNS * f.roundNS
			}
			one := shot{taken + m.lagNS, naiveMessage{camera: "u1/c1", model: m.name, readable: true, ns: ns}}
			if f.withID {
				one.m.frame = uint64(i + 1)
			}
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b shot) int { return int(a.at - b.at) })
	return all
}

// play shows a film to a correlator and returns the camera's figures at its end.
func (f *film) play(t *testing.T, frames int, change func(*Config)) (Figures, *rig) {
	t.Helper()
	r := newRig(t, change)
	end := int64(0)
	for _, s := range f.shoot(rand.New(rand.NewPCG(1, 2)), 1, frames) {
		r.c.Step(clock.Mono(s.at), &Message{Stream: r.stream("c1"), Model: r.model(s.m.model), CaptureNS: s.m.ns, FrameID: s.m.frame})
		end = s.at
	}
	if err := r.c.CheckIdentities(); err != nil {
		t.Fatal(err)
	}
	return r.c.AppendFigures(nil, clock.Mono(end))[0], r
}

// CORRELATION.md §8: the interval is estimated whatever the timestamps are like.
func TestInterval(t *testing.T) {
	thirds := func(of int) func(int) bool { return func(i int) bool { return i%3 == of } }
	for _, test := range []struct {
		name         string
		f            film
		want, within int64
	}{
		{"30 a second", film{intervalNS: 33_333_333, models: []filmed{{name: "A"}}}, 33_333_333, 0},
		{"29.97 a second", film{intervalNS: 33_366_667, models: []filmed{{name: "A"}}}, 33_366_667, 0},
		{"30 in whole ms", film{intervalNS: 33_333_333, roundNS: ms, models: []filmed{{name: "A"}}}, 33_333_333, 16_000},
		{"29.97 in whole ms", film{intervalNS: 33_366_667, roundNS: ms, models: []filmed{{name: "A"}}}, 33_366_667, 16_000},
		{"one in three dropped", film{intervalNS: 40 * ms, models: []filmed{{name: "A", keep: func(i int) bool { return i%3 != 0 }}}}, 40 * ms, 0},
		{"one model skips every other picture", film{intervalNS: 40 * ms, models: []filmed{{name: "A", keep: func(i int) bool { return i%2 == 0 }}, {name: "B"}}}, 40 * ms, 0},
		{"stamped on arrival", film{intervalNS: 40 * ms, models: []filmed{{name: "A", jitterNS: 8 * ms}}}, 40 * ms, 2 * ms},
		// Nobody has seen two pictures in a row: nothing shows that there were others between.
		{"everybody skips two in three", film{intervalNS: 40 * ms, models: []filmed{{name: "A", keep: thirds(0)}, {name: "B", keep: thirds(0)}}}, 120 * ms, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _ := test.f.play(t, 150, nil)
			if d := got.IntervalNS - test.want; max(d, -d) > test.within {
				t.Errorf("interval %d ns, want %d ± %d", got.IntervalNS, test.want, test.within)
			}
		})
	}
}

// The spread is measured by the capture times themselves: a quantum that splits the picture
// does not hide it.
func TestSpreadIsNotCensored(t *testing.T) {
	f := film{intervalNS: 40 * ms, models: []filmed{{name: "A"}, {name: "B", aheadNS: 5 * ms, lagNS: 3 * ms}}}
	for _, q := range []int64{25 * ms, 5 * ms, ms, 0} {
		got, _ := f.play(t, 1000, func(cfg *Config) { cfg.QuantumNS, cfg.Camera.Match = q, MatchBucket })
		if s := hist.Summarize(got.SpreadNS); s.Count < 400 || s.P50 != 5*ms || s.Max != 5*ms {
			t.Errorf("quantum %d: spread %+v, want 5 ms", q, s)
		}
		if len(got.Pairs) != 1 || got.Pairs[0].A != "A" || got.Pairs[0].B != "B" {
			t.Fatalf("pairs %+v", got.Pairs)
		}
		if median, d := got.Pairs[0].Summary(); median != 5*ms || d.P99 != 5*ms {
			t.Errorf("quantum %d: B is %d ahead of A, %+v", q, median, d)
		}
		if got.Mixed != 0 {
			t.Errorf("quantum %d: %d of %d groups count as mixed", q, got.Mixed, got.Judged)
		}
		want, _ := Split([]int64{5 * ms}, q)
		if share := float64(got.Apart) / float64(got.Pictures); q != 25*ms && share != want {
			t.Errorf("quantum %d: %.3f of the pictures fell apart, want %.3f", q, share, want)
		}
	}
}

// A clock that is behind shows with its sign, and no longer once it is configured.
func TestPairOffsetHasASign(t *testing.T) {
	f := film{intervalNS: 40 * ms, models: []filmed{{name: "A"}, {name: "B", aheadNS: -7 * ms, jitterNS: ms}}}
	got, _ := f.play(t, 400, nil)
	if median, d := got.Pairs[0].Summary(); median > -6*ms || median < -8*ms || d.P99 < 7*ms || d.Max > 8*ms {
		t.Errorf("median %d, distance %+v, want −7 ms ± 1", median, d)
	}
	got, _ = f.play(t, 400, func(cfg *Config) { cfg.Camera.OffsetNS = map[string]int64{"B": -7 * ms} })
	if median, _ := got.Pairs[0].Summary(); max(median, -median) > ms/2 {
		t.Errorf("median %d with the offset configured", median)
	}
}

// With frame ids the distance is known beyond half an interval.
func TestPairOffsetByFrameID(t *testing.T) {
	f := film{intervalNS: 40 * ms, withID: true, models: []filmed{{name: "A"}, {name: "B", aheadNS: 500 * ms}}}
	got, _ := f.play(t, 400, func(cfg *Config) { cfg.Camera.Match = MatchFrameID })
	if median, _ := got.Pairs[0].Summary(); median != 500*ms {
		t.Errorf("median %d, want 500 ms", median)
	}
	if got.Apart != 0 || got.Judged != 0 || got.Mixed != 0 {
		t.Errorf("%d apart, %d judged, %d mixed: a frame id is the source's word", got.Apart, got.Judged, got.Mixed)
	}
}

// R000-25: a quantum that is too wide joins two pictures, and every such group is counted.
func TestMixedIsCounted(t *testing.T) {
	odd := func(i int) bool { return i%2 == 1 }
	even := func(i int) bool { return i%2 == 0 }
	f := film{intervalNS: 20 * ms, models: []filmed{{name: "A", keep: odd}, {name: "B", keep: even, lagNS: ms}}}
	// A and B answer different pictures, always. With 40 ms, bucket by bucket, they are joined.
	got, r := f.play(t, 400, func(cfg *Config) {
		cfg.QuantumNS, cfg.Camera.Match, cfg.Camera.FrameIntervalNS = 40*ms, MatchBucket, 20*ms
	})
	if joined := uint64(len(r.out)) - 1; got.Mixed != joined || joined < 190 || got.Judged != joined { // the first is alone
		t.Errorf("%d of %d judged are mixed, %d frames came out", got.Mixed, got.Judged, joined)
	}
	// Every frame of the same pictures is one picture.
	f.models[0].keep, f.models[1].keep = nil, nil
	got, r = f.play(t, 400, func(cfg *Config) { cfg.QuantumNS, cfg.Camera.Match = 15*ms, MatchBucket })
	if got.Mixed != 0 || got.Judged < 300 || len(r.out) < 390 {
		t.Errorf("%d of %d judged are mixed, %d frames came out", got.Mixed, got.Judged, len(r.out))
	}
}

// The measured interval counts where it is less than the configured one.
func TestMixedByMeasuredInterval(t *testing.T) {
	f := film{intervalNS: 20 * ms, models: []filmed{{name: "A"}, {name: "B", aheadNS: 11 * ms}}}
	got, _ := f.play(t, 400, func(cfg *Config) {
		cfg.Camera.Match, cfg.Camera.WindowNS, cfg.Camera.FrameIntervalNS = MatchWindow, 15*ms, 40*ms
	})
	if got.IntervalNS != 20*ms || got.Mixed == 0 || got.Mixed+50 < got.Judged {
		t.Errorf("interval %d: %d of %d judged are mixed", got.IntervalNS, got.Mixed, got.Judged)
	}
}

// CORRELATION.md §5: at T = 25.0001 ms and q = 25 ms, 5 ms of skew split a fifth of the pictures
// in one block; an average over less says 0 % or 100 %.
func TestLongestRunWithoutFusion(t *testing.T) {
	// A thousandth of an interval a frame: one turn of the phase in 12.5 ms takes 500 frames.
	f := film{intervalNS: 25*ms + 25*ms/1000, models: []filmed{{name: "A"}, {name: "B", aheadNS: 5 * ms, lagNS: ms}}}
	got, _ := f.play(t, 4000, func(cfg *Config) { cfg.QuantumNS, cfg.Camera.Match = 12_500_000, MatchBucket })
	// 5 of 12.5 ms of phase: 200 pictures, each two groups of one model. Runs count in the order
	// of closing: the first complete frame behind them overtakes those that wait for 300 ms yet.
	if got.LongestRun < 370 || got.LongestRun > 404 {
		t.Errorf("longest run of %d groups, want about 400", got.LongestRun)
	}
	if d := got.LongestNS - 200*f.intervalNS; max(d, -d) > 400*ms {
		t.Errorf("it took %d ms, want about %d", got.LongestNS/ms, 200*f.intervalNS/ms)
	}
	share := float64(got.Apart) / float64(got.Pictures)
	if estimate, _ := Split(got.SpreadNS, 12_500_000); math.Abs(estimate-0.4) > 1e-9 || share < 0.39 || share > 0.41 {
		t.Errorf("estimated split %.3f, measured %.3f, want 0.4", estimate, share)
	}
	// With 25 ms the half that is split off meets the next picture, and nothing but this says so.
	got, _ = f.play(t, 4000, func(cfg *Config) { cfg.Camera.Match = MatchBucket })
	if share := float64(got.Mixed) / float64(got.Judged); got.LongestRun > 1 || share < 0.19 || share > 0.21 {
		t.Errorf("%d of %d groups are mixed, longest run %d, want a fifth and 1", got.Mixed, got.Judged, got.LongestRun)
	}
}

// Stale groups and suppressed ones count as what they are: frames without fusion or with it.
func TestRunCountsWhatIsNotPublished(t *testing.T) {
	r := newRig(t, nil)
	empty := func(at int64, model string, capture int64) {
		r.send(at, Message{Stream: r.stream("c1"), Model: r.model(model), CaptureNS: capture * ms, HasBoxes: true})
	}
	run := func() uint64 { return r.c.AppendFigures(nil, 0)[0].Run }
	empty(0, "A", 0)
	r.c.Tick(clock.Mono(400 * ms)) // timeout of one model, and nothing found: not published
	if got := run(); got != 1 {
		t.Errorf("run %d after a suppressed frame of one model", got)
	}
	r.step(500, "A", 500)
	r.c.Tick(clock.Mono(5000 * ms)) // stale
	r.step(6000, "A", 6000)
	r.c.Slept(clock.Mono(6001 * ms))
	if got := run(); got != 3 {
		t.Errorf("run %d after two stale ones", got)
	}
	empty(7000, "A", 7000)
	empty(7000, "B", 7000) // both looked and found nothing: they met
	if got := r.c.AppendFigures(nil, 0)[0]; got.Run != 0 || got.LongestRun != 3 || len(got.Apartness) != 0 {
		t.Errorf("%+v after a suppressed frame of both", got)
	}
}

// R000-3: whoever never meets another is named with the reason and its figure.
func TestApartnessSaysByHowMuch(t *testing.T) {
	for _, test := range []struct {
		name string
		b    filmed
		want string

		ns, within int64
	}{
		{"a clock two hours ahead", filmed{name: "B", aheadNS: 7200_000 * ms}, WhyOtherBucket, 7200_000 * ms, 40 * ms},
		{"a clock two hours behind", filmed{name: "B", aheadNS: -7200_000 * ms}, WhyOtherBucket, -7200_000 * ms, 40 * ms},
		{"a clock 18 ms behind", filmed{name: "B", aheadNS: -18 * ms}, WhyOtherBucket, -18 * ms, 0},
		{"half a second slow", filmed{name: "B", lagNS: 500 * ms}, WhyLate, 500 * ms, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := film{intervalNS: 40 * ms, models: []filmed{{name: "A"}, test.b}}
			got, _ := f.play(t, 400, func(cfg *Config) { cfg.QuantumNS, cfg.Camera.Match = 10*ms, MatchBucket })
			i := slices.IndexFunc(got.Apartness, func(a Alone) bool { return a.Model == "B" })
			if i < 0 {
				t.Fatalf("B is not named: %+v", got.Apartness)
			}
			b := got.Apartness[i]
			if s := hist.Summarize(b.NS); b.Why != test.want || distance(s.P50, test.ns) > test.within || b.Received != 400 {
				t.Errorf("B: %s by %+v of %d, want %s by %d", b.Why, s, b.Received, test.want, test.ns)
			}
		})
	}
	t.Run("the punctual one of two", func(t *testing.T) {
		f := film{intervalNS: 40 * ms, models: []filmed{{name: "A"}, {name: "B", lagNS: 500 * ms}}}
		got, _ := f.play(t, 400, func(cfg *Config) { cfg.Camera.Match = MatchBucket })
		if len(got.Apartness) != 2 || got.Apartness[0].Why != WhyOthersLate {
			t.Errorf("%+v, want A alone because B is late", got.Apartness)
		}
	})
	t.Run("silent and dead", func(t *testing.T) {
		f := film{intervalNS: 40 * ms, models: []filmed{{name: "A"}}}
		got, r := f.play(t, 10, nil)
		if len(got.Apartness) != 2 || got.Apartness[0].Why != WhyOthersAbsent || got.Apartness[1].Why != WhyAbsent {
			t.Errorf("%+v", got.Apartness)
		}
		if err := r.c.ModelDown(0, "B"); err != nil {
			t.Fatal(err)
		}
		if got := r.c.AppendFigures(nil, 0)[0]; got.Apartness[1].Why != WhyDead {
			t.Errorf("%+v", got.Apartness)
		}
	})
}

// A model may meet others on one camera and nobody on another.
func TestApartnessIsPerCamera(t *testing.T) {
	r := newRig(t, nil)
	at := func(camera, model string, nowMS int64) {
		r.send(nowMS, Message{Stream: r.stream(camera), Model: r.model(model), CaptureNS: nowMS / 100 * 100 * ms})
	}
	at("c1", "A", 0)
	at("c1", "B", 1)
	at("c2", "A", 100)
	at("c2", "B", 500)
	got := r.c.AppendFigures(nil, 0)
	if len(got[0].Apartness) != 0 || len(got[1].Apartness) != 2 {
		t.Errorf("%+v, %+v", got[0].Apartness, got[1].Apartness)
	}
}

// R000-14: the final skew sees what the timeout hides, and says what it cannot see.
func TestFinalSkew(t *testing.T) {
	r := newRig(t, nil)
	r.step(0, "A", 0)
	r.step(5000, "B", 0) // late by 5 s, within the horizon
	r.step(100_000, "A", 100_000)
	r.step(112_000, "B", 100_000) // beyond it
	r.step(120_000, "A", 120_000) // alone
	final := func(ms_ int64) Final { return r.c.Final(clock.Mono(ms_ * ms)) }
	got := final(120_000)
	if got.HorizonNS != 10_000*ms || got.Beyond != 1 || fmt.Sprint(got.BeyondNS) != fmt.Sprint([]int64{12_000 * ms}) {
		t.Errorf("%+v", got)
	}
	if fmt.Sprint(got.SkewNS) != fmt.Sprint([]int64{5000 * ms}) {
		t.Errorf("samples %v, want 5 s: frames of one model within the horizon have no skew", got.SkewNS)
	}
	r = newRig(t, nil)
	r.step(0, "A", 0)
	r.step(5000, "B", 0)
	r.c.Tick(clock.Mono(10_299 * ms))
	if got := r.c.Final(0); len(got.SkewNS) != 0 {
		t.Errorf("final before the horizon: %v", got.SkewNS)
	}
	r.c.Tick(clock.Mono(15_000 * ms))
	if got := r.c.Final(0); fmt.Sprint(got.SkewNS) != fmt.Sprint([]int64{5000 * ms}) || got.Cut != 0 {
		t.Errorf("%+v, want one frame of 5 s", got)
	}
}

// What comes at the very end of the horizon still counts.
func TestFinalSkewEdge(t *testing.T) {
	for _, past := range []int64{0, 1} {
		r := newRig(t, nil)
		r.step(0, "A", 0)
		late := Message{Stream: r.stream("c1"), Model: r.model("B")}
		r.c.Step(clock.Mono(10_000*ms+past), &late)
		r.c.Tick(clock.Mono(20_400 * ms))
		if got := r.c.Final(0); got.Beyond != uint64(past) || len(got.SkewNS) != 1-int(past) {
			t.Errorf("%d ns past the horizon: %+v", past, got)
		}
	}
}

// The horizon grows with the timeout; what is forgotten before it is over is counted.
func TestFinalSkewIsCut(t *testing.T) {
	r := newRig(t, func(cfg *Config) {
		cfg.TimeoutNS, cfg.MaxAgeNS = 5000*ms, Never
		cfg.Limits.Closed = 1
	})
	r.step(0, "A", 0)
	r.step(0, "B", 0)
	r.step(1, "A", 1000)
	r.step(1, "B", 1000)
	if got := r.c.Final(0); got.HorizonNS != 20_000*ms || got.Cut != 1 || len(got.SkewNS) != 0 {
		t.Errorf("%+v, want a horizon of 20 s and one frame cut", got)
	}
}

// Windows never freeze: without messages every figure of the window is gone.
func TestFiguresDoNotFreeze(t *testing.T) {
	f := film{intervalNS: 40 * ms, models: []filmed{{name: "A"}, {name: "B", aheadNS: 3 * ms}}}
	got, r := f.play(t, 600, nil)
	if got.IntervalNS == 0 || len(got.SpreadNS) == 0 || len(got.Pairs[0].OffsetNS) == 0 {
		t.Fatalf("%+v", got)
	}
	got = r.c.AppendFigures(nil, clock.Mono(600*40*ms+61_000*ms))[0]
	if got.IntervalNS != 0 || len(got.SpreadNS) != 0 || len(got.Pairs[0].OffsetNS) != 0 {
		t.Errorf("after a minute of silence: %+v", got)
	}
}

// A flood of names and cameras leaves the figures bounded, and those of expected models in place.
func TestSeatsAreBounded(t *testing.T) {
	r := newRig(t, nil)
	for i := range 100 {
		r.step(int64(i), fmt.Sprint("stranger", i), int64(i)*1000)
	}
	r.step(200, "A", 0)
	if got := r.c.seatsTaken; got != strangerSeats+1 {
		t.Errorf("%d seats taken, want %d for strangers and one", got, strangerSeats)
	}
	if got := r.c.AppendFigures(nil, 0)[0].Apartness; len(got) != 2 || got[0].Received != 1 {
		t.Errorf("%+v", got)
	}
}

// Films against the naive figures: seats that wrap, clocks that jump, models that skip.
func TestFilmsAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := DefaultConfig()
		cfg.QuantumNS = rapid.SampledFrom([]int64{0, 10 * ms, 25 * ms, 50 * ms}).Draw(t, "quantum")
		cfg.TimeoutNS = 60 * ms
		cfg.SkewWindowNS = rapid.SampledFrom([]int64{1600 * ms, 4000 * ms}).Draw(t, "window")
		cfg.ClosedTTLNS, cfg.Limits.Closed = 300*ms, 24
		cfg.Camera = CameraConfig{
			Match: Match(rapid.IntRange(0, 3).Draw(t, "match")), WindowNS: 12 * ms, Expected: []string{"A", "B"},
			FrameIntervalNS: 25 * ms,
		}
		if cfg.Camera.Match != MatchWindow && rapid.Bool().Draw(t, "no interval") {
			cfg.Camera.FrameIntervalNS = 0
		}
		p := newPair(t, cfg)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		f := film{
			intervalNS: rapid.SampledFrom([]int64{20 * ms, 25*ms + 100, 33_366_667, 40 * ms}).Draw(t, "interval"),
			roundNS:    rapid.SampledFrom([]int64{0, ms}).Draw(t, "round"),
			withID:     rapid.Bool().Draw(t, "ids"),
		}
		for _, name := range []string{"A", "B", "X"} {
			every := rapid.IntRange(1, 3).Draw(t, name+" keeps one in")
			f.models = append(f.models, filmed{
				name: name, aheadNS: rapid.SampledFrom([]int64{0, 0, 3 * ms, -7 * ms, 17 * ms, 5000 * ms}).Draw(t, name+" ahead"),
				jitterNS: rapid.SampledFrom([]int64{0, 0, 2 * ms, 9 * ms}).Draw(t, name+" jitter"),
				lagNS:    rapid.SampledFrom([]int64{0, ms, 30 * ms, 100 * ms}).Draw(t, name+" lag"),
				keep:     func(i int) bool { return every == 1 || rng.IntN(every) == 0 },
			})
		}
		for reel := range rapid.IntRange(1, 3).Draw(t, "reels") {
			from := rapid.SampledFrom([]int{100 * reel, 0}).Draw(t, "from")
			epoch := uint32(rapid.IntRange(0, reel).Draw(t, "epoch"))
			start := p.v.now
			for _, s := range f.shoot(rng, from, 90) {
				s.m.epoch, s.m.hasBoxes, s.m.boxes = epoch, true, 1
				p.message(max(start, s.at), s.m)
			}
			p.check()
			p.checkFigures()
		}
	})
}
