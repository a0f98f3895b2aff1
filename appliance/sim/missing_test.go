package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/skewgate/skewgate/appliance/correlate"
)

// handed is a message on its way into the rules.
type handed struct {
	line *timeline
	m    *correlate.Message
	me   member
}

func (j *judge) follow(names ...string) {
	for _, name := range names {
		j.followed[name] = true
	}
}

// whoIsMissing notes which expected models are not in a group that is closed, and why. Whether
// the answer in another bucket is of this picture depends on the interval that the correlator has
// measured; here is said where it may be.
func (j *judge) whoIsMissing(g *group, reason correlate.Reason) {
	for _, name := range j.expected[g.line.camera] {
		if g.of(name) != nil {
			continue
		}
		why := correlate.Absent
		switch {
		case j.dead(g.line.camera, name):
			why = correlate.Dead
		case j.lateInHand(g, name):
			why = correlate.CameLate
		case slices.Contains(g.turnedAway, name):
			why = correlate.OtherGeneration
		default:
			if reason == correlate.Settled {
				why = correlate.Passed
			}
			if j.mayBeElsewhere(g, name) {
				g.perhaps = append(g.perhaps, name)
			}
		}
		j.missed[why]++
		g.missing = append(g.missing, name+" "+why.String())
	}
	slices.Sort(g.missing)
}

func (j *judge) lateInHand(g *group, model string) bool {
	h := j.hand
	if h == nil || h.me.model != model || h.line != g.line {
		return false
	}
	o, _ := j.find(h.line, h.m, h.me)
	return o == g
}

// mayBeElsewhere: another group of this timeline has the model's answer and lacks somebody who is
// expected and in this one.
func (j *judge) mayBeElsewhere(g *group, model string) bool {
	if !g.timed {
		return false
	}
	for _, o := range append(slices.Clone(j.open), j.closed...) {
		if m := o.of(model); o == g || o.line != g.line || m == nil || !m.readable {
			continue
		}
		for _, m := range g.members {
			if slices.Contains(j.expected[g.line.camera], m.model) && o.of(m.model) == nil {
				return true
			}
		}
	}
	return false
}

// allow takes over what was told of models that may be in another bucket, and counts how often
// it is the truth.
func (j *judge) allow(g, got *group) {
	for i, m := range g.missing {
		name, _, _ := strings.Cut(m, " ")
		told := name + " " + correlate.OtherBucket.String()
		if !slices.Contains(g.perhaps, name) || !slices.Contains(got.missing, told) {
			continue
		}
		g.missing[i] = told
		j.told++
		if j.answeredElsewhere(g, name) {
			j.toldTrue++
		}
	}
}

// answeredElsewhere: the model's answer for a picture of the group is in another one.
func (j *judge) answeredElsewhere(g *group, model string) bool {
	for _, o := range append(slices.Clone(j.open), j.closed...) {
		theirs := o.of(model)
		if o == g || theirs == nil {
			continue
		}
		for _, m := range g.members {
			if mine, its := j.truth.Of(m.tag), j.truth.Of(theirs.tag); mine != nil && its != nil && mine.Picture == its.Picture {
				return true
			}
		}
	}
	return false
}

// Who is told to be in another bucket has answered for this very picture there. Capture times
// alone cannot be right each time, where the clocks of cameras jump and detectors skip pictures.
func TestOtherBucketIsMostlyTrue(t *testing.T) {
	told, toldTrue := 0, 0
	for seed := range uint64(200) {
		p := Draw(seed + 1)
		if slices.ContainsFunc(p.Models, func(m ModelPlan) bool { return m.LieP > 0 }) {
			continue
		}
		j := newJudge(p)
		if _, err := runWith(p, sound, habits{}, j); err != nil {
			t.Fatalf("seed %d: %v", seed+1, err)
		}
		told, toldTrue = told+j.told, toldTrue+j.toldTrue
	}
	t.Logf("told %d times, true %d times", told, toldTrue)
	if told < 100 || toldTrue < told*95/100 {
		t.Errorf("told %d times, true %d times: want at least 100, and 95 %% of them true", told, toldTrue)
	}
}
