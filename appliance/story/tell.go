package story

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
)

// Document tells the page's frames.
func (p *Page) Document() *Document {
	d := &Document{Schema: Schema, Unit: p.unit, Camera: p.camera, Held: p.held, Frames: []Frame{}, Notes: append([]string{}, p.Notes...)}
	d.Held.Oldest, d.Held.Newest = text(d.Held.Oldest), text(d.Held.Newest)
	for n, i := range p.targets {
		t := teller{Page: p, i: i, f: &p.frames[i], entries: p.entriesOf(i), nearNS: p.nearNS[n]}
		d.Frames = append(d.Frames, t.tell())
	}
	return d
}

// teller tells one frame.
type teller struct {
	*Page
	i       int
	f       *frame
	entries []entry
	nearNS  int64 // how far from its capture times another one may be of its picture
	out     Frame

	timed              bool
	earliest, latestNS int64 // matched capture times of the members
}

func (t *teller) tell() Frame {
	f := t.f
	t.out = Frame{
		Key: t.note(t.i), FrameID: t.id(f.frameID), StreamEpoch: f.key.Stream.Epoch(), Generation: number(f.generation),
		FirstMonoNS: int64(f.first), TimeoutNS: t.book.cfg.TimeoutNS,
		Expected: []Expected{}, Messages: []Message{}, Missing: []Missing{}, LeftOut: f.more,
	}
	t.ending()
	t.span()
	for i := range t.entries {
		if t.entries[i].what < missing {
			t.message(i)
		}
	}
	slices.SortStableFunc(t.out.Messages, func(a, b Message) int { return cmp.Compare(a.AtNS, b.AtNS) })
	for i := range t.entries {
		switch e := &t.entries[i]; {
		case e.what >= missing:
			t.missing(e)
			t.out.Expected = append(t.out.Expected, Expected{t.name(e.model), e.what != missingDead})
		case e.what == what(correlate.Accepted) && e.flags.has(expected):
			t.out.Expected = append(t.out.Expected, Expected{t.name(e.model), true})
		}
	}
	slices.SortFunc(t.out.Expected, func(a, b Expected) int { return strings.Compare(a.Model, b.Model) })
	slices.SortFunc(t.out.Missing, func(a, b Missing) int { return strings.Compare(a.Model, b.Model) })
	t.out.Verdict, t.out.Next = judge(&t.out)
	return t.out
}

func (t *teller) ending() {
	f, o := t.f, &t.out
	if f.published > 0 {
		o.Seq = &f.published
	}
	reason := f.reason.String()
	switch {
	case f.reason == 0:
		o.State = "open"
		if t.NowNS > f.first {
			o.WaitNS = int64(t.NowNS - f.first)
		}
		return
	case f.slept:
		o.State, reason = "dropped", "sleep"
	case f.reason == correlate.Stale:
		o.State = "dropped"
	case f.published > 0:
		o.State = "published"
	default:
		o.State = "suppressed_empty"
	}
	closed := int64(f.closed)
	o.Reason, o.ClosedMonoNS, o.WaitNS = &reason, &closed, int64(f.closed-f.first)
	if t.WallNS != 0 {
		wall := t.WallNS + closed - int64(t.NowNS)
		o.ClosedUnixNS = &wall
	}
}

// span works out from when to when the members were captured and came.
func (t *teller) span() {
	members, timed := 0, 0
	for i := range t.entries {
		e := &t.entries[i]
		if e.what != what(correlate.Accepted) {
			continue
		}
		members++
		if e.flags.has(unreadable) {
			continue
		}
		m := t.matched(e)
		if timed == 0 || m < t.earliest {
			t.earliest = m
		}
		if timed == 0 || m > t.latestNS {
			t.latestNS = m
		}
		timed++
	}
	t.timed = timed > 0
	if t.timed {
		earliest := correlate.Readable(t.earliest)
		t.out.CaptureNS = &earliest
	}
	if timed > 1 {
		skew := t.latestNS - t.earliest
		t.out.CaptureSkew = &skew
	}
	if members > 1 {
		skew := int64(t.f.last - t.f.first)
		t.out.ArrivalSkew = &skew
	}
}

// matched is the capture time that an entry was matched by.
func (p *Page) matched(e *entry) int64 {
	if i := int(e.model) - 1; i >= 0 && i < len(p.offsets) {
		return correlate.Matched(e.captureNS, p.offsets[i])
	}
	return e.captureNS
}

func (t *teller) message(i int) {
	e := &t.entries[i]
	m := Message{
		Model: t.name(e.model), Verdict: correlate.Verdict(e.what).String(), Expected: e.flags.has(expected), AtNS: int64(e.at - t.f.first),
	}
	if e.what == what(correlate.WrongGeneration) {
		m.Generation = number(e.frameID)
	} else {
		m.FrameID = t.id(e.frameID)
	}
	if t.f.reason != 0 && e.at >= t.f.closed && e.what != what(correlate.Accepted) {
		after := int64(e.at - t.f.closed)
		m.AfterCloseNS = &after
	}
	switch {
	case !e.flags.has(unreadable):
		ns := e.captureNS
		m.CaptureNS = &ns
		if t.timed {
			after := t.matched(e) - t.earliest
			m.CaptureAfter = &after
		}
	case int(t.f.rawOf) == i+1 || t.f.key.Tag == correlate.TagRaw:
		raw := t.raw(t.i)
		m.Raw = &raw
	}
	if e.boxes >= 0 {
		n := int(e.boxes)
		m.Boxes = &n
	}
	t.out.Messages = append(t.out.Messages, m)
}

