package sim

import (
	"fmt"
	"math/rand/v2"

	"github.com/skewgate/skewgate/appliance/correlate"
)

// Draw makes the plan of a seed.
func Draw(seed uint64) *Plan {
	r := rand.New(rand.NewPCG(seed, 0x736b65776761))
	p := &Plan{Seed: seed, Start: pick[int64](r, 0, -3*sec, 1_000_000*sec, 5), Calm: chance(r, 0.35)}
	p.LengthNS = between(r, 800*ms, 2500*ms)
	p.Shared = chance(r, 0.6)
	p.drawMatch(r)
	p.drawBounds(r)
	for i := range 1 + r.IntN(3) {
		p.Cameras = append(p.Cameras, p.drawCamera(r, i))
	}
	for i := range 2 + r.IntN(3) {
		p.Models = append(p.Models, p.drawModel(r, i))
	}
	p.Config.Camera.Expected = p.expected(r)
	p.drawOffsets(r)
	p.drawOwnSettings(r)
	p.drawEvents(r)
	return p
}

func (p *Plan) drawMatch(r *rand.Rand) {
	c := &p.Config
	*c = correlate.DefaultConfig()
	interval := p.interval(r)
	if p.Shared {
		c.Camera.Match = pick(r, correlate.MatchFrameID, correlate.MatchFrameID, correlate.MatchAuto, correlate.MatchBucket, correlate.MatchWindow)
	} else {
		c.Camera.Match = pick(r, correlate.MatchBucket, correlate.MatchWindow, correlate.MatchWindow)
	}
	c.Camera.FrameIntervalNS = interval
	c.Camera.WindowNS = between(r, interval/8, (interval-1)/2)
	c.QuantumNS = pick(r, 25*ms, 10*ms, 5*ms, interval, interval/2, 33_333_333, 1, 0)
	if interval == 25_000_100 && chance(r, 0.5) {
		c.QuantumNS = 25 * ms // locked: picture after picture at the same place of its bucket
	}
	if !p.Shared && c.QuantumNS <= 1 {
		c.QuantumNS = 20 * ms
	}
}

// interval is a frame interval of the field: 29.97 against 30, and the one that locks to 25 ms.
func (p *Plan) interval(r *rand.Rand) int64 {
	return pick[int64](r, 33_366_667, 33_333_333, 25_000_100, 40*ms, 16_683_333, 66*ms, 50*ms)
}

func (p *Plan) drawBounds(r *rand.Rand) {
	c := &p.Config
	c.TimeoutNS = pick(r, 300*ms, 150*ms, 500*ms, 40*ms, 80*ms, 0)
	if p.Calm {
		c.TimeoutNS = pick(r, 500*ms, 1000*ms)
	}
	c.MaxAgeNS = pick(r, 2*sec, correlate.Never, c.TimeoutNS+1+between(r, 0, 100*ms))
	c.SkewWindowNS = pick(r, 60*sec, 300*ms, 1*sec)
	c.ClosedTTLNS = pick(r, correlate.DefaultTTL, correlate.DefaultTTL, 400*ms, 1*sec)
	c.EmitEmpty = chance(r, 0.5)
	c.Limits.SkewSamples = 1 << 16
	if p.Calm {
		c.MaxAgeNS = pick(r, 2*sec, correlate.Never)
		return
	}
	c.MaxPending = pick(r, 4096, 4096, 6, 2)
	c.Limits.Closed = pick(r, 0, 0, 40, 5)
	c.Limits.RawKeys = pick(r, 0, 2)
	c.Limits.WindowGroups = pick(r, 0, 0, 3)
	c.Limits.GroupModels = pick(r, 0, 0, 2)
	c.ImplicitProgress = chance(r, 0.1)
}

func (p *Plan) drawCamera(r *rand.Rand, i int) CameraPlan {
	c := CameraPlan{
		Name: fmt.Sprintf("c%d", i), IntervalNS: p.Config.Camera.FrameIntervalNS,
		PhaseNS: between(r, 0, 40*ms), JitterNS: pick(r, 0, 0, 1*ms, 3*ms),
		DriftPPM: pick[int64](r, 0, 0, 50, -200), DelayNS: pick(r, 0, 100*us, 8*ms),
	}
	if i > 0 && chance(r, 0.5) { // another rate beside it
		c.IntervalNS = pick(r, 33_333_333, 33_366_667, c.IntervalNS+100)
	}
	// In phase with the buckets, and a hair beside their edges.
	if q := p.Config.QuantumNS; q > 0 && chance(r, 0.4) {
		c.PhaseNS = (floorDiv(wallNS, q)+2)*q + pick(r, 0, -1, 1, -1*ms) - wallNS
		c.DriftPPM, c.JitterNS = 0, 0
	}
	c.BurstP, c.RepeatP = pick(r, 0, 0, 0.03), pick(r, 0, 0, 0.02)
	if p.Calm && p.byTime() {
		c.BurstP = 0 // late pictures leave buckets open
	}
	for range pick(r, 0, 0, 1, 2) {
		c.Restarts = append(c.Restarts, Restart{
			AtNS: between(r, 100*ms, p.LengthNS-50*ms), OutNS: between(r, 1*ms, 200*ms),
			ZeroClock: chance(r, 0.4), BackNS: pick(r, 0, 40*ms, 10*sec, -10*sec),
		})
	}
	if p.Calm && p.byTime() {
		c.Restarts = nil
	}
	return c
}

