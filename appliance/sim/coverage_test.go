package sim

import (
	"fmt"
	"slices"
	"testing"

	"github.com/skewgate/skewgate/appliance/correlate"
)

// coverage counts in how many runs each ingredient has really happened.
type coverage map[string]int

// ingredients are all that a run can have, each with the least share of seeds that must have it,
// in thousandths. What is not here and happens all the same is a failure, and so is what no
// longer happens: a simulation that draws no trouble finds none.
var ingredients = map[string]int{
	"clock drifts": 10, "clock steps": 10, "clock stands still": 10,
	"camera clock drifts": 100, "29.97 pictures a second": 50, "30 pictures a second": 50, "29.97 beside 30": 10,
	"phase lock: interval a hair off the quantum": 10, "pictures on a bucket's edge": 100,
	"camera restarts at 0": 100, "camera restarts and jumps back": 50, "camera restarts and jumps ahead": 50,
	"camera restarts and goes on": 50, "camera repeats a time": 50, "camera delivers in bursts": 50,

	"detector is sparse": 200, "detector is slower than the camera": 200, "detector is silent": 50, "detector starts late": 50,
	"detector dies": 100, "all detectors die at once": 30, "a promise ends at a window's edge": 20,
	"a time is as near to one picture as to another": 10, "detector comes back": 100, "detector hangs": 50, "detector is taken for hung": 30, "detector that hung goes on": 30,
	"detector is asked to go": 30, "detector duplicates": 50, "detector collides": 50, "detector sends again": 20,
	"detector is renamed": 10, "an expected model is never there": 10, "detector sends garbage": 20, "detector lies about when it published": 20,
	"detector sends no frame ids": 20, "expected set changes": 100, "expected set is emptied": 10,
	"offsets are right": 20, "offsets are wrong": 20,

	"generations switch": 50, "generations overlap": 20, "two generations in one run": 50, "machine sleeps": 50,
	"path stands still for 50 ms": 100, "path stands still for longer": 50, "path looks at intervals": 100, "a publish time is clamped": 20,

	"match auto": 20, "match frame_id": 50, "match bucket": 50, "match window": 50, "exact instants": 10, "a camera of its own settings": 50,

	"closed by quorum": 500, "closed as settled": 200, "closed by timeout": 200, "closed by eviction": 50, "closed as stale": 50,
	"accepted": 900, "late": 100, "dup_resend": 100, "dup_collision": 30, "wrong_generation": 10, "unexpected": 50, "unparsed": 20,
	"refused": 20, "progress is broken": 20, "no frame id": 10, "nobody found anything": 100, "closed records are forgotten": 50,
	"messages are overwritten unread": 10, "frames mix two pictures": 10, "a dead model is missing": 100, "a model that promised is missing": 200,
	"a model turned away by its generation is missing": 10, "a late model is missing": 10,
}

// add counts what happened in one run.
func (c coverage) add(p *Plan, j *judge, r *Result) {
	had := map[string]bool{}
	for what := range j.truth.Troubles {
		had[what] = true
	}
	hadCameras(had, p)
	hadModels(had, p, j.truth)
	hadPath(had, p, j)
	hadOutcomes(had, j, r)
	for what, yes := range had {
		if yes {
			c[what]++
		}
	}
}

func hadCameras(had map[string]bool, p *Plan) {
	q := p.Config.QuantumNS
	intervals := map[int64]bool{}
	for i := range p.Cameras {
		cam := &p.Cameras[i]
		intervals[cam.IntervalNS] = true
		had["camera clock drifts"] = had["camera clock drifts"] || cam.DriftPPM != 0
		match := p.settings(i).Match
		had["match "+match.String()] = true
		byBucket := match == correlate.MatchBucket && q > 1
		if beside := cam.IntervalNS - q; byBucket && beside != 0 && max(beside, -beside) < q/1000 {
			had["phase lock: interval a hair off the quantum"] = true
		}
		if off := cam.PhaseNS + wallNS; q > 1 && (off-floorDiv(off+1, q)*q)*2 < 3 && off-floorDiv(off+1, q)*q >= -1 {
			had["pictures on a bucket's edge"] = true
		}
		had["exact instants"] = had["exact instants"] || match == correlate.MatchBucket && q == 0
	}
	had["29.97 pictures a second"], had["30 pictures a second"] = intervals[33_366_667], intervals[33_333_333]
	had["29.97 beside 30"] = intervals[33_366_667] && intervals[33_333_333]
	had["a camera of its own settings"] = len(p.Config.Cameras) > 0
}

