package detect

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fastjson"
)

// sameAsJudged reads a body both ways, twice each with a reader of its own, and wants the same
// boxes bit for bit, the same error and the same labels.
func sameAsJudged(t *testing.T, body []byte) {
	t.Helper()
	names := []string{"person", "car", "Fußgänger"}
	quick, judge := NewBodyReader(NewLabels(names)), NewBodyReader(NewLabels(names))
	for range 2 { // the labels of the second are known
		got, gotErr := quick.Read([]Box{{Label: 9}}, bytes.Clone(body))
		want, wantErr := judge.ReadJudged([]Box{{Label: 9}}, body)
		if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Fatalf("%q: error %v, fastjson says %v", body, gotErr, wantErr)
		}
		if !slices.EqualFunc(got, want, sameBits) {
			t.Fatalf("%q: %v, fastjson reads %v", body, got, want)
		}
		if !slices.Equal(quick.labels.names, judge.labels.names) {
			t.Fatalf("%q: labels %q, fastjson's %q", body, quick.labels.names, judge.labels.names)
		}
	}
}

func sameBits(a, b Box) bool {
	for _, pair := range [...][2]float32{{a.X1, b.X1}, {a.Y1, b.Y1}, {a.X2, b.X2}, {a.Y2, b.Y2}, {a.Score, b.Score}} {
		if math.Float32bits(pair[0]) != math.Float32bits(pair[1]) {
			return false
		}
	}
	return a.Label == b.Label
}

// TestQuickTakesTheUsual: these forms must not go the long way, and those must.
func TestQuickTakesTheUsual(t *testing.T) {
	one := `{"detections":[{"box":[0,0.25,-0.5,12.5],"score":0.9,"label":"car"}]}`
	for _, tc := range []struct {
		name, body string
		quick      bool
	}{
		{"typical", typicalBody, true},
		{"spaced", spacedBody, true},
		{"found nothing", `{"detections": []}`, true},
		{"found nothing, compact", ` {"boxes":[ ]} `, true},
		{"compact", `{"boxes":[0,0,1,1,0.5,"car",0,0,1,1,0.5,4294967295]}`, true},
		{"lines", strings.ReplaceAll(one, ",", "\r\n\t, "), true},
		{"other order", `{"detections":[{"label":1,"score":1,"box":[0,0,1,1]}]}`, true},
		{"not ASCII", strings.ReplaceAll(one, "car", "Fußgänger"), true},
		{"a small number with all digits", strings.ReplaceAll(one, "0.25", "0.00012345678901234567"), true},
		{"nothing at all", ``, false},
		{"new label", strings.ReplaceAll(one, "car", "dog"), false},
		{"escape", strings.ReplaceAll(one, "car", `\u0063ar`), false},
		{"control character", strings.ReplaceAll(one, "car", "c\nar"), false},
		{"not UTF-8", strings.ReplaceAll(one, "car", "c\xff"), false},
		{"exponent", strings.ReplaceAll(one, "0.25", "25e-2"), false},
		{"leading zero", strings.ReplaceAll(one, "0.25", "00.25"), false},
		{"no digit after the point", strings.ReplaceAll(one, "0.25", "0."), false},
		{"many digits", strings.ReplaceAll(one, "0.25", "0.12345678901234567890123456789"), false},
		{"20 digits", strings.ReplaceAll(one, "0.25", "12345678901234567890"), false},
		{"unknown key", strings.Replace(one, `"score"`, `"id":1,"score"`, 1), false},
		{"unknown key outside", `{"boxes":[],"id":1}`, false},
		{"key twice", strings.Replace(one, `"score"`, `"score":1,"score"`, 1), false},
		{"no score", strings.Replace(one, `"score":0.9,`, ``, 1), false},
		{"text behind", one + "x", false},
		{"comma too many", `{"detections":[{"box":[0,0,1,1],"score":1,"label":0},]}`, false},
		{"no end", one[:len(one)-1], false},
		{"odd count", `{"boxes":[0,0,1,1,1]}`, false},
		{"negative label", `{"boxes":[0,0,1,1,1,-1]}`, false},
		{"label beyond", `{"boxes":[0,0,1,1,1,4294967296]}`, false},
		{"label wraps around", `{"boxes":[0,0,1,1,1,18446744073709551617]}`, false},
		{"label empty", `{"boxes":[0,0,1,1,1,""]}`, false},
		{"too many boxes", `{"boxes":[` + strings.Repeat("0,0,0,0,0,0,", MaxBodyBoxes) + `0,0,0,0,0,0]}`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := NewBodyReader(NewLabels([]string{"person", "car", "Fußgänger"}))
			if _, ok := r.quick(nil, []byte(tc.body)); ok != tc.quick {
				t.Errorf("taken %t, want %t", ok, tc.quick)
			}
			sameAsJudged(t, []byte(tc.body))
		})
	}
}