func (p *Plan) drawModel(r *rand.Rand, i int) ModelPlan {
	m := ModelPlan{
		Name: string(rune('A' + i)), Managed: p.Shared && chance(r, 0.6), MaxOngoing: 1 + r.IntN(2),
		LatencyNS: pick(r, 2*ms, 8*ms, 20*ms, 30*ms), JitterNS: pick(r, 0, 1*ms, 10*ms),
		FindP: pick(r, 1, 0.9, 0.5, 0.1), Silence: pick(r, Answers, Answers, Promises),
	}
	m.Says = m.Name
	if !p.Shared {
		m.SkewNS, m.SkewJitterNS = between(r, 0, p.Config.Camera.FrameIntervalNS/3), pick(r, 0, 0, 500*us)
	}
	if chance(r, 0.3) {
		m.SpikeP, m.SpikeNS = 0.05, 40*ms
	}
	m.DupP = pick(r, 0, 0, 0, 0.05)
	if chance(r, 0.4) {
		m.Troubles = p.drawTroubles(r)
	}
	if p.Calm {
		if p.byTime() { // what is torn by the bucket is settled by promises alone
			m.Silence = Promises
		}
		return m
	}
	m.LatencyNS += pick(r, 0, 0, p.Config.Camera.FrameIntervalNS, 5*p.Config.Camera.FrameIntervalNS)
	m.StartNS = pick(r, 0, 0, 0, between(r, 0, 500*ms))
	if !m.Managed {
		m.Silence = pick(r, Answers, Promises, Silent)
		m.SilentToo = m.Silence == Silent || chance(r, 0.2)
		m.ResendP, m.GarbageP, m.LieP = pick(r, 0, 0, 0.05), pick(r, 0, 0, 0.1), pick(r, 0, 0, 0, 0.1)
		m.GarbageTexts = pick(r, 1, 3, 1000)
		m.NoIDs = chance(r, 0.1)
		m.Clock = drawClock(r)
		if i > 0 && chance(r, 0.1) {
			m.Says = m.Name + "-v2"
		}
	}
	m.CollideP, m.SkipP = pick(r, 0, 0, 0.03), pick(r, 0, 0, 0.05)
	return m
}

func (p *Plan) drawTroubles(r *rand.Rand) (all []Trouble) {
	for range 1 + r.IntN(2) {
		all = append(all, Trouble{
			AtNS: between(r, 50*ms, p.LengthNS), Hang: !p.Calm && chance(r, 0.5), Stop: chance(r, 0.2), BackNS: pick(r, 0, between(r, 1*ms, 600*ms)),
		})
	}
	return all
}

// expected names the models that a quorum needs: most of them, and now and then one that is
// not there at all.
func (p *Plan) expected(r *rand.Rand) (names []string) {
	for i := range p.Models {
		if i == 0 || chance(r, 0.9) {
			names = append(names, p.Models[i].Name)
		}
	}
	if !p.Calm && chance(r, 0.05) {
		names = append(names, "nobody")
	}
	return names
}

// drawOffsets configures what a model's clock is known to be ahead by, right or a little wrong.
func (p *Plan) drawOffsets(r *rand.Rand) {
	if p.Shared || chance(r, 0.6) {
		return
	}
	p.Config.Camera.OffsetNS = map[string]int64{}
	for _, m := range p.Models {
		p.Config.Camera.OffsetNS[m.Name] = m.SkewNS + pick(r, 0, 0, 2*ms, -1*ms)
	}
}

// drawOwnSettings gives one camera a match and an expected set of its own.
func (p *Plan) drawOwnSettings(r *rand.Rand) {
	if len(p.Cameras) < 2 || chance(r, 0.6) {
		return
	}
	own := p.Config.Camera
	own.Expected = p.expected(r)
	if p.Shared && !p.Calm {
		own.Match = pick(r, correlate.MatchFrameID, correlate.MatchBucket, correlate.MatchWindow)
	}
	own.WindowNS /= 2
	p.Config.Cameras = map[string]correlate.CameraConfig{Unit + "/" + p.Cameras[1].Name: own}
}

func (p *Plan) drawEvents(r *rand.Rand) {
	p.Poll.WakeNS = pick(r, 0, 20*us, 300*us)
	if chance(r, 0.3) {
		p.Poll.IntervalNS = pick(r, 1*ms, 4*ms)
	}
	for range pick(r, 0, 1, 1, 3) {
		from := between(r, 0, p.LengthNS)
		long := int64(50 * ms)
		if !p.Calm {
			long = pick(r, 50*ms, 50*ms, 400*ms, 2500*ms)
		}
		p.Poll.Stalls = append(p.Poll.Stalls, Stall{from, from + long})
	}
	for range pick(r, 0, 0, 0, 1, 2) {
		reload := Reload{AtNS: between(r, 0, p.LengthNS), Camera: r.IntN(len(p.Cameras)+1) - 1, Names: p.expected(r)}
		if chance(r, 0.1) {
			reload.Names = nil
		}
		p.Reloads = append(p.Reloads, reload)
	}
	if chance(r, 0.15) && !(p.Calm && p.byTime()) {
		p.Sleeps = append(p.Sleeps, between(r, 0, p.LengthNS))
	}
	if p.Shared && chance(r, 0.4) {
		p.CutoverNS, p.OverlapNS = between(r, 100*ms, p.LengthNS), pick(r, 0, 60*ms, 300*ms)
	}
	if chance(r, 0.1) {
		p.Outages = append(p.Outages, Outage{between(r, 100*ms, p.LengthNS), pick(r, 0, 5*ms, 60*ms)})
	}
}

func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// between draws from low … high.
func between(r *rand.Rand, low, high int64) int64 {
	if high <= low {
		return low
	}
	return low + r.Int64N(high-low+1)
}
