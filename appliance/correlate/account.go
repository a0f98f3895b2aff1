package correlate

import (
	"math/bits"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/hist"
)

// account is what became of a camera's groups, since New.
type account struct {
	met        uint64 // expected models that have shared a group which was not stale
	groups     uint64 // closed
	judged     uint64 // published groups of two or more models of which it could be told
	mixed      uint64 // of those, with two pictures in them
	collisions uint64

	mixedNS *hist.Window // spreads of the last mixed groups; nil for none
	mixNS   int64        // a group whose capture times spread that far holds two pictures; 0 = not known

	run, worst uint64 // closed groups in a row, in order of closing, in which no two models met
	runSince   clock.Mono
	worstNS    int64
}

// setMixing derives what tells two pictures from one. Capture times of one picture spread by at
// most D, those of two by at least T − D. Where D < T/2, which is what any matching by time
// needs (2τ < T, CORRELATION.md §8), half an interval is therefore exact: less is one picture,
// as much or more is two. Where D is larger no capture time can tell. T is the measured
// interval or the configured one, whichever is less: a model that skips pictures makes the
// measured one too long, a camera that was set to another rate the configured one.
func (cam *camera) setMixing() {
	T := cam.intervalNS
	if cam.frameIntervalNS > 0 && (T == 0 || cam.frameIntervalNS < T) {
		T = cam.frameIntervalNS
	}
	cam.mixNS = T/2 + T%2
}

// take counts a closed group.
func (cam *camera) take(now clock.Mono, g *group, reason Reason) {
	cam.groups++
	if len(g.Members) < 2 || reason == Stale {
		if cam.run == 0 {
			cam.runSince = g.FirstArrival
		}
		cam.run++
		if cam.run > cam.worst {
			cam.worst, cam.worstNS = cam.run, int64(now-cam.runSince)
		}
		return
	}
	cam.run = 0
	cam.met |= g.in
	if bits.OnesCount64(g.in) == len(g.Members) {
		return
	}
	for i := range g.Members { // somebody has no bit yet, and may be expected one day
		if s := cam.seats.of(g.Members[i].Model); s >= 0 {
			cam.taken[s].met = true
		}
	}
}

// hasMet reports whether the model of a seat has shared a group with another.
func (s *seats) hasMet(i int) bool { return s.taken[i].met || s.met&s.taken[i].mod.bit != 0 }

// judgeMix counts a published group of two models or more as one picture or two. What shares a
// frame id is one picture by the source's word.
func (c *Correlator) judgeMix(now clock.Mono, g *group) {
	cam := g.camera
	if cam.mixNS == 0 || !g.timed || g.Key.Tag == TagID {
		return
	}
	cam.judged++
	spread := subSaturating(g.maxNS, g.minNS)
	if spread < cam.mixNS {
		return
	}
	cam.mixed++
	if cam.mixedNS == nil {
		cam.mixedNS = hist.NewWindow(c.cfg.SkewWindowNS, rareSamples)
	}
	cam.mixedNS.Add(int64(now), spread)
}
