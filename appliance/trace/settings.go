package trace

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/skewgate/skewgate/appliance/clock"
)

// Settings are the correlator's, as far as its decisions depend on them. Times are nanoseconds.
type Settings struct {
	QuantumNS, TimeoutNS int64
	MaxAgeNS             int64 // negative = none
	ClosedTTLNS          int64 // negative = the default
	SkewWindowNS         int64
	MaxPending           int
	EmitEmpty            bool
	ImplicitProgress     bool

	Camera  CameraSettings            // of cameras not named below
	Cameras map[string]CameraSettings // by "unit/camera", each complete
}

// CameraSettings are those of one camera.
type CameraSettings struct {
	Match           string // auto, frame_id, bucket or window
	WindowNS        int64  // 0 = not by window
	FrameIntervalNS int64
	OffsetNS        map[string]int64 // by model
	Expected        []string
}

// appendJSON appends the object that stands after "config". Instants are written as integers
// of nanoseconds: number_unit is said along with the settings.
func (s *Settings) appendJSON(b []byte) []byte {
	b = append(b, `{"number_unit":"ns","quantum_ms":`...)
	b = clock.AppendMillis(b, s.QuantumNS)
	b = append(b, `,"timeout_ms":`...)
	b = clock.AppendMillis(b, s.TimeoutNS)
	b = append(b, `,"max_age_ms":`...)
	if s.MaxAgeNS < 0 {
		b = append(b, "null"...)
	} else {
		b = clock.AppendMillis(b, s.MaxAgeNS)
	}
	if s.ClosedTTLNS >= 0 {
		b = append(b, `,"closed_ttl_ms":`...)
		b = clock.AppendMillis(b, s.ClosedTTLNS)
	}
	b = append(b, `,"skew_window_ms":`...)
	b = clock.AppendMillis(b, s.SkewWindowNS)
	b = append(b, `,"max_pending":`...)
	b = strconv.AppendInt(b, int64(s.MaxPending), 10)
	b = append(b, `,"emit_empty":`...)
	b = strconv.AppendBool(b, s.EmitEmpty)
	if s.ImplicitProgress {
		b = append(b, `,"implicit_watermark":true`...)
	}
	b = s.Camera.appendJSON(append(b, ','), false)
	if len(s.Cameras) == 0 {
		return append(b, '}')
	}
	b = append(b, `,"cameras":{`...)
	for i, name := range slices.Sorted(maps.Keys(s.Cameras)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, name), ":{"...)
		camera := s.Cameras[name]
		b = append(camera.appendJSON(b, true), '}')
	}
	return append(b, "}}"...)
}

// appendJSON appends the keys without braces. A reader lets a camera inherit what it does not
// say, so one of the named cameras says everything.
func (c *CameraSettings) appendJSON(b []byte, named bool) []byte {
	b = append(b, `"match":`...)
	b = appendText(b, c.Match)
	b = append(b, `,"expected":`...)
	b = appendTexts(b, c.Expected)
	if named || c.WindowNS > 0 || c.FrameIntervalNS > 0 {
		b = append(b, `,"window_ms":`...)
		b = clock.AppendMillis(b, c.WindowNS)
		b = append(b, `,"frame_interval_ms":`...)
		b = clock.AppendMillis(b, c.FrameIntervalNS)
	}
	if !named && len(c.OffsetNS) == 0 {
		return b
	}
	b = append(b, `,"offset_ms":{`...)
	for i, model := range slices.Sorted(maps.Keys(c.OffsetNS)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, model), ':')
		b = clock.AppendMillis(b, c.OffsetNS[model])
	}
	return append(b, '}')
}

// appendText appends a JSON string. What is not UTF-8 becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	text, _ := json.Marshal(s) // cannot fail for a string
	return append(b, text...)
}

func appendTexts(b []byte, all []string) []byte {
	b = append(b, '[')
	for i, s := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, s)
	}
	return append(b, ']')
}