// hadModels tells what models did; each must have published something.
func hadModels(had map[string]bool, p *Plan, t *Truth) {
	spoke := map[int]bool{}
	for i := range t.Messages {
		m := &t.Messages[i]
		spoke[m.Model] = true
		had["detector sends garbage"] = had["detector sends garbage"] || m.Garbage
		had["detector lies about when it published"] = had["detector lies about when it published"] || m.Lie
		had["detector sends no frame ids"] = had["detector sends no frame ids"] || p.Shared && m.FrameID == 0
		clock, since := &p.Models[m.Model].Clock, t.Pictures[m.Picture].AtNS
		if !p.Shared { // these are stamped by the detector's own clock
			had["clock drifts"] = had["clock drifts"] || clock.DriftPPM != 0
			had["clock steps"] = had["clock steps"] || clock.StepNS != 0 && since >= clock.StepAtNS
			had["clock stands still"] = had["clock stands still"] || clock.StuckNS > 0 && since > clock.StuckAtNS
		}
	}
	for i := range p.Models {
		m := &p.Models[i]
		if !spoke[i] {
			continue
		}
		for what, yes := range map[string]bool{
			"detector is sparse": m.FindP <= 0.5, "detector is slower than the camera": m.LatencyNS > p.Cameras[0].IntervalNS,
			"detector is silent": m.Silence == Silent, "detector starts late": m.StartNS > 0,
			"detector duplicates": m.DupP > 0, "detector collides": m.CollideP > 0, "detector sends again": m.ResendP > 0,
			"detector is renamed": m.Says != m.Name && slices.Contains(p.Config.Camera.Expected, m.Name),
		} {
			had[what] = had[what] || yes
		}
		if offset, ok := p.Config.Camera.OffsetNS[m.Name]; ok {
			had["offsets are right"] = had["offsets are right"] || offset == m.SkewNS
			had["offsets are wrong"] = had["offsets are wrong"] || offset != m.SkewNS
		}
	}
	had["an expected model is never there"] = slices.Contains(p.Config.Camera.Expected, "nobody")
}

func hadPath(had map[string]bool, p *Plan, j *judge) {
	for _, s := range p.Poll.Stalls {
		had["path stands still for 50 ms"] = had["path stands still for 50 ms"] || s.ToNS-s.FromNS == 50*ms
		had["path stands still for longer"] = had["path stands still for longer"] || s.ToNS-s.FromNS > 50*ms
	}
	had["path looks at intervals"] = p.Poll.IntervalNS > 0
	had["a publish time is clamped"] = j.clamped > 0
	had["expected set is emptied"] = slices.ContainsFunc(p.Reloads, func(r Reload) bool { return len(r.Names) == 0 })
	generations := map[uint64]bool{}
	for i := range j.truth.Messages {
		generations[j.truth.Messages[i].Generation] = true
	}
	had["generations switch"] = p.CutoverNS > 0
	had["generations overlap"] = p.CutoverNS > 0 && p.OverlapNS > 0
	had["two generations in one run"] = generations[1] && generations[2]
}

func hadOutcomes(had map[string]bool, j *judge, r *Result) {
	n := &r.Counters
	for what, count := range map[string]uint64{
		"closed by quorum": n.FlushedQuorum, "closed as settled": n.FlushedSettled, "closed by timeout": n.FlushedTimeout,
		"closed by eviction": n.FlushedEviction, "closed as stale": n.Stale, "accepted": n.Accepted, "late": n.Late,
		"dup_resend": n.DupResend, "dup_collision": n.DupCollision, "wrong_generation": n.WrongGeneration,
		"unexpected": n.Unexpected, "unparsed": n.Unparsed, "refused": n.Refused, "progress is broken": n.ProgressBroken,
		"no frame id": n.NoFrameID, "nobody found anything": n.SuppressedEmpty, "closed records are forgotten": n.ClosedForgotten,
		"messages are overwritten unread": r.Lost, "frames mix two pictures": uint64(r.Mixed),
		"a dead model is missing": j.missed[correlate.Dead], "a model that promised is missing": j.missed[correlate.Passed],
		"a model turned away by its generation is missing": j.missed[correlate.OtherGeneration], "a late model is missing": j.missed[correlate.CameLate],
	} {
		had[what] = count > 0
	}
}

// check wants every ingredient in its share of n runs.
func (c coverage) check(t *testing.T, n int) {
	t.Helper()
	var names []string
	for what, least := range ingredients {
		names = append(names, what)
		if c[what]*1000 < least*n {
			t.Errorf("%q happened in %d of %d seeds, want at least %d in 1,000: look at Draw", what, c[what], n, least)
		}
	}
	for what := range c {
		if _, ok := ingredients[what]; !ok {
			t.Errorf("%q happened and is not among the ingredients: add it", what)
		}
	}
	slices.Sort(names)
	text := ""
	for _, what := range names {
		text += fmt.Sprintf("\n%6.1f %%  %s", 100*float64(c[what])/float64(n), what)
	}
	t.Logf("share of the seeds in which it happened:%s", text)
}
