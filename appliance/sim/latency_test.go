package sim

import (
	"slices"
	"testing"

	"github.com/skewgate/skewgate/appliance/correlate"
)

// sparsePlan is two detectors on one camera, the slower of which finds something in one picture
// of ten and is silent about the others in its own way.
func sparsePlan(managed bool, s Silence) *Plan {
	p := &Plan{Seed: 1, LengthNS: 20 * sec, Shared: true, Config: correlate.DefaultConfig()}
	p.Config.Camera = correlate.CameraConfig{Match: correlate.MatchFrameID, Expected: []string{"A", "B"}}
	p.Config.EmitEmpty = true
	p.Cameras = []CameraPlan{{Name: "gate", IntervalNS: 33_366_667}}
	p.Models = []ModelPlan{
		{Name: "A", Says: "A", Managed: true, MaxOngoing: 1, LatencyNS: 8 * ms, JitterNS: 2 * ms, FindP: 1},
		{Name: "B", Says: "B", Managed: managed, MaxOngoing: 1, LatencyNS: 20 * ms, JitterNS: 2 * ms, FindP: 0.1, Silence: s, SilentToo: s == Silent},
	}
	return p
}

// R000-23: a frame closes when the slowest live detector has answered, or has promised not to,
// and not a nanosecond later; only silence costs the timeout.
func TestSparseFramesCloseAtTheSlowestLag(t *testing.T) {
	const slowest = 14 * ms // 22 ms of the slow one less 8 ms of the quick one
	for _, tc := range []struct {
		name    string
		managed bool
		silence Silence
	}{
		{"managed, answers without boxes", true, Answers},
		{"foreign, answers without boxes", false, Answers},
		{"foreign, promises", false, Promises},
		{"foreign, silent", false, Silent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := sparsePlan(tc.managed, tc.silence)
			j := newJudge(p)
			var waits []int64
			j.onGroup = func(g *group) {
				if slices.Contains(g.missing, "B dead") {
					return // it has attached and not said a word yet
				}
				waits = append(waits, int64(g.closedAt-g.first))
				if last := j.heardOf(g, 1); tc.silence != Silent && int64(g.closedAt) != last {
					t.Errorf("closed at %d, the slow one had spoken at %d: %s", g.closedAt, last, g)
				}
			}
			r, err := runWith(p, sound, habits{}, j)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(waits)
			p50, most := waits[len(waits)/2], waits[len(waits)-1]
			t.Logf("%d frames, %d by timeout; from first answer to fused frame p50 %.1f ms, max %.1f ms",
				len(waits), r.Counters.FlushedTimeout, float64(p50)/1e6, float64(most)/1e6)
			if len(waits) < 500 {
				t.Errorf("%d frames, want 20 s of them", len(waits))
			}
			if tc.silence == Silent {
				if p50 != p.Config.TimeoutNS {
					t.Errorf("silence costs %d ns, want the timeout", p50)
				}
			} else if r.Counters.FlushedTimeout > 0 || most > slowest {
				t.Errorf("%d frames waited for their timeout, the longest wait is %d ns; want none and at most %d", r.Counters.FlushedTimeout, most, slowest)
			}
		})
	}
}

// heardOf returns when a model published its answer to a group's picture, or the promise that
// there will be none.
func (j *judge) heardOf(g *group, model int) int64 {
	picture := j.truth.Of(g.members[0].tag).Picture
	for i := range j.truth.Messages {
		if m := &j.truth.Messages[i]; m.Model == model && m.Picture == picture {
			return m.PublishedNS
		}
	}
	pic := &j.truth.Pictures[picture]
	for _, p := range j.truth.Promises {
		if p.Model == model && p.Epoch == pic.Epoch && p.NS >= pic.StampNS {
			return p.PublishedNS
		}
	}
	return 0
}

// CORRELATION §7: a detector that dies costs no frame anything but its own answer; one that
// hangs costs at most the timeout, and nothing more once it is taken for hung, until it goes on.
func TestDeadAndHungDetectors(t *testing.T) {
	const diesAt, backAt, hangsAt, onAt = 5 * sec, 7 * sec, 12 * sec, 13 * sec
	p := sparsePlan(true, Answers)
	p.Models[1].Troubles = []Trouble{{AtNS: diesAt, BackNS: backAt - diesAt}, {AtNS: hangsAt, Hang: true, BackNS: onAt - hangsAt}}
	j := newJudge(p)
	dead, hung := 0, 0
	j.onGroup = func(g *group) {
		first, waited := int64(g.first), int64(g.closedAt-g.first)
		switch {
		case first > hangsAt-30*ms && first < onAt:
			hung++
			if waited > p.Config.TimeoutNS || first > hangsAt+hungAfterNS && waited > 0 {
				t.Errorf("a frame waited %d ns for a hung detector: %s", waited, g)
			}
		case slices.Contains(g.missing, "B dead"):
			dead++
			if waited > 3*ms+20*ms { // the supervisor's word, and what it was about to answer
				t.Errorf("a frame waited %d ns for a dead detector: %s", waited, g)
			}
		case g.reason == correlate.Timeout:
			t.Errorf("a frame waited for its timeout with everybody well: %s", g)
		}
	}
	if _, err := runWith(p, sound, habits{}, j); err != nil {
		t.Fatal(err)
	}
	if dead < 50 || hung < 25 {
		t.Errorf("%d frames without the dead one, %d while it hung; want 2 s and 1 s of them", dead, hung)
	}
}

// CORRELATION §3: the path stands still for 50 ms, and the skew of the frames that it finds
// waiting is that of their detectors, not 0.
func TestStallOfThePathCensorsNothing(t *testing.T) {
	p := sparsePlan(false, Answers)
	p.Models[0].Managed = false // nobody needs the path to work
	for at := int64(1 * sec); at < p.LengthNS; at += 500 * ms {
		p.Poll.Stalls = append(p.Poll.Stalls, Stall{at, at + 50*ms})
	}
	j := newJudge(p)
	stalled := 0
	j.onGroup = func(g *group) {
		if len(g.members) < 2 {
			return
		}
		skew := int64(g.last - g.first)
		if skew < 10*ms || skew > 14*ms { // 20…22 ms less 8…10 ms
			t.Errorf("skew is %d ns: %s", skew, g)
		}
		if poll := &p.Poll; poll.Awake(p.Start, int64(g.first)) != int64(g.first) && poll.Awake(p.Start, int64(g.last)) != int64(g.last) {
			stalled++
		}
	}
	if _, err := runWith(p, sound, habits{}, j); err != nil {
		t.Fatal(err)
	}
	if stalled < 10 {
		t.Errorf("%d frames were complete before the path looked; want more to judge by", stalled)
	}
}
