package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/valyala/fastjson"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
)

// event runs one line through the correlator. An error says why the line is refused; the
// correlator has then seen nothing of it, not even its clock.
func (r *replay) event(line []byte) error {
	root, err := parseStrict(&r.parser, line)
	if err != nil {
		return err
	}
	if r.trace.header != nil && root.Exists("config") {
		return r.nextPart(root)
	}
	v, err := fields(root, "event", false, "", "now_ms", "msg", "tick", "set_expected", "watermark", "model_down", "slept", "refused", "trace")
	if err != nil {
		return err
	}
	now, err := r.now(v[0])
	if err != nil {
		return err
	}
	if !r.any {
		r.any, r.first, r.last = true, now, now
	}
	if r.until > 0 && now.Sub(r.first) > r.until {
		return errReplayUntil
	}
	r.last = max(r.last, now)
	r.seen++
	if mark := v[8]; mark != nil {
		if err := r.trace.mark(mark); err != nil {
			return err
		}
	}
	// Exactly one kind: what else a line holds is for other readers.
	kind := 0
	for i := 1; i < 8; i++ {
		if v[i] != nil {
			if kind != 0 {
				return errors.New("event is of two kinds")
			}
			kind = i
		}
	}
	switch kind {
	case 1:
		return r.message(now, v[1])
	case 2:
		if v[2].Type() != fastjson.TypeTrue {
			return errors.New("tick is not true")
		}
		r.c.Tick(now)
		return nil
	case 3:
		return r.setExpected(now, v[3])
	case 4:
		return r.watermark(now, v[4])
	case 5:
		return r.modelDown(now, v[5])
	case 6:
		if v[6].Type() != fastjson.TypeTrue {
			return errors.New("slept is not true")
		}
		r.c.Slept(now)
		return nil
	case 7:
		why, err := readText(v[7], "refused")
		if err == nil {
			err = fmt.Errorf("the appliance had refused it: %.200q", why)
		}
		return err // either way it is counted
	}
	return errors.New("event has none of msg, tick, set_expected, watermark, model_down")
}

// names are what messages, watermarks and deaths begin with.
type names struct {
	unit, camera, model string
	epoch               uint32
}

func readNames(unit, camera, model, epoch *fastjson.Value) (n names, err error) {
	var errs [4]error
	n.unit, errs[0] = readText(unit, "unit")
	n.camera, errs[1] = readText(camera, "camera")
	n.model, errs[2] = readText(model, "model")
	number, err := readUint(epoch, "epoch", math.MaxUint32)
	n.epoch, errs[3] = uint32(number), err
	return n, errors.Join(errs[:]...)
}

// enter puts the names into the correlator's tables, which are bounded.
func (r *replay) enter(n names) (correlate.StreamID, correlate.ModelID, error) {
	stream, err := r.c.Stream(n.unit, n.camera, n.epoch)
	if err != nil {
		return 0, 0, err
	}
	model, err := r.c.Model(n.model)
	return stream, model, err
}

func (r *replay) message(now clock.Mono, v *fastjson.Value) error {
	f, err := fields(v, "msg", false, "timestamp", "unit", "camera", "model", "timestamp", "epoch", "frame_id", "generation", "boxes", "raw_hex")
	if err != nil {
		return err
	}
	n, err := readNames(f[0], f[1], f[2], f[4])
	if err != nil {
		return err
	}
	if (f[3] == nil) == (f[8] == nil) {
		return errors.New("timestamp is missing, or given along with raw_hex")
	}
	var m correlate.Message
	if m.Generation, err = readUint(f[6], "generation", math.MaxUint64); err != nil {
		return err
	}
	if boxes := f[7]; boxes != nil {
		list, err := boxes.Array()
		if err != nil {
			return errors.New("boxes is no list")
		}
		// Only whether something was found matters here; what was found stays unread.
		m.HasBoxes = len(list) == 0
	}
	frame := ""
	if f[5] != nil {
		if frame, err = readText(f[5], "frame_id"); err != nil {
			return err
		}
		if len(frame) > correlate.MaxNameBytes {
			return errors.New("frame_id is longer than 255 bytes")
		}
	}
	var raw []byte // a text that a timestamp cannot hold
	if f[8] != nil {
		text, err := readText(f[8], "raw_hex")
		if err == nil {
			raw, err = hex.DecodeString(text)
		}
		if err != nil {
			return fmt.Errorf("raw_hex: %w", err)
		}
	}
	// From here on only a full table refuses: the line itself is good.
	if m.Stream, m.Model, err = r.enter(n); err != nil {
		return err
	}
	if raw != nil {
		m.CaptureNS, m.Raw = detect.RawInstant, raw
	} else if m.CaptureNS, m.Exact = r.timestamp(f[3]); !m.Exact {
		m.CaptureNS, m.Raw = detect.RawInstant, r.raw
	}
	switch {
	case frame == "": // an empty id identifies nothing
	case r.number != nil:
		if m.FrameID, err = r.number(frame); err != nil {
			return err
		}
	default:
		id := r.ids.Add([]byte(frame))
		m.FrameID = uint64(id)
		// It stays the message's while the last group that it was known by may be forgotten.
		r.ids.Use(id)
		defer r.ids.Release(id)
	}
	if r.heard != nil {
		r.heard(now, &m, frame)
	}
	if r.c.Step(now, &m) == correlate.Refused {
		return errRefusedCounted
	}
	return nil
}

