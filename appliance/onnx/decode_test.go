package onnx

import (
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/skewgate/skewgate/appliance/detect"
)

// row is one candidate as a person writes it.
type row struct {
	cx, cy, w, h float32
	scores       []float32
}

// output lays rows out channel-major, as the network does.
func output(rows []row, classes int) []float32 {
	n := len(rows)
	out := make([]float32, (4+classes)*n)
	for i, r := range rows {
		for c, v := range append([]float32{r.cx, r.cy, r.w, r.h}, r.scores...) {
			out[c*n+i] = v
		}
	}
	return out
}

func decodeRows(t *testing.T, rows []row, classes int, m Manifest, srcW, srcH, dstW, dstH int) ([]detect.Box, error) {
	t.Helper()
	b, err := newLetterbox(srcW, srcH, dstW, dstH)
	if err != nil {
		t.Fatal(err)
	}
	return newDecoder(classes, len(rows), &m).decode(nil, output(rows, classes), &b)
}

func TestDecode(t *testing.T) {
	nan := float32(math.NaN())
	m := Manifest{Threshold: .5, NMSIoU: .5, MaxBoxes: 3}
	// Pictures of 640×360 in an input of 320×320: half size, 70 pixels of grey above.
	at := func(x1, y1, x2, y2, score float32, label uint32) detect.Box {
		return detect.Box{X1: x1, Y1: y1, X2: x2, Y2: y2, Score: score, Label: label}
	}
	for _, tt := range []struct {
		name string
		rows []row
		want []detect.Box
	}{
		{"Nothing", []row{{160, 160, 40, 40, []float32{0, 0}}}, nil},
		{"Whole", []row{{160, 160, 320, 180, []float32{0, .9}}}, []detect.Box{at(0, 0, 1, 1, .9, 1)}},
		{"Placed", []row{{80, 115, 40, 36, []float32{.75, .1}}}, []detect.Box{at(.1875, .15, .3125, .35, .75, 0)}},
		{"ThresholdIsKept", []row{{160, 160, 320, 180, []float32{.5, 0}}}, []detect.Box{at(0, 0, 1, 1, .5, 0)}},
		{"BelowThreshold", []row{{160, 160, 320, 180, []float32{.4999, 0}}}, nil},
		{"NaNScore", []row{{160, 160, 320, 180, []float32{nan, nan}}}, nil},
		{"Clipped", []row{{0, 70, 64, 36, []float32{.9, 0}}}, []detect.Box{at(0, 0, .1, .1, .9, 0)}},
		{"OnlyInTheGrey", []row{{160, 30, 40, 40, []float32{.9, 0}}}, nil},
		{"NoArea", []row{{160, 160, 0, 40, []float32{.9, 0}}}, nil},
		{"NegativeSide", []row{{160, 160, -20, 40, []float32{.9, 0}}}, nil},
		{"BestFirst", []row{{16, 79, 32, 18, []float32{.6, 0}}, {304, 241, 32, 18, []float32{0, .8}}},
			[]detect.Box{at(.9, .9, 1, 1, .8, 1), at(0, 0, .1, .1, .6, 0)}},
		{"EqualScoresInRowOrder", []row{{304, 241, 32, 18, []float32{.6, 0}}, {16, 79, 32, 18, []float32{.6, 0}}},
			[]detect.Box{at(.9, .9, 1, 1, .6, 0), at(0, 0, .1, .1, .6, 0)}},
		{"SuppressedInClass", []row{{160, 160, 320, 180, []float32{.6, 0}}, {160, 160, 320, 170, []float32{.9, 0}}},
			[]detect.Box{at(0, 1.0/36, 1, 35.0/36, .9, 0)}},
		{"NotAcrossClasses", []row{{160, 160, 320, 180, []float32{.6, 0}}, {160, 160, 320, 180, []float32{0, .9}}},
			[]detect.Box{at(0, 0, 1, 1, .9, 1), at(0, 0, 1, 1, .6, 0)}},
		// Overlap exactly one half is not more than nms_iou.
		{"EqualOverlapStays", []row{{160, 160, 320, 180, []float32{.9, 0}}, {80, 160, 160, 180, []float32{.6, 0}}},
			[]detect.Box{at(0, 0, 1, 1, .9, 0), at(0, 0, .5, 1, .6, 0)}},
		// A suppressed box suppresses nothing: c overlaps b, b overlaps a, c does not overlap a.
		{"SuppressedDoesNotSuppress", []row{{100, 160, 100, 100, []float32{.9, 0}}, {130, 160, 100, 100, []float32{.8, 0}}, {160, 160, 100, 100, []float32{.7, 0}}},
			[]detect.Box{at(.15625, 1.0/4.5, .46875, 3.5/4.5, .9, 0), at(.34375, 1.0/4.5, .65625, 3.5/4.5, .7, 0)}},
		{"MaxBoxes", []row{{16, 79, 32, 18, []float32{.6, 0}}, {304, 79, 32, 18, []float32{.7, 0}}, {16, 241, 32, 18, []float32{.8, 0}}, {304, 241, 32, 18, []float32{.9, 0}}},
			[]detect.Box{at(.9, .9, 1, 1, .9, 0), at(0, .9, .1, 1, .8, 0), at(.9, 0, 1, .1, .7, 0)}},
		{"SlightlyAboveOne", []row{{160, 160, 320, 180, []float32{1.0005, 0}}}, []detect.Box{at(0, 0, 1, 1, 1, 0)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decodeRows(t, tt.rows, 2, m, 640, 360, 320, 320)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-6), cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	m := Manifest{Threshold: .5, NMSIoU: .5, MaxBoxes: 10}
	inf := float32(math.Inf(1))
	for _, tt := range []struct {
		name, want string
		r          row
	}{
		{"ScoreFarAboveOne", "score 654", row{160, 160, 20, 20, []float32{654}}},
		{"InfScore", "score +Inf", row{160, 160, 20, 20, []float32{inf}}},
		{"NaNBox", "box NaN", row{float32(math.NaN()), 160, 20, 20, []float32{.9}}},
		{"InfBox", "box 160 160 +Inf 20", row{160, 160, inf, 20, []float32{.9}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decodeRows(t, []row{tt.r}, 1, m, 640, 640, 320, 320)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want an error with %q, got %v", tt.want, err)
			}
		})
	}
}

func TestPlausible(t *testing.T) {
	d := newDecoder(1, 1, &Manifest{Threshold: .5, NMSIoU: .5, MaxBoxes: 1})
	for _, tt := range []struct {
		name string
		out  []float32
		ok   bool
	}{
		{"Good", []float32{160, 160, 20, 20, .1}, true},
		{"Logit", []float32{160, 160, 20, 20, -4.2}, false},
		{"Pixels", []float32{160, 160, 20, 20, 300}, false},
		{"NaNScore", []float32{160, 160, 20, 20, float32(math.NaN())}, false},
		{"InfBox", []float32{160, float32(math.Inf(-1)), 20, 20, .1}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := d.plausible(tt.out); (err == nil) != tt.ok {
				t.Errorf("want ok %v, got %v", tt.ok, err)
			}
		})
	}
}

