package appliance

import (
	"slices"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/trace"
)

// traced is the correlator as the path drives it: each call that changes it is told to the
// recorders. Without recorders it is the correlator and nothing else. It belongs to the path's
// thread.
//
// Every method of the correlator that changes it stands here; a test holds us to that.
type traced struct {
	*correlate.Correlator
	settings  trace.Settings
	expected  trace.State // who is expected, where that was changed
	recorders []*trace.Recorder
	event     trace.Event // reused
}

func (t *traced) tell() {
	for _, r := range t.recorders {
		r.Put(&t.event)
	}
}

func (t *traced) Step(now clock.Mono, m *correlate.Message) correlate.Verdict {
	if len(t.recorders) > 0 {
		t.event = trace.Event{
			Kind: trace.Message, NowNS: now, Model: t.ModelName(m.Model), CaptureNS: m.CaptureNS, FrameID: m.FrameID,
			Generation: m.Generation, Empty: m.HasBoxes && len(m.Boxes) == 0, Unreadable: m.Unreadable(), Raw: m.Raw,
		}
		t.event.Unit, t.event.Camera, t.event.Epoch = t.StreamName(m.Stream)
		if t.event.Unit == "" || t.event.Model == "" {
			t.event = trace.Event{Kind: trace.Refused, Text: "of a stream or model that is not known"}
		}
		t.tell()
	}
	return t.Correlator.Step(now, m)
}

func (t *traced) Progress(now clock.Mono, s correlate.StreamID, id correlate.ModelID, wNS int64) bool {
	if len(t.recorders) > 0 {
		t.event = trace.Event{Kind: trace.Progress, NowNS: now, Model: t.ModelName(id), CaptureNS: wNS}
		t.event.Unit, t.event.Camera, t.event.Epoch = t.StreamName(s)
		if t.event.Unit != "" && t.event.Model != "" { // else the correlator does nothing
			t.tell()
		}
	}
	return t.Correlator.Progress(now, s, id, wNS)
}

func (t *traced) Tick(now clock.Mono) {
	if len(t.recorders) > 0 {
		at, open := t.NextDeadline()
		for _, r := range t.recorders {
			r.Tick(now, open && now >= at)
		}
	}
	t.Correlator.Tick(now)
}

func (t *traced) ModelDown(now clock.Mono, name string) error {
	err := t.Correlator.ModelDown(now, name)
	if err == nil {
		t.event = trace.Event{Kind: trace.ModelDown, NowNS: now, Model: name}
		t.tell()
	}
	return err
}

func (t *traced) ModelDownAt(now clock.Mono, s correlate.StreamID, name string) error {
	err := t.Correlator.ModelDownAt(now, s, name)
	if err == nil {
		t.event = trace.Event{Kind: trace.ModelDown, NowNS: now, Model: name}
		t.event.Unit, t.event.Camera, _ = t.StreamName(s)
		t.tell()
	}
	return err
}

func (t *traced) SetExpected(now clock.Mono, names []string) error {
	err := t.Correlator.SetExpected(now, names)
	if err == nil {
		t.expected = trace.State{Changed: true, Expected: slices.Clone(names)}
		t.event = trace.Event{Kind: trace.Expected, NowNS: now, Names: t.expected.Expected}
		t.tell()
	}
	return err
}

func (t *traced) SetCameraExpected(now clock.Mono, s correlate.StreamID, names []string) error {
	err := t.Correlator.SetCameraExpected(now, s, names)
	if err == nil {
		c := trace.Change{Expected: slices.Clone(names)}
		c.Unit, c.Camera, _ = t.StreamName(s)
		t.expected.OnCameras = slices.DeleteFunc(t.expected.OnCameras, func(o trace.Change) bool {
			return o.Unit == c.Unit && o.Camera == c.Camera
		})
		t.expected.OnCameras = append(t.expected.OnCameras, c)
		t.event = trace.Event{Kind: trace.Expected, NowNS: now, Unit: c.Unit, Camera: c.Camera, Names: c.Expected}
		t.tell()
	}
	return err
}

func (t *traced) Slept(now clock.Mono) {
	t.event = trace.Event{Kind: trace.Slept, NowNS: now}
	t.tell()
	t.Correlator.Slept(now)
}

func (t *traced) Refuse() {
	t.event = trace.Event{Kind: trace.Refused, Text: "malformed"}
	t.tell()
	t.Correlator.Refuse()
}

// state is what a recorder that begins now has to know.
func (t *traced) state() trace.State {
	s := t.expected
	s.Open = uint64(t.Pending())
	s.OnCameras = slices.Clone(s.OnCameras)
	t.Dead(func(unit, camera, model string) {
		s.Down = append(s.Down, trace.Place{Unit: unit, Camera: camera, Model: model})
	})
	return s
}

// attach lets a recorder hear from now on, detach ends it.
func (t *traced) attach(r *trace.Recorder) { t.recorders = append(t.recorders, r) }

func (t *traced) detach(r *trace.Recorder) {
	if i := slices.Index(t.recorders, r); i >= 0 {
		// A trace ends with a tick. With a timeout of 0 there is something left for it to close.
		if at, open := t.NextDeadline(); open && r.Latest() >= at {
			t.Tick(r.Latest())
		}
		t.recorders = slices.Delete(t.recorders, i, i+1)
		r.End(t.tally())
	}
}

// tally lists the counters by the names of the replay contract.
func (t *traced) tally() (all []trace.Counter) {
	counters := t.Counters()
	counters.Each(func(name string, value uint64) { all = append(all, trace.Counter{Name: name, Value: value}) })
	return all
}