// errRefusedCounted stands for a message that the correlator itself has refused and counted.
var errRefusedCounted = errors.New("too many unreadable timestamps are remembered")

// timestamp reads a JSON value from its literal text and leaves that text in r.raw.
func (r *replay) timestamp(v *fastjson.Value) (ns int64, ok bool) {
	if v.Type() == fastjson.TypeString {
		text, _ := v.StringBytes() // cannot fail for a string
		r.raw = append(r.raw[:0], text...)
	} else {
		r.raw = v.MarshalTo(r.raw[:0])
	}
	return detect.ReadInstant(r.raw, r.unit)
}

func (r *replay) watermark(now clock.Mono, v *fastjson.Value) error {
	f, err := fields(v, "watermark", false, "", "unit", "camera", "model", "ts_ms", "epoch")
	if err != nil {
		return err
	}
	n, err := readNames(f[0], f[1], f[2], f[4])
	if err != nil {
		return err
	}
	if f[3] == nil || f[3].Type() != fastjson.TypeNumber {
		return errors.New("ts_ms is missing or no number")
	}
	w, err := parseMillis(string(f[3].MarshalTo(nil)))
	if err != nil && !errors.Is(err, errTooLarge) { // beyond all instants is progress too
		return err
	}
	stream, model, err := r.enter(n)
	if err != nil {
		return err
	}
	if w > math.MaxInt64-999_999 {
		w = math.MaxInt64
	} else {
		w += 999_999 // the whole millisecond
	}
	r.c.Progress(now, stream, model, w)
	return nil
}

// setExpected takes the models of all cameras, or of one as {unit, camera, models}.
func (r *replay) setExpected(now clock.Mono, v *fastjson.Value) error {
	if v.Type() != fastjson.TypeObject {
		models, err := readTexts(v, "set_expected")
		if err != nil {
			return err
		}
		return r.c.SetExpected(now, models)
	}
	f, err := fields(v, "set_expected", false, "", "unit", "camera", "models")
	if err != nil {
		return err
	}
	unit, err := readText(f[0], "unit")
	camera, errCamera := readText(f[1], "camera")
	models, errModels := readTexts(f[2], "models")
	if err := errors.Join(err, errCamera, errModels); err != nil {
		return err
	}
	stream, err := r.c.Stream(unit, camera, 0)
	if err != nil {
		return err
	}
	return r.c.SetCameraExpected(now, stream, models)
}

func (r *replay) modelDown(now clock.Mono, v *fastjson.Value) error {
	if v.Type() == fastjson.TypeString {
		name, err := readText(v, "model_down")
		if err != nil {
			return err
		}
		return r.c.ModelDown(now, name)
	}
	f, err := fields(v, "model_down", false, "", "unit", "camera", "model")
	if err != nil {
		return err
	}
	n, err := readNames(f[0], f[1], f[2], nil)
	if err != nil {
		return err
	}
	stream, err := r.c.Stream(n.unit, n.camera, 0)
	if err != nil {
		return err
	}
	return r.c.ModelDownAt(now, stream, n.model)
}
