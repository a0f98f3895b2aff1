package eval

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func found(x1, y1, x2, y2, score float64, label string) Found {
	return Found{x1, y1, x2, y2, score, label}
}

func TestScore(t *testing.T) {
	person := func(x1, y1, x2, y2 float64) Labelled { return Labelled{Box{x1, y1, x2, y2}, "person"} }
	tests := []struct {
		name       string
		found      []Found
		truth      Picture
		o          Options
		tp, fp, fn int
	}{
		{"Nothing", nil, Picture{}, Options{IoU: .5}, 0, 0, 0},
		{"Missed", nil, Picture{Boxes: []Labelled{person(0, 0, .1, .1)}}, Options{IoU: .5}, 0, 0, 1},
		{"Hit", []Found{found(0, 0, .1, .1, .9, "person")}, Picture{Boxes: []Labelled{person(0, 0, .1, .1)}}, Options{IoU: .5}, 1, 0, 0},
		{"ExactlyAtIoU", []Found{found(0, 0, 1, .5, .9, "person")}, Picture{Boxes: []Labelled{person(0, 0, 1, 1)}}, Options{IoU: .5}, 1, 0, 0},
		{"JustBelowIoU", []Found{found(0, 0, 1, .49, .9, "person")}, Picture{Boxes: []Labelled{person(0, 0, 1, 1)}}, Options{IoU: .5}, 0, 1, 1},
		{"WrongLabel", []Found{found(0, 0, .1, .1, .9, "dog")}, Picture{Boxes: []Labelled{person(0, 0, .1, .1)}}, Options{IoU: .5}, 0, 1, 1},
		{"AnyLabel", []Found{found(0, 0, .1, .1, .9, "dog")}, Picture{Boxes: []Labelled{person(0, 0, .1, .1)}}, Options{IoU: .5, AnyLabel: true}, 1, 0, 0},
		{"DoubleIsFalse", []Found{found(0, 0, .1, .1, .9, "person"), found(0, 0, .1, .1, .8, "person")},
			Picture{Boxes: []Labelled{person(0, 0, .1, .1)}}, Options{IoU: .5}, 1, 1, 0},
		{"BestScoreChoosesFirst", []Found{found(0, 0, .3, 1, .5, "person"), found(0, 0, .4, 1, .9, "person")},
			Picture{Boxes: []Labelled{person(0, 0, .4, 1)}}, Options{IoU: .5}, 1, 1, 0},
		{"IgnoredIsNeither", []Found{found(.5, .5, .6, .6, .9, "person")}, Picture{Ignore: []Box{{.5, .5, .7, .7}}}, Options{IoU: .5}, 0, 0, 0},
		{"HalfIgnoredIsFalse", []Found{found(.5, .5, .6, .6, .9, "person")}, Picture{Ignore: []Box{{.55, .5, .7, .7}}}, Options{IoU: .5}, 0, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s Score
			s.Add(tt.found, &tt.truth, tt.o)
			if s.TP != tt.tp || s.FP != tt.fp || s.FN != tt.fn {
				t.Errorf("want tp %d fp %d fn %d, got tp %d fp %d fn %d", tt.tp, tt.fp, tt.fn, s.TP, s.FP, s.FN)
			}
		})
	}
}

func TestScoreRatios(t *testing.T) {
	s := Score{TP: 98, FP: 5, FN: 6, sumIoU: 98 * .811}
	for _, tt := range []struct {
		name      string
		want, got float64
	}{ // the published row of people.onnx
		{"precision", .951, s.Precision()}, {"recall", .942, s.Recall()}, {"f1", .947, s.F1()}, {"mean IoU", .811, s.MeanIoU()},
	} {
		if math.Abs(tt.want-tt.got) > .0006 {
			t.Errorf("%s: want %.3f, got %.4f", tt.name, tt.want, tt.got)
		}
	}
	var none Score
	if none.Precision() != 0 || none.Recall() != 0 || none.F1() != 0 || none.MeanIoU() != 0 {
		t.Errorf("want zeros without counts, got %v %v %v %v", none.Precision(), none.Recall(), none.F1(), none.MeanIoU())
	}
}

func TestReadTruthForms(t *testing.T) {
	in := `{"frame":3,"boxes":[[10,20,30,40],[0,0,50,50]],"cls":[0,7],"pts":0.1}
{"frame":5,"labels":["dog"],"boxes":[[50,0,100,50]],"ignore":[[0,0,10,10]]}
`
	got, err := ReadTruth(strings.NewReader(in), 100, 50, []string{"circle"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Picture{
		{Frame: 3, Boxes: []Labelled{{Box{.1, .4, .3, .8}, "circle"}, {Box{0, 0, .5, 1}, "7"}}},
		{Frame: 5, Boxes: []Labelled{{Box{.5, 0, 1, 1}, "dog"}}, Ignore: []Box{{0, 0, .1, .2}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestReadTruthRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"NotJSON", "x", "line 1"},
		{"NoFrame", `{"boxes":[]}`, "no frame number"},
		{"NotRising", "{\"frame\":1}\n{\"frame\":1}", "line 2: frame 1 does not rise"},
		{"Labels", `{"frame":1,"boxes":[[0,0,1,1]],"labels":[]}`, "1 boxes, 0 labels, 0 cls"},
		{"Corners", `{"frame":1,"boxes":[[2,0,1,1]],"cls":[0]}`, "box 0"},
		{"ThreeNumbers", `{"frame":1,"boxes":[],"ignore":[[0,0,1]]}`, "ignore 0: 3 numbers"},
		{"Class", `{"frame":1,"boxes":[[0,0,1,1]],"cls":[-1]}`, "class -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadTruth(strings.NewReader(tt.in), 10, 10, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want an error with %q, got %v", tt.want, err)
			}
		})
	}
}

// The shipped films' truth reads and has the counts their READMEs give.
func TestReadTruthOfTheFilms(t *testing.T) {
	for _, tt := range []struct {
		path                  string
		w, h, pictures, boxes int
	}{
		{"../../../testdata/models/shapes_video.truth.jsonl", 640, 360, 300, 900},
		{"../../../testdata/models/people/people.truth.jsonl", 768, 576, 15, 104},
	} {
		f, err := os.Open(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		ps, err := ReadTruth(f, tt.w, tt.h, []string{"circle", "square", "triangle"})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, p := range ps {
			n += len(p.Boxes)
		}
		if len(ps) != tt.pictures || n != tt.boxes {
			t.Errorf("%s: want %d pictures %d boxes, got %d and %d", tt.path, tt.pictures, tt.boxes, len(ps), n)
		}
	}
}

func FuzzReadTruth(f *testing.F) {
	f.Add([]byte(`{"frame":3,"boxes":[[10,20,30,40]],"cls":[0]}`))
	f.Add([]byte("{\"frame\":0,\"boxes\":[[0,0,1,1]],\"labels\":[\"a\"],\"ignore\":[[0,0,2,2]]}\n\n{\"frame\":9}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		ps, err := ReadTruth(strings.NewReader(string(in)), 16, 16, []string{"a"})
		if err != nil {
			return
		}
		for _, p := range ps {
			for _, b := range p.Boxes {
				if !(b.area() > 0) {
					t.Fatalf("accepted an empty box %+v", b)
				}
			}
		}
	})
}