// TestQuickNumbers holds numbers of all lengths against strconv: the nearest float64, and that
// to the nearest float32. Every second one lies at or beside the middle of two float64.
func TestQuickNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	taken := 0
	for i := range 200_000 {
		var text string
		if i%2 == 0 {
			text = strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10)
			if at := rng.IntN(len(text) + 1); at == 0 {
				text = "0." + strings.Repeat("0", rng.IntN(9)) + text
			} else if at < len(text) {
				text = text[:at] + "." + text[at:]
			}
		} else {
			middle := float64(float32(rng.Float64()))
			next := math.Nextafter(middle, 2)
			text = strconv.FormatFloat(middle+(next-middle)/2, 'f', 15+rng.IntN(6), 64)
		}
		if rng.IntN(8) == 0 {
			text = "-" + text
		}
		got, end := quickNumber([]byte(text), 0)
		if end < 0 {
			continue
		}
		taken++
		want, err := strconv.ParseFloat(text, 64)
		if err != nil || end != len(text) || math.Float32bits(got) != math.Float32bits(float32(want)) {
			t.Fatalf("%s is read as %g up to %d, want %g (%v)", text, got, end, float32(want), err)
		}
	}
	if taken < 150_000 {
		t.Errorf("only %d of 200000 numbers were taken", taken)
	}
}

// TestQuotientIsNearest: the same where float32 would hide the last bits.
func TestQuotientIsNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300_000 {
		m, places := max(rng.Uint64()>>rng.IntN(64), 1), rng.IntN(len(pow5))
		text := fmt.Sprintf("%de-%d", m, places)
		want, err := strconv.ParseFloat(text, 64)
		if got := quotient(m, places); err != nil || got != want {
			t.Fatalf("%s is %v, want %v (%v)", text, got, want, err)
		}
	}
	// Halves of both parities, which random numbers do not hit: 2^53 + 1, + 3, and with places.
	for _, m := range []uint64{1<<53 + 1, 1<<53 + 3, 1<<63 + 1<<10, 1<<63 + 3<<10, math.MaxUint64} {
		if got := quotient(m, 0); got != float64(m) {
			t.Errorf("%d is %v, want %v", m, got, float64(m))
		}
	}
}

// plainIsJSON: where the validator is not asked it has nothing to object to.
func plainIsJSON(t *testing.T, body []byte) {
	var p fastjson.Parser
	if _, err := p.ParseBytes(body); err != nil || !plainTokens(body) {
		return
	}
	if err := fastjson.ValidateBytes(body); err != nil {
		t.Fatalf("%q passes for plain, yet: %v", body, err)
	}
}

func TestPlainTokens(t *testing.T) {
	for text, want := range map[string]bool{
		typicalBody: true, spacedBody: true, `{"a":[],"":-0.5}`: true, "[\"ü\",\r\n10 ]": true,
		`[01]`: false, `[1.]`: false, `[1-2]`: false, `[1e5]`: false, `[-]`: false, `[+1]`: false, `[.5]`: false, `[nan]`: false, `[true]`: false,
		`["\u0061"]`: false, "[\"\x01\"]": false, "{\"\t\":1}": false,
	} {
		if got := plainTokens([]byte(text)); got != want {
			t.Errorf("%q: plain %t, want %t", text, got, want)
		}
		plainIsJSON(t, []byte(text))
	}
}

// FuzzBodyQuick: fastjson is the judge of all that quick reads.
func FuzzBodyQuick(f *testing.F) {
	for _, seed := range []string{
		typicalBody, spacedBody, `{"boxes":[0,0,1,1,0.5,"dog",0,-0.0,1,1,0.5,3]}`, `{"boxes":[]}`,
		`{"detections":[{"box":[0,0,1,1e3],"score":-0,"label":7}],"x":null}`,
		"{\"detections\" : [\r\n{\"label\":\"Fußgänger\",\"box\":[0.1, 123456789012345678, 0.00012345678901234567, 9007199254740993],\"score\":1}]\t}",
		`{"detections":[{"box":[0,0,1,1],"score":1,"label":"a\u0062"},{"score":1,"score":2,"box":[],"label":""}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sameAsJudged(t, body)
		plainIsJSON(t, body)
	})
}
