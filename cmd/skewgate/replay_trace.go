package main

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/valyala/fastjson"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/trace"
)

// replayTrace is what a recording says of itself.
type replayTrace struct {
	header   *trace.Header // of the part in hand; nil = the events are not a recording
	settings string        // the config as it was written
	begin    trace.Header  // of the first part that was read
	lost     uint64
	end      *trace.End
}

// replayPartError ends a run: what follows does not belong to what was before.
type replayPartError struct{ text string }

func (e *replayPartError) Error() string { return e.text }

// beforeAll is an instant in front of all events.
const beforeAll = clock.Mono(math.MinInt64)

// beginTrace takes over what the first line says of the recording, and what the correlator has
// to know at its beginning.
func (r *replay) beginTrace(config, v *fastjson.Value) error {
	h, err := trace.ReadHeader(v)
	if err != nil {
		return err
	}
	r.trace.header, r.trace.begin, r.trace.settings = h, *h, string(config.MarshalTo(nil))
	if h.State.Changed {
		if err := r.c.SetExpected(beforeAll, h.State.Expected); err != nil {
			return fmt.Errorf("trace state: %w", err)
		}
	}
	for _, c := range h.State.OnCameras {
		stream, err := r.c.Stream(c.Unit, c.Camera, 0)
		if err == nil {
			err = r.c.SetCameraExpected(beforeAll, stream, c.Expected)
		}
		if err != nil {
			return fmt.Errorf("trace state: %w", err)
		}
	}
	for _, d := range h.State.Down {
		if d.Camera == "" {
			err = r.c.ModelDown(beforeAll, d.Model)
		} else if stream, errStream := r.c.Stream(d.Unit, d.Camera, 0); errStream != nil {
			err = errStream
		} else {
			err = r.c.ModelDownAt(beforeAll, stream, d.Model)
		}
		if err != nil {
			return fmt.Errorf("trace state: %w", err)
		}
	}
	return nil
}

// nextPart goes on with the next part of the same recording. What its header says of the state
// is known already.
func (r *replay) nextPart(root *fastjson.Value) error {
	f, err := fields(root, "the first line of a part", false, "", "config", "trace")
	if err != nil {
		return &replayPartError{err.Error()}
	}
	h, err := trace.ReadHeader(f[1])
	t := &r.trace
	switch {
	case err != nil:
		return &replayPartError{err.Error()}
	case h.ID != t.header.ID:
		return &replayPartError{"another recording begins here: replay them one by one"}
	case h.Part != t.header.Part+1:
		return &replayPartError{fmt.Sprintf("part %d follows part %d: name all parts from one to another", h.Part, t.header.Part)}
	case f[0] == nil || string(f[0].MarshalTo(nil)) != t.settings:
		return &replayPartError{fmt.Sprintf("part %d has other settings than part %d: one of them was edited", h.Part, t.header.Part)}
	}
	t.header = h
	return nil
}

func (t *replayTrace) mark(v *fastjson.Value) error {
	m, err := trace.ReadMark(v)
	if err != nil {
		return err
	}
	t.lost += m.Lost
	if m.End != nil {
		t.end = m.End
	}
	return nil
}

// missing counts the events that are known to be missing.
func (t *replayTrace) missing() uint64 {
	if t.end != nil {
		return max(t.lost, t.end.Lost)
	}
	return t.lost
}

// notes are what somebody who reads the result has to know; early says that the end was not
// wanted.
func (t *replayTrace) notes(early bool) []string {
	if t.header == nil {
		return nil
	}
	var notes []string
	if n := t.missing(); n > 0 {
		notes = append(notes, fmt.Sprintf("the recording is incomplete: %d events are missing, so groups and counters are not the appliance's", n))
	}
	switch {
	case t.begin.Part > 1:
		notes = append(notes, fmt.Sprintf("this begins with part %d of the recording: frames that were open then are told without their first messages", t.begin.Part))
	case t.begin.Running:
		notes = append(notes, fmt.Sprintf("the appliance ran already when the recording began: %d frames were open then and are told without their first messages; what came late for older frames looks like new ones", t.begin.State.Open))
	}
	switch {
	case early:
	case t.end == nil:
		notes = append(notes, "the recording has no end: what recorded it was killed, or a last part is missing")
	case t.end.Cut != "":
		notes = append(notes, "the recording was cut short: "+t.end.Cut)
	}
	return notes
}

// verify compares the counters with the appliance's own.
func (r *replay) verify(say io.Writer) error {
	t := &r.trace
	switch {
	case t.header == nil:
		return errors.New("nothing to verify against: this is no recording of an appliance")
	case t.end == nil || len(t.end.Counters) == 0:
		return errors.New("nothing to verify against: the recording does not have the appliance's counters at its end")
	case t.begin.Part > 1 || t.begin.Running:
		return errors.New("cannot be verified: the recording does not begin with the appliance (use skewgate run --record)")
	case t.missing() > 0:
		return errors.New("cannot be verified: events are missing")
	}
	ours := make(map[string]uint64)
	counters := r.c.Counters()
	counters.Each(func(name string, value uint64) { ours[name] = value })
	var differ []error
	for _, c := range t.end.Counters {
		if value, ok := ours[c.Name]; !ok || value != c.Value {
			differ = append(differ, fmt.Errorf("%s: the appliance counted %d, the replay %d", c.Name, c.Value, value))
		}
	}
	if len(differ) > 0 {
		return exit(exitFindings, errors.Join(differ...))
	}
	fmt.Fprintf(say, "skewgate: all %d counters are the appliance's\n", len(ours))
	return nil
}
