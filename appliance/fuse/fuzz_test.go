package fuse

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/skewgate/skewgate/appliance/detect"
)

// FuzzLine: whatever the line, the answer is one line of JSON, an error or boxes within
// 0…1 as many as scores and labels, and the same again when asked again.
func FuzzLine(f *testing.F) {
	seen := map[string]bool{}
	for _, v := range readVectors(f) {
		if len(v.line) < 1500 && !seen[v.Case+v.Algorithm] {
			seen[v.Case+v.Algorithm] = true
			f.Add(v.line)
		}
	}
	f.Add([]byte(`{"algorithm":"wbf","inputs":[{"boxes":[["Infinity",-1e300,1e-320,"NaN"]],"scores":["-Infinity"],"labels":[-0.5]}]}`))
	f.Add([]byte(`{"algorithm":"nms","params":{"weights":[1e-300,1e300]},"inputs":[{"boxes":[],"scores":[],"labels":[]},{"boxes":[[0,0,1,1]],"scores":[1],"labels":[1]}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var l Lines
		out, notes := l.Answer(nil, line)
		if len(notes) > maxNotes+1 {
			t.Fatalf("%d notes", len(notes))
		}
		var doc struct {
			Boxes  [][4]float64
			Scores []float64
			Labels []float64
			Error  *string
		}
		if err := json.Unmarshal(out, &doc); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		again, _ := l.Answer(nil, line)
		if string(again) != string(out) {
			t.Fatalf("%s, then %s", out, again)
		}
		if doc.Error != nil {
			return
		}
		if doc.Boxes == nil || len(doc.Boxes) != len(doc.Scores) || len(doc.Boxes) != len(doc.Labels) {
			t.Fatalf("%s", out)
		}
		for i, b := range doc.Boxes {
			for _, v := range append(b[:], doc.Scores[i]) {
				if !within01(v) {
					t.Fatalf("%v in %s", v, out)
				}
			}
		}
	})
}

// FuzzFuse: boxes of any bits whatever, under any settings that New takes: outputs within
// 0…1, corners in order, models that answered, and the same bits again.
func FuzzFuse(f *testing.F) {
	seed := func(settings []byte, boxes ...detect.Box) {
		f.Add(detect.AppendPacked(settings, boxes))
	}
	seed([]byte{0, 2, 128, 0, 0, 0, 0, 1}, box(0.1, 0.1, 0.3, 0.3, 0.9, 0), box(0.11, 0.1, 0.31, 0.3, 0.7, 0))
	seed([]byte{1, 3, 10, 1, 1, 0, 1, 0}, box(0.3, 0.3, 0.1, 0.1, 1, 1), box(0, 0, 2, 2, 1.0001, 0), box(0, 0, 1, 1, 0, 0))
	seed([]byte{4, 1, 255, 3, 2, 1, 0, 2}, box(float32(math.NaN()), 0, 1, 1, 0.5, 0), box(0, 0, 1e-20, 1e-20, 0.5, 0), box(0, 0, 1, 1, 0.5, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 8 {
			return
		}
		n := 1 + int(b[1])%4
		s := Settings{
			Algorithm: Algorithm(b[0] % 5), IoU: float64(b[2]) / 255, Rule: Rule(b[3] % 4), Metric: Metric(b[4] & 1), Decay: Decay(b[4] >> 1 & 1),
			ClassAgnostic: b[5]&1 != 0, MinModels: int(b[6]) % (n + 1), Skip: float64(b[7]>>4) / 16,
		}
		for i := range n {
			s.Models = append(s.Models, Model{Weight: math.Ldexp(1, int(b[7]&15)*i)})
		}
		s.Overflow = b[5]&2 != 0 && s.Algorithm == WBF && s.Rule == ReferenceAvg
		fuser, err := New(s)
		if err != nil {
			return
		}
		var in []ModelBoxes
		for m := range n {
			if b[5]>>(4+m)&1 == 0 {
				in = append(in, ModelBoxes{Model: m})
			}
		}
		for i, b := 0, b[8:]; len(b) >= detect.BoxBytes && len(in) > 0; i, b = i+1, b[detect.BoxBytes:] {
			a := &in[i%len(in)]
			a.Boxes = append(a.Boxes, detect.Box{
				X1: float(b), Y1: float(b[4:]), X2: float(b[8:]), Y2: float(b[12:]), Score: float(b[16:]), Label: binary.LittleEndian.Uint32(b[20:]),
			})
		}
		first := copied(fuser.Fuse(in, nil))
		checkAnswer(t, &s, in, first)
		if again := fuser.Fuse(in, nil); !sameBits(first, again) {
			t.Fatalf("%+v, then %+v", first, again)
		}
		var counted Counts
		for m := range n {
			c := fuser.Counts(m)
			sum := c.Fused
			for _, r := range c.Removed {
				sum += r
			}
			if sum != c.Boxes {
				t.Fatalf("model %d: %+v do not add up", m, c)
			}
			counted.Boxes += c.Boxes
		}
		given := 0
		for _, a := range in {
			given += 2 * len(a.Boxes)
		}
		if counted.Boxes != uint64(given) {
			t.Fatalf("%d boxes counted, %d given", counted.Boxes, given)
		}
	})
}

func float(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