// missing says why an expected model did not join: as the frame was published, or, where it sent
// something after all, what the correlator could not know yet when it closed the frame.
func (t *teller) missing(e *entry) {
	m := Missing{Model: t.name(e.model), Why: correlate.MissingReason(e.what - missing).String()}
	extra := t.extras[extraOf{t.i, t.models[e.model]}]
	m.Dispatch = extra.Dispatch
	end := t.f.closed
	if t.f.reason == 0 {
		end = t.NowNS
	}
	switch e.what {
	case missingDead:
		since := e.at
		if since < t.Began {
			since, m.DownLonger = t.Began, true
		}
		down := max(0, int64(end-since))
		m.DownForNS, m.Cause = &down, text(extra.Cause)
		if extra.Hung {
			m.Why = "hung"
		}
	case missingPassed:
		ns := e.captureNS
		m.ProgressNS = &ns
	}
	t.sought(e.model, &m)
	t.out.Missing = append(t.out.Missing, m)
}

// sought looks for the missing model's message: beside this frame, or in another.
func (t *teller) sought(model correlate.ModelID, m *Missing) {
	for i := range t.entries {
		e := &t.entries[i]
		if e.model != model {
			continue
		}
		switch e.what {
		case what(correlate.Late):
			late := int64(e.at - t.f.closed)
			m.Why, m.LateNS = "late", &late
			return
		case what(correlate.WrongGeneration):
			m.Why = "wrong_generation"
			return
		}
	}
	if m.Nearest = t.nearest(model); m.Nearest != nil && m.Nearest.OtherHalf {
		m.Why = "other_bucket"
		return
	}
	if m.Why != "absent" {
		return
	}
	if raw, ok := t.unreadable(model); ok {
		m.Why, m.RawNearby = "unreadable_time", &raw
	}
}

// nearest finds the message of a model in another frame whose picture was taken nearest to this
// one's.
func (t *teller) nearest(model correlate.ModelID) *Nearest {
	if !t.timed {
		return nil
	}
	best, by := -1, int64(0)
	var found *entry
	for i := range t.frames {
		if i == t.i || t.frames[i].key.Stream != t.f.key.Stream || t.frames[i].mark == t.f.mark && t.f.mark != 0 {
			continue
		}
		entries := t.entriesOf(i)
		for j := range entries {
			e := &entries[j]
			if e.model != model || e.what >= missing || e.flags.has(unreadable) {
				continue
			}
			if d := t.distance(t.matched(e)); best < 0 || max(d, -d) < max(by, -by) {
				best, by, found = i, d, e
			}
		}
	}
	if best < 0 {
		return nil
	}
	f := &t.frames[best]
	n := &Nearest{
		Key: t.note(best), ByNS: by, AtNS: int64(found.at - t.f.first), Verdict: correlate.Verdict(found.what).String(),
		OtherHalf: max(by, -by) <= t.nearNS && t.lacks(best),
	}
	if f.published > 0 {
		n.Seq = &f.published
	}
	return n
}

// distance is how far after (or, negative, before) the frame's members a picture was taken; 0 =
// between them.
func (t *teller) distance(ns int64) int64 {
	switch {
	case ns < t.earliest:
		return ns - t.earliest
	case ns > t.latestNS:
		return ns - t.latestNS
	}
	return 0
}

// lacks reports whether another frame lacks an expected model that this one has: of a picture
// that was split in two, each half does. Who came late for it has answered another picture.
func (t *teller) lacks(other int) bool {
	theirs := t.entriesOf(other)
	for i := range t.entries {
		e := &t.entries[i]
		if e.what != what(correlate.Accepted) || !e.flags.has(expected) {
			continue
		}
		if !slices.ContainsFunc(theirs, func(o entry) bool {
			return o.model == e.model && (o.what == e.what || o.what == what(correlate.Late))
		}) {
			return true
		}
	}
	return false
}

// unreadable finds a message of a model that came while the frame waited, with a time that
// cannot be read.
func (t *teller) unreadable(model correlate.ModelID) (raw string, found bool) {
	until := t.f.closed
	if t.f.reason == 0 {
		until = t.NowNS
	}
	from := t.f.first - clock.Mono(min(t.book.cfg.TimeoutNS, int64(until-t.f.first)+1))
	for i := range t.frames {
		f := &t.frames[i]
		if f.key.Tag != correlate.TagRaw || f.key.Stream != t.f.key.Stream {
			continue
		}
		for _, e := range t.entriesOf(i) {
			if e.model == model && e.what == what(correlate.Accepted) && e.at >= from && e.at <= until {
				return t.raw(i), true
			}
		}
	}
	return "", false
}

// raw is the text of an unreadable timestamp of a frame.
func (p *Page) raw(i int) string { return text(string(p.raws[i].text[:p.raws[i].n])) }

func (t *teller) name(id correlate.ModelID) string { return text(t.models[id]) }

func (p *Page) id(n uint64) *string {
	if n == 0 {
		return nil
	}
	s := text(p.book.idText(n))
	return &s
}

func number(n uint64) *string {
	if n == 0 {
		return nil
	}
	s := strconv.FormatUint(n, 10)
	return &s
}

// text makes a stranger's bytes a JSON string: what is not UTF-8 becomes U+FFFD.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Printable returns a stranger's text as it can be shown on a terminal: in quotes, with escapes,
// where it is anything but visible characters.
func Printable(s string) string {
	for _, r := range s {
		if r == '"' || r == '\\' || r == '\uFFFD' || r == ' ' || !strconv.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}
