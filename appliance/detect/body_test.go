package detect

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBodyForms(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		want       []Box
	}{
		{"found nothing", `{"detections":[]}`, nil},
		{"found nothing, compact", ` {"boxes":[]} `, nil},
		{"label by name", `{"detections":[{"box":[0,0.25,0.5,1],"score":0.9,"label":"car"}]}`, []Box{{0, 0.25, 0.5, 1, 0.9, 1}}},
		{"label by number", `{"detections":[{"label":7,"score":1,"box":[0,0,1e0,1]}]}`, []Box{{0, 0, 1, 1, 1, 7}}},
		{"new labels follow the model's", `{"boxes":[0,0,1,1,0.5,"dog",0,0,1,1,0.5,"person",0,0,1,1,0.5,4294967295]}`,
			[]Box{{0, 0, 1, 1, 0.5, 2}, {0, 0, 1, 1, 0.5, 0}, {0, 0, 1, 1, 0.5, math.MaxUint32}}},
		{"unknown keys", `{"took_ms":3,"detections":[{"box":[0,0,1,1],"score":0.5,"label":"\u0063ar","id":"x"}],"x":{"y":[]}}`, []Box{{0, 0, 1, 1, 0.5, 1}}},
		{"outside the frame is for the gate", `{"boxes":[-1,2,3,4,5,0]}`, []Box{{-1, 2, 3, 4, 5, 0}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := NewBodyReader(NewLabels([]string{"person", "car"})).Read(nil, []byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("boxes differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBodyRefuses(t *testing.T) {
	one := func(detection string) string {
		return `{"detections":[{"box":[0,0,1,1],"score":1,"label":0},` + detection + `]}`
	}
	for _, tc := range []struct{ name, body, reason string }{
		{"empty", ``, "empty"},
		{"not JSON", `{"boxes":[NaN,0,0,0,0,0]}`, "malformed"},
		{"leading zero", `{"boxes":[00,0,0,0,0,0]}`, "malformed"},
		{"trailing text", `{"boxes":[]}x`, "malformed"},
		{"not UTF-8", "{\"boxes\":[],\"\xff\":1}", "UTF-8"},
		{"deep", `{"boxes":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`, "malformed"},
		{"long", `{"boxes":[` + strings.Repeat(" ", MaxBodyBytes) + `]}`, "at most"},
		{"no object", `[]`, "no object"},
		{"neither", `{}`, "neither"},
		{"both", `{"boxes":[],"detections":[]}`, "both"},
		{"twice", `{"boxes":[],"boxes":[]}`, "twice"},
		{"null", `{"boxes":null}`, "no list"},
		{"detections is an object", `{"detections":{}}`, "no list"},
		{"odd count", `{"boxes":[0,0,1,1,1]}`, "6 each"},
		{"detection is a number", one(`1`), "detection 1"},
		{"no box", one(`{"score":1,"label":0}`), `no "box"`},
		{"no score", one(`{"box":[0,0,1,1],"label":0}`), `no "score"`},
		{"no label", one(`{"box":[0,0,1,1],"score":1}`), `no "label"`},
		{"three corners", one(`{"box":[0,0,1],"score":1,"label":0}`), "4 numbers"},
		{"corner is text", one(`{"box":[0,0,1,"1"],"score":1,"label":0}`), "no number"},
		{"score twice", one(`{"box":[0,0,1,1],"score":1,"score":1,"label":0}`), "twice"},
		{"beyond float32", `{"boxes":[0,0,1,1e39,1,0]}`, "fits"},
		{"label negative", `{"boxes":[0,0,1,1,1,-1]}`, "label"},
		{"label no integer", `{"boxes":[0,0,1,1,1,1.5]}`, "label"},
		{"label too large", `{"boxes":[0,0,1,1,1,4294967296]}`, "label"},
		{"label null", `{"boxes":[0,0,1,1,1,null]}`, "label"},
		{"label empty", `{"boxes":[0,0,1,1,1,""]}`, "label"},
		{"label long", `{"boxes":[0,0,1,1,1,"` + strings.Repeat("x", 256) + `"]}`, "label"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kept := []Box{{Label: 9}}
			got, err := NewBodyReader(NewLabels(nil)).Read(kept, []byte(tc.body))
			if !errors.Is(err, ErrBody) || !strings.Contains(err.Error(), tc.reason) || len(err.Error()) > 300 {
				t.Errorf("error %v, want %v with %q", err, ErrBody, tc.reason)
			}
			if diff := cmp.Diff(kept, got); diff != "" {
				t.Errorf("what was there changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLabelsAreBounded(t *testing.T) {
	labels := NewLabels([]string{"a", "a"})
	for i := range 2 * maxLabels {
		labels.Number(fmt.Append(nil, i))
	}
	if len(labels.names) != maxLabels {
		t.Errorf("%d labels, want %d", len(labels.names), maxLabels)
	}
	if _, err := NewBodyReader(labels).Read(nil, []byte(`{"boxes":[0,0,1,1,1,"one too many"]}`)); !errors.Is(err, ErrBody) {
		t.Errorf("error %v, want %v", err, ErrBody)
	}
	if n, ok := labels.Number([]byte("a")); !ok || n != 0 || labels.Name(1) != "a" || labels.Name(math.MaxUint32) != "" {
		t.Errorf("a is %d, %t", n, ok)
	}
}

var typicalBody = `{"detections":[` + strings.Repeat(`{"box":[0.1234,0.2345,0.3456,0.4567],"score":0.8765,"label":"person"},`, 7) +
	`{"box":[0.1234,0.2345,0.3456,0.4567],"score":0.8765,"label":"car"}]}`

func TestBodyAllocatesNothingWhenWarm(t *testing.T) {
	r := NewBodyReader(NewLabels([]string{"person", "car"}))
	body, boxes := []byte(typicalBody), make([]Box, 0, 8)
	read := func() {
		if _, err := r.Read(boxes, body); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(100, read); n != 0 {
		t.Errorf("%v allocations a body, want 0", n)
	}
}

// encoding/json is the judge of what is JSON, and of the numbers.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{typicalBody, `{"boxes":[0,0,1,1,0.5,"dog",0,0,1,1,0.5,3]}`, `{"boxes":[]}`, `{"detections":[{"box":[0,0,1,1e39],"score":-0,"label":7}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		boxes, err := NewBodyReader(NewLabels(nil)).Read(nil, body)
		if err != nil {
			if !errors.Is(err, ErrBody) || boxes != nil {
				t.Fatalf("%d boxes, error %v", len(boxes), err)
			}
			return
		}
		var judge map[string]any
		if err := json.Unmarshal(body, &judge); err != nil {
			var tooLarge *json.UnmarshalTypeError // a number under a key that is ignored
			if !errors.As(err, &tooLarge) {
				t.Fatalf("%q is taken, yet: %v", body, err)
			}
			return
		}
		flat, _ := judge["boxes"].([]any)
		detections, _ := judge["detections"].([]any)
		for _, d := range detections {
			one := d.(map[string]any)
			flat = append(append(flat, one["box"].([]any)...), one["score"], one["label"])
		}
		if len(flat) != 6*len(boxes) {
			t.Fatalf("%q gives %d boxes of %d values", body, len(boxes), len(flat))
		}
		for i, b := range boxes {
			for k, v := range []float32{b.X1, b.Y1, b.X2, b.Y2, b.Score} {
				if want := flat[6*i+k].(float64); math.Abs(float64(v)-want) > 1e-6*math.Abs(want)+1e-30 {
					t.Fatalf("%q: value %d of box %d is %g, want %g", body, k, i, v, want)
				}
			}
			if want, ok := flat[6*i+5].(float64); ok && float64(b.Label) != want {
				t.Fatalf("%q: label of box %d is %d, want %g", body, i, b.Label, want)
			}
		}
	})
}
