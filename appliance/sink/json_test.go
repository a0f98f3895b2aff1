package sink

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/skewgate/skewgate/appliance/detect"
)

// full has something of everything.
func full() *Frame {
	return &Frame{
		Seq: 7, Unit: "u1", Camera: "gate", StreamEpoch: 1, FrameID: math.MaxUint64, Generation: "g-7",
		CaptureNS: 1700000000000000001, Reason: "quorum",
		Models: []Answer{
			{Model: "a", CaptureNS: 1700000000000000001},
			{Model: "b", CaptureNS: detect.RawInstant, Raw: []byte("next \"Tuesday\"\n")},
		},
		Missing:      []Missing{{"c", "dead"}, {"d", "other_bucket"}},
		FirstArrival: 5_000_000_000, LastArrival: 5_004_000_000, Closed: 5_004_100_000,
		Boxes: []Box{
			{0.1, 0.25, 0.5, 1, 0.8, "person", []Vote{{"a", 0.7}, {"b", 0.9}}},
			{0, 0, 1e-7, 1, float64(float32(0.3)), "", nil},
		},
		Degraded: true,
	}
}

func TestFrameIsExactlyTheContract(t *testing.T) {
	for _, row := range []struct {
		name  string
		frame *Frame
		want  string
	}{
		{"full", full(), `{"schema":1,"seq":7,"unit":"u1","camera":"gate","stream_epoch":1,"frame_id":"18446744073709551615","generation":"g-7","capture_ns":1700000000000000001,"timestamps":{"a":"1700000000000000001","b":"next \"Tuesday\"\n"},"reason":"quorum","models":["a","b"],"missing":{"c":"dead","d":"other_bucket"},"arrival_skew_ns":4000000,"first_arrival_mono_ns":5000000000,"closed_mono_ns":5004100000,"boxes":[{"box":[0.1,0.25,0.5,1],"score":0.8,"label":"person","by":["a","b"],"scores":{"a":0.7,"b":0.9}},{"box":[0,0,1e-07,1],"score":0.3,"label":"","by":[],"scores":{}}],"degraded":true}`},
		// R000-15: one model has no skew.
		{"one model", &Frame{Seq: 1, Unit: "u", Camera: "c", CaptureNS: -1, Reason: "timeout", Models: []Answer{{Model: "a", CaptureNS: -1}}, FirstArrival: 5, LastArrival: 5, Closed: 6},
			`{"schema":1,"seq":1,"unit":"u","camera":"c","stream_epoch":0,"frame_id":null,"generation":null,"capture_ns":-1,"timestamps":{"a":"-1"},"reason":"timeout","models":["a"],"missing":{},"arrival_skew_ns":null,"first_arrival_mono_ns":5,"closed_mono_ns":6,"boxes":[],"degraded":false}`},
		{"nothing readable", &Frame{CaptureNS: detect.RawInstant, Models: []Answer{{Model: "a", CaptureNS: detect.RawInstant}, {Model: "b", CaptureNS: detect.RawInstant, Raw: []byte("x")}}},
			`{"schema":1,"seq":0,"unit":"","camera":"","stream_epoch":0,"frame_id":null,"generation":null,"capture_ns":null,"timestamps":{"a":"","b":"x"},"reason":"","models":["a","b"],"missing":{},"arrival_skew_ns":0,"first_arrival_mono_ns":0,"closed_mono_ns":0,"boxes":[],"degraded":false}`},
	} {
		got, err := row.frame.AppendJSON([]byte("before "))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("before "+row.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestFrameRefusesWhatIsNotFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		for i, x := range []Box{
			{X1: v}, {Y1: v}, {X2: v}, {Y2: v}, {Score: v}, {By: []Vote{{Score: 0.5}, {Score: v}}},
		} {
			f := full()
			f.Boxes = append(f.Boxes, x)
			got, err := f.AppendJSON([]byte("before"))
			if !errors.Is(err, errNotFinite) || string(got) != "before" {
				t.Errorf("%v in field %d: got %q, %v; want an error and nothing appended", v, i, got, err)
			}
		}
	}
}

// decoded is how a consumer reads the line.
type decoded struct {
	Schema       int               `json:"schema"`
	Seq          uint64            `json:"seq"`
	Unit         string            `json:"unit"`
	Camera       string            `json:"camera"`
	StreamEpoch  uint32            `json:"stream_epoch"`
	FrameID      *string           `json:"frame_id"`
	Generation   *string           `json:"generation"`
	CaptureNS    *int64            `json:"capture_ns"`
	Timestamps   map[string]string `json:"timestamps"`
	Reason       string            `json:"reason"`
	Models       []string          `json:"models"`
	Missing      map[string]string `json:"missing"`
	ArrivalSkew  *int64            `json:"arrival_skew_ns"`
	FirstArrival int64             `json:"first_arrival_mono_ns"`
	Closed       int64             `json:"closed_mono_ns"`
	Boxes        []struct {
		Box    [4]float64         `json:"box"`
		Score  float64            `json:"score"`
		Label  string             `json:"label"`
		By     []string           `json:"by"`
		Scores map[string]float64 `json:"scores"`
	} `json:"boxes"`
	Degraded bool `json:"degraded"`
}

func decode(t testing.TB, line []byte) decoded {
	t.Helper()
	var d decoded
	dec := json.NewDecoder(strings.NewReader(string(line)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return d
}

// FuzzFrame: any texts and numbers give one line of valid JSON that reads back, or an
// error for what JSON cannot hold.
func FuzzFrame(f *testing.F) {
	f.Add("unit", "camera", "model", "why", "label", []byte("2026-01-01"), uint64(1), int64(-1), 0.5, 0.25)
	f.Add("\x00\x1f\x7f", "\"\\/\b\f\n\r\t", "\u2028\u2029", "\xff\xfe\xc0", "日本\U0001F600", []byte("\xed\xa0\x80"), uint64(0), int64(math.MinInt64), 1e-40, math.NaN())
	f.Add("<&>", "\xe2\x80", "a\xe2\x80\xa8b", "�", "", []byte(nil), uint64(1<<63), int64(math.MaxInt64), 1e30, -0.0)
	f.Fuzz(func(t *testing.T, unit, camera, model, why, label string, raw []byte, id uint64, capture int64, x, score float64) {
		in := &Frame{
			Seq: id, Unit: unit, Camera: camera, FrameID: id, Generation: why, CaptureNS: capture, Reason: why,
			Models: []Answer{{Model: model, CaptureNS: detect.RawInstant, Raw: raw}}, Missing: []Missing{{model, why}},
			Boxes: []Box{{X1: x, Score: score, Label: label, By: []Vote{{model, score}}}},
		}
		line, err := in.AppendJSON(nil)
		if err != nil {
			if finite(x) && finite(score) {
				t.Fatal(err)
			}
			return
		}
		if !utf8.Valid(line) || !json.Valid(line) || strings.ContainsAny(string(line), "\n\r\u2028\u2029") {
			t.Fatalf("%q is not one line of JSON", line)
		}
		clean := func(s string) string { // one U+FFFD for each bad byte, as encoding/json has it
			var b strings.Builder
			for _, r := range s {
				b.WriteRune(r)
			}
			return b.String()
		}
		got := decode(t, line)
		for _, pair := range [][2]string{
			{clean(unit), got.Unit}, {clean(camera), got.Camera}, {clean(why), got.Reason}, {clean(why), got.Missing[clean(model)]},
			{clean(model), got.Models[0]}, {clean(string(raw)), got.Timestamps[clean(model)]}, {clean(label), got.Boxes[0].Label}, {clean(model), got.Boxes[0].By[0]},
		} {
			if pair[0] != pair[1] {
				t.Errorf("text %q reads back as %q", pair[0], pair[1])
			}
		}
		if (got.FrameID == nil) != (id == 0) || got.FrameID != nil && *got.FrameID != strconv.FormatUint(id, 10) {
			t.Errorf("frame id %d reads back as %v", id, got.FrameID)
		}
		if (got.CaptureNS == nil) != (capture == detect.RawInstant) || got.CaptureNS != nil && *got.CaptureNS != capture {
			t.Errorf("capture time %d reads back as %v", capture, got.CaptureNS)
		}
		if b := got.Boxes[0]; float32(b.Box[0]) != float32(x) || float32(b.Score) != float32(score) || float32(b.Scores[clean(model)]) != float32(score) {
			t.Errorf("numbers %v %v read back as %v", float32(x), float32(score), b)
		}
	})
}

// Numbers have the form encoding/json gives a float32.
func TestNumbersAreThoseOfEncodingJSON(t *testing.T) {
	for _, v := range []float32{0, 1, 0.1, 1e-6, 9.9e-7, 1e-45, 1e20, 1e21, 3.4e38, 16777216, -0.5, 0.333333343} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got := string(appendNumber(nil, float64(v)))
		// encoding/json writes 1e-07 as 1e-7; both are JSON.
		if g := strings.Replace(strings.Replace(got, "e-0", "e-", 1), "e+0", "e+", 1); string(want) != g {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}
