package sim

import (
	"fmt"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
)

// judge follows every call that the path makes to the correlator, says by the rules what has to
// come of it, and looks at the groups that come out in the light of the truth. The rules are
// written here a second time, for one run at a time and with no thought of speed.
type judge struct {
	plan  *Plan
	truth *Truth
	corr  correlator

	now      clock.Mono
	expected [][]string // by camera
	down     map[string]bool
	followed map[string]bool       // has ever been expected or known dead
	hand     *handed               // the message that arrives while what was due before is closed
	silent   []map[string]bool     // by camera: dead there alone
	backAt   map[string]clock.Mono // when a model that was dead last spoke again
	lines    map[line]*timeline
	open     []*group       // in order of first arrival
	closed   []*group       // in order of closing
	texts    map[string]int // of unreadable times: uses
	returned bool           // a dead model came back since all groups were last judged
	n        correlate.Counters
	models   map[string]*figures
	skew     []sample

	due  []*group // closed by the call in hand, as the rules have it
	got  []*group // published by the call in hand
	seen map[uint64]bool
	last clock.Mono // when the last group closed

	calls   int
	clamped int                                // messages that did not arrive when they say that they were published
	missed  map[correlate.MissingReason]uint64 // models that were not in a group that was due
	opened  map[int]int                        // by picture: the groups that its messages have opened
	mixed   map[line]int                       // groups of two pictures
	hash    digest
	problem error

	told, toldTrue int // models said to be in another bucket

	onGroup func(*group) // a test looks at what comes out
}

func newJudge(p *Plan) *judge {
	j := &judge{
		plan: p, now: clock.Mono(p.Start), down: map[string]bool{}, followed: map[string]bool{}, backAt: map[string]clock.Mono{}, lines: map[line]*timeline{}, texts: map[string]int{},
		models: map[string]*figures{}, seen: map[uint64]bool{}, mixed: map[line]int{}, opened: map[int]int{}, last: -1 << 62, missed: map[correlate.MissingReason]uint64{},
	}
	for c := range p.Cameras {
		j.expected = append(j.expected, p.settings(c).Expected)
		j.follow(p.settings(c).Expected...)
		j.silent = append(j.silent, map[string]bool{})
	}
	return j
}

func (j *judge) fail(format string, args ...any) {
	if j.problem == nil {
		j.problem = fmt.Errorf("at %d ns: "+format, append([]any{int64(j.now) - j.plan.Start}, args...)...)
	}
}

func (j *judge) figures(model string) *figures {
	f := j.models[model]
	if f == nil {
		f = &figures{}
		j.models[model] = f
	}
	return f
}

func (j *judge) timeline(at line) *timeline {
	l := j.lines[at]
	if l == nil {
		s := j.plan.settings(at.camera)
		l = &timeline{line: at, match: s.Match, windowNS: s.WindowNS, keyed: map[key]*group{}, promised: map[string]*promise{}}
		j.lines[at] = l
	}
	return l
}

func (j *judge) ticked(now clock.Mono) {
	j.advance(now)
	j.compare("tick")
	if j.calls++; j.calls%50 == 0 {
		j.checkFigures(now)
	}
}

func (j *judge) slept(now clock.Mono) {
	j.advance(now)
	for len(j.open) > 0 {
		j.close(j.open[0], correlate.Stale)
	}
	j.compare("sleep")
}

func (j *judge) died(now clock.Mono, model string) {
	j.advance(now)
	j.down[model] = true
	j.follow(model)
	j.mark()
	j.judgeAll()
	j.compare("death of " + model)
}

func (j *judge) fellSilent(now clock.Mono, camera int, model string) {
	j.advance(now)
	j.silent[camera][model] = true
	j.follow(model)
	j.mark()
	j.judgeAll()
	j.compare("silence of " + model)
}

// dead: nobody waits for the model on that camera.
func (j *judge) dead(camera int, model string) bool { return j.down[model] || j.silent[camera][model] }

func (j *judge) reloaded(now clock.Mono, r Reload) {
	j.advance(now)
	j.follow(r.Names...)
	for c := range j.expected {
		if r.Camera < 0 || r.Camera == c {
			j.expected[c] = r.Names
		}
	}
	j.mark()
	j.judgeAll()
	j.compare("change of the expected set")
}

func (j *judge) promised(now clock.Mono, at line, model string, ns int64, ok bool) {
	j.advance(now)
	l := j.timeline(at)
	if full := l.promised[model] == nil && len(l.promised) >= limit(j.plan.Config.Limits.GroupModels, 128); full == ok {
		j.fail("progress of %s on %+v: taken %t, room %t", model, at, ok, !full)
	}
	if !ok {
		j.n.Refused++
		j.compare("refused progress")
		return
	}
	j.heard(at.camera, model)
	j.say(l, model, j.matched(at.camera, model, ns))
	j.compare("progress of " + model)
}

func (j *judge) stepped(now clock.Mono, at line, model string, m *correlate.Message, verdict correlate.Verdict) {
	l := j.timeline(at)
	me := member{
		model: model, tag: m.Tag, arrival: now, sentNS: m.CaptureNS, readable: m.Raw == nil, empty: len(m.Boxes) == 0,
	}
	if me.readable {
		me.ns = j.matched(at.camera, model, m.CaptureNS)
	}
	j.hand = &handed{l, m, me}
	j.advance(now)
	j.hand = nil
	if j.seen[m.Tag] {
		j.fail("message %d was stepped twice", m.Tag)
	}
	j.seen[m.Tag] = true
	j.checkArrival(now, at, m)
	if want := j.message(l, m, me); want != verdict {
		j.fail("message %d of %s on %+v: %s, want %s", m.Tag, model, at, verdict, want)
	}
	j.compare("message of " + model)
	if err := j.corr.CheckIdentities(); err != nil {
		j.fail("%v", err)
	}
}

func (j *judge) cameraIndex(name string) int {
	for i := range j.plan.Cameras {
		if j.plan.Cameras[i].Name == name {
			return i
		}
	}
	j.fail("a group is of camera %q", name)
	return 0
}

// compare holds what was published during one call against the rules.
func (j *judge) compare(call string) {
	if len(j.due) != len(j.got) {
		j.fail("%s: %d groups were published, want %d%s", call, len(j.got), len(j.due), j.difference())
	}
	for i := 0; i < len(j.due) && j.problem == nil; i++ {
		j.allow(j.due[i], j.got[i])
		if want, got := j.due[i].String(), j.got[i].String(); want != got {
			j.fail("%s: published\n\t%s\nwant\n\t%s", call, got, want)
		}
	}
	j.due, j.got = j.due[:0], j.got[:0]
}

func (j *judge) difference() (text string) {
	for _, g := range j.got {
		text += "\n\tgot  " + g.String()
	}
	for _, g := range j.due {
		text += "\n\twant " + g.String()
	}
	return text
}
