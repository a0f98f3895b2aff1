package fuse

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vector is one line of testdata/cases/fusion.jsonl: what a public reference answered.
type vector struct {
	ID        int
	Case      string
	Algorithm string
	Params    struct {
		Weights  []float64
		ConfType string `json:"conf_type"`
	}
	Expected answerDoc
	line     []byte
}

type answerDoc struct {
	Boxes  [][4]loose
	Scores []loose
	Labels []loose
	Error  string
}

// loose reads a number, or NaN and the infinities as the strings the vectors hold.
type loose float64

func (l *loose) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"NaN"`:
		*l = loose(math.NaN())
	case `"Infinity"`:
		*l = loose(math.Inf(1))
	case `"-Infinity"`:
		*l = loose(math.Inf(-1))
	default:
		return json.Unmarshal(b, (*float64)(l))
	}
	return nil
}

func readVectors(t testing.TB) []vector {
	t.Helper()
	f, err := os.Open("../../testdata/cases/fusion.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []vector
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var v vector
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		v.line = append([]byte(nil), s.Bytes()...)
		all = append(all, v)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return all
}

// gated says why our gate answers a vector in place of the reference, "" if it does not:
// the cases exempt from comparison. See README.md for what is answered there.
func (v *vector) gated() string {
	switch {
	case v.Expected.Error != "":
		return "reference raised an error"
	case v.Params.Weights == nil:
	case strings.HasPrefix(v.Case, "hand/weight_zero_"), v.Case == "hand/weights_all_zero", v.Case == "hand/weight_negative":
		return "weight not above 0"
	}
	out := ""
	see := func(x loose) {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			out = "reference not finite"
		} else if (x < -tolerance || x > 1+tolerance) && out == "" {
			out = "reference outside 0…1"
		}
	}
	for i, b := range v.Expected.Boxes {
		for _, x := range b {
			see(x)
		}
		see(v.Expected.Scores[i])
	}
	return out
}

// differs compares an answer with the expected one: in the reference's order, except that
// boxes of equal score may stand in any order among themselves.
func differs(got, want *answerDoc) string {
	if got.Error != want.Error {
		return "error " + got.Error + ", want " + want.Error
	}
	if len(got.Boxes) != len(want.Boxes) || len(got.Scores) != len(got.Boxes) || len(got.Labels) != len(got.Boxes) {
		return "wrong number of boxes"
	}
	used := make([]bool, len(want.Boxes))
	for i := range got.Boxes {
		ok := false
		for j := range want.Boxes {
			if used[j] || j != i && math.Abs(float64(want.Scores[i]-want.Scores[j])) > tolerance {
				continue
			}
			if near(got, i, want, j) {
				used[j], ok = true, true
				break
			}
		}
		if !ok {
			b, _ := json.Marshal(got.Boxes[i])
			return "box " + string(b) + " has no match at its place"
		}
	}
	return ""
}

func near(got *answerDoc, i int, want *answerDoc, j int) bool {
	if got.Labels[i] != want.Labels[j] || !(math.Abs(float64(got.Scores[i]-want.Scores[j])) <= tolerance) {
		return false
	}
	for k := range got.Boxes[i] {
		if !(math.Abs(float64(got.Boxes[i][k]-want.Boxes[j][k])) <= tolerance) {
			return false
		}
	}
	return true
}

// wantVectors counts how the vectors are answered. A change here is a change of the
// contract of `skewgate fuse -`.
var wantVectors = map[string]int{
	"batched_nms: as the reference":          97,
	"batched_nms: reference not finite":      8,
	"batched_nms: reference outside 0…1":     6,
	"nms: as the reference":                  66,
	"nms: reference not finite":              4,
	"nms: reference outside 0…1":             1,
	"nms: reference raised an error":         4,
	"nms: weight not above 0":                4,
	"nmw: as the reference":                  72,
	"nmw: reference not finite":              5,
	"nmw: reference outside 0…1":             1,
	"nmw: reference raised an error":         1,
	"nmw: weight not above 0":                4,
	"soft_nms: as the reference":             85,
	"soft_nms: reference not finite":         4,
	"soft_nms: reference outside 0…1":        2,
	"soft_nms: reference raised an error":    8,
	"soft_nms: weight not above 0":           8,
	"supervision_nmm: as the reference":      97,
	"supervision_nmm: reference not finite":  12,
	"supervision_nmm: reference outside 0…1": 9,
	"supervision_nms: as the reference":      65,
	"supervision_nms: reference not finite":  8,
	"supervision_nms: reference outside 0…1": 6,
	"wbf: as the reference":                  491,
	"wbf: reference not finite":              25,
	"wbf: reference outside 0…1":             14,
	"wbf: weight not above 0":                20,
}

func TestVectors(t *testing.T) {
	var l Lines
	got := map[string]int{}
	for _, v := range readVectors(t) {
		out, notes := l.Answer(nil, v.line)
		var a answerDoc
		if err := json.Unmarshal(out, &a); err != nil {
			t.Fatalf("vector %d: %s: %v", v.ID, out, err)
		}
		why := v.gated()
		if why == "" {
			why = "as the reference"
			if d := differs(&a, &v.Expected); d != "" {
				t.Errorf("vector %d, %s, %s: %s\ngot %.600s\nnotes %q", v.ID, v.Case, v.Algorithm, d, out, notes)
			}
		} else {
			checkGateAnswer(t, &v, &a, string(out), notes)
		}
		got[v.Algorithm+": "+why]++
	}
	if d := cmp.Diff(wantVectors, got); d != "" {
		t.Errorf("vectors by how they are answered (-want +got):\n%s", d)
	}
}

// gateAnswers is what the verb says to the hand-made vectors that no reference answers
// within 0…1: the box that is left, its score, and the reason on stderr. Under the wbf
// averages a box that one of two models saw ends at half its score.
var gateAnswers = map[string]struct {
	box   string
	score float64
	note  string
}{
	"hand/all_models_empty":      {},
	"hand/no_models":             {},
	"hand/only_zero_area":        {note: "model 0 box 0 removed: no_area"},
	"hand/nan_score":             {"[[0.11,0.1,0.31,0.3]]", 0.7, "model 0 box 0 removed: not_finite"},
	"hand/nan_score_far":         {"[[0.5,0.5,0.8,0.9]]", 0.7, "model 0 box 0 removed: not_finite"},
	"hand/nan_coord":             {"[[0.1,0.1,0.3,0.3]]", 0.7, "model 0 box 0 removed: not_finite"},
	"hand/inf_score":             {"[[0.11,0.1,0.31,0.3]]", 0.7, "model 0 box 0 removed: not_finite"},
	"hand/score_above_one":       {"[[0.11,0.1,0.31,0.3]]", 0.7, "model 0 box 0 removed: score_range"},
	"hand/score_zero":            {"[[0.105,0.1,0.305,0.3]]", 0, ""}, // equal weights in place of 0/0
	"hand/weight_zero_one_box":   {"[[0.5,0.5,0.8,0.9]]", 0.9, "model 1 left out: weight 0"},
	"hand/weight_zero_two_boxes": {"[[0.5,0.5,0.8,0.9]]", 0.9, "model 1 left out: weight 0"},
}

func checkGateAnswer(t *testing.T, v *vector, got *answerDoc, out string, notes []string) {
	t.Helper()
	said := strings.Join(notes, "\n")
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("vector %d, %s, %s: %s\ngot %s\nnotes %q", v.ID, v.Case, v.Algorithm, fmt.Sprintf(format, args...), out, notes)
	}
	switch v.Case {
	case "hand/weights_all_zero":
		if want := `{"error":"params.weights: all are 0: at least one must be above 0"}`; out != want {
			fail("want %s", want)
		}
		return
	case "hand/weight_negative":
		if want := `{"error":"params.weights[1]: -1: must be within 1e-06…1e+06, or 0 to leave the model out"}`; out != want {
			fail("want %s", want)
		}
		return
	case "hand/out_of_range_small": // as given to torchvision and supervision; we cut to the frame
		want := answerDoc{Boxes: [][4]loose{{0, 0, 0.3, 0.3}, {0.9, 0.9, 1, 1}}, Scores: []loose{0.9, 0.7}, Labels: []loose{0, 0}}
		if d := differs(got, &want); d != "" || !strings.Contains(said, "fused again") {
			fail("%s", d)
		}
		return
	case "hand/pixel_coordinates":
		if len(got.Boxes) != 0 || !strings.Contains(said, "model 0 box 0 removed: units\nmodel 1 box 0 removed: units") {
			fail("want no boxes, and both removed for their units")
		}
		return
	}
	want, known := gateAnswers[v.Case]
	if !known { // the wbf average went above 1: all as the reference, cut to 1
		if v.Algorithm != "wbf" || v.Params.ConfType != "avg" {
			checkWithinFrame(t, v, got, said)
			return
		}
		cut := v.Expected
		for i := range cut.Scores {
			cut.Scores[i] = min(cut.Scores[i], 1)
		}
		if d := differs(got, &cut); d != "" || !strings.Contains(said, "cut to 1") {
			fail("want the reference's answer cut to 1: %s", d)
		}
		return
	}
	if want.box == "" {
		if len(got.Boxes) != 0 || !strings.Contains(said, want.note) {
			fail("want no boxes and the note %q", want.note)
		}
		return
	}
	if v.Algorithm == "wbf" && v.Params.Weights == nil && v.Params.ConfType != "max" {
		want.score /= 2
	}
	doc := answerDoc{Scores: []loose{loose(want.score)}, Labels: []loose{0}}
	if err := json.Unmarshal([]byte(want.box), &doc.Boxes); err != nil {
		t.Fatal(err)
	}
	if v.Case == "hand/score_zero" && v.Algorithm == "nmw" { // overlap weighs too: the better box is the last
		doc.Boxes[0] = [4]loose{0.10525, 0.1, 0.30525, 0.3}
	}
	if d := differs(got, &doc); d != "" || !strings.Contains(said, want.note) {
		fail("want %s %g and the note %q: %s", want.box, want.score, want.note, d)
	}
}

// checkWithinFrame is for made-up boxes that stick out of the frame, under the references
// that leave them so: all of our answer lies within it.
func checkWithinFrame(t *testing.T, v *vector, got *answerDoc, said string) {
	t.Helper()
	if !strings.HasPrefix(v.Case, "rand/") || len(got.Boxes) == 0 || !strings.Contains(said, "fused again") {
		t.Errorf("vector %d, %s, %s: not a gated case known to this test", v.ID, v.Case, v.Algorithm)
	}
	for i, b := range got.Boxes {
		if !(0 <= b[0] && b[0] < b[2] && b[2] <= 1 && 0 <= b[1] && b[1] < b[3] && b[3] <= 1 && got.Scores[i] >= 0 && got.Scores[i] <= 1) {
			t.Errorf("vector %d, %s, %s: box %v, score %v", v.ID, v.Case, v.Algorithm, b, got.Scores[i])
		}
	}
}
