package fuse

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// vector is one line of testdata/cases/fusion.jsonl: what a public reference answered.
type vector struct {
	ID        int
	Case      string
	Algorithm string
	Expected  answerDoc
	line      []byte
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

// gated says why our gate answers a vector in place of the reference, "" if it does not.
func (v *vector) gated() string {
	switch {
	case v.Expected.Error != "":
		return "reference raised an error"
	case strings.HasPrefix(v.Case, "hand/weight_zero_"), v.Case == "hand/weights_all_zero", v.Case == "hand/weight_negative":
		return "weight not above 0"
	case v.Case == "hand/pixel_coordinates":
		return "pixel coordinates"
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

func TestVectors(t *testing.T) {
	var l Lines
	count := map[string]int{}
	for _, v := range readVectors(t) {
		out, notes := l.Answer(nil, v.line)
		var got answerDoc
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%d: %s: %v", v.ID, out, err)
		}
		if why := v.gated(); why != "" {
			count[v.Algorithm+": "+why]++
			t.Logf("%d %s %s %s\n %s\n %q", v.ID, v.Case, v.Algorithm, why, out, notes)
			continue
		}
		if d := differs(&got, &v.Expected); d != "" {
			t.Errorf("%d %s %s: %s\n got %.600s\n notes %q", v.ID, v.Case, v.Algorithm, d, out, notes)
			continue
		}
		count[v.Algorithm+": as the reference"]++
	}
	t.Log(count)
}