// slowDecode is the definition: all pairs, no scratch, no early bound.
func slowDecode(rows []row, m Manifest, b *letterbox) []detect.Box {
	type box struct {
		x1, y1, x2, y2 float64
		s              float32
		c              int
	}
	var all []box
	for _, r := range rows {
		best := 0
		for c, s := range r.scores {
			if s > r.scores[best] {
				best = c
			}
		}
		if r.scores[best] >= float32(m.Threshold) {
			cx, cy, w, h := float64(r.cx), float64(r.cy), float64(r.w), float64(r.h)
			all = append(all, box{cx - w/2, cy - h/2, cx + w/2, cy + h/2, r.scores[best], best})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].s > all[j].s })
	if len(all) > maxCandidates {
		all = all[:maxCandidates]
	}
	area := func(a box) float64 { return (a.x2 - a.x1) * (a.y2 - a.y1) }
	dead := make([]bool, len(all))
	var out []detect.Box
	for i, a := range all {
		if dead[i] {
			continue
		}
		for j := i + 1; j < len(all); j++ {
			o := all[j]
			iw, ih := math.Min(a.x2, o.x2)-math.Max(a.x1, o.x1), math.Min(a.y2, o.y2)-math.Max(a.y1, o.y1)
			if iw > 0 && ih > 0 && a.c == o.c && iw*ih/(area(a)+area(o)-iw*ih) > m.NMSIoU {
				dead[j] = true
			}
		}
		clip := func(v, pad, gain, size float64) float32 {
			return float32(math.Max(0, math.Min(size, (v-pad)/gain)) / size)
		}
		f := detect.Box{
			X1: clip(a.x1, float64(b.left), b.gainX, float64(b.srcW)), Y1: clip(a.y1, float64(b.top), b.gainY, float64(b.srcH)),
			X2: clip(a.x2, float64(b.left), b.gainX, float64(b.srcW)), Y2: clip(a.y2, float64(b.top), b.gainY, float64(b.srcH)),
			Score: a.s, Label: uint32(a.c),
		}
		if f.X2 > f.X1 && f.Y2 > f.Y1 && len(out) < m.MaxBoxes {
			out = append(out, f)
		}
	}
	return out
}

func TestDecodeAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for trial := range 200 {
		classes, n := 1+r.IntN(5), 1+r.IntN(1500)
		m := Manifest{Threshold: .05 + .5*r.Float64(), NMSIoU: .2 + .6*r.Float64(), MaxBoxes: 1 + r.IntN(200)}
		rows := make([]row, n)
		for i := range rows {
			rows[i] = row{r.Float32() * 320, r.Float32() * 320, 5 + r.Float32()*80, 5 + r.Float32()*80, make([]float32, classes)}
			for c := range rows[i].scores {
				rows[i].scores[c] = float32(r.IntN(64)) / 64 // many equal scores
			}
		}
		b, err := newLetterbox(32+r.IntN(2000), 32+r.IntN(2000), 320, 320)
		if err != nil {
			t.Fatal(err)
		}
		got, err := newDecoder(classes, n, &m).decode(nil, output(rows, classes), &b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(slowDecode(rows, m, &b), got, cmpopts.EquateApprox(0, 1e-6), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("trial %d, %d rows of %d classes, %+v:\n%s", trial, n, classes, m, d)
		}
	}
}

// Whatever a network puts out, decoded boxes are inside the frame, ordered, finite and few enough.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x00\x00\xa0\x43\x00\x00\xa0\x43\x00\x00\x20\x42\x00\x00\x20\x42\x00\x00\x40\x3f\x00\x00\x00\x00"), 640, 360)
	f.Add([]byte("\x00\x00\xc0\x7f\x00\x00\x80\x7f\x00\x00\x80\xff\xff\xff\x7f\x7f\x00\x00\x80\x3f\x00\x00\x80\x3f"), 33, 4096)
	f.Fuzz(func(t *testing.T, raw []byte, w, h int) {
		const classes = 2
		n := len(raw) / 4 / (4 + classes)
		if n == 0 || w < 1 || h < 1 || w > maxPictureSide || h > maxPictureSide {
			return
		}
		b, err := newLetterbox(w, h, 320, 320)
		if err != nil {
			return
		}
		out := make([]float32, n*(4+classes))
		for i := range out {
			out[i] = math.Float32frombits(uint32(raw[4*i]) | uint32(raw[4*i+1])<<8 | uint32(raw[4*i+2])<<16 | uint32(raw[4*i+3])<<24)
		}
		m := Manifest{Threshold: .25, NMSIoU: .5, MaxBoxes: 5}
		boxes, err := newDecoder(classes, n, &m).decode(nil, out, &b)
		if err != nil {
			return
		}
		if len(boxes) > m.MaxBoxes {
			t.Fatalf("%d boxes", len(boxes))
		}
		last := float32(1)
		for _, x := range boxes {
			if !(0 <= x.X1 && x.X1 < x.X2 && x.X2 <= 1 && 0 <= x.Y1 && x.Y1 < x.Y2 && x.Y2 <= 1 && x.Score >= .25 && x.Score <= last && x.Label < classes) {
				t.Fatalf("box %+v after score %g", x, last)
			}
			last = x.Score
		}
	})
}
