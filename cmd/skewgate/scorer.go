package main

import (
	"fmt"
	"os"

	"github.com/skewgate/skewgate/appliance"
	"github.com/skewgate/skewgate/appliance/detect/eval"
)

// film is one demo film and what is known of it.
type film struct {
	camera        string
	source        string
	truth         string
	width, height int
	fps           int
	barcode       bool
	models        []filmModel
	classes       []string // names of the truth's class numbers, already in fused classes
}

type filmModel struct {
	name, manifest string
	classes        map[string]string // the model's labels to fused classes
}

// scoreIoU is the overlap from which a found box is a hit, the usual one.
const scoreIoU = 0.5

// scorer holds what the demo measured of one film: precision and recall of each
// model and of the fused result, and what the barcode proves.
type scorer struct {
	film     *film
	truth    map[int]*eval.Picture // by picture number
	frames   int
	multi    int // fused from two models or more
	mixed    int // of those, joined from boxes of different pictures
	proved   int // detections whose barcode is the frame's picture
	unproved int // detections whose barcode is another, or could not be read
	models   []eval.Score
	fused    eval.Score
	found    []eval.Found // reused
}

func newScorer(f *film) (*scorer, error) {
	file, err := os.Open(f.truth)
	if err != nil {
		return nil, fmt.Errorf("open the truth of %s: %w", f.camera, err)
	}
	defer file.Close()
	pictures, err := eval.ReadTruth(file, f.width, f.height, f.classes)
	if err != nil {
		return nil, fmt.Errorf("read the truth of %s: %w", f.camera, err)
	}
	s := &scorer{film: f, truth: make(map[int]*eval.Picture, len(pictures)), models: make([]eval.Score, len(f.models))}
	for i := range pictures {
		s.truth[pictures[i].Frame] = &pictures[i]
	}
	return s, nil
}

// add takes one fused frame. Frame ids count a film's pictures from 1, so the
// picture's number is known without the barcode; the barcode, which each detector
// read from the very pixels it worked on, must say the same.
func (s *scorer) add(f *appliance.Fused) {
	s.frames++
	picture := int(f.FrameID) - 1
	if len(f.Members) > 1 {
		s.multi++
	}
	if s.film.barcode {
		s.addBarcodes(f, picture)
	}
	truth := s.truth[picture]
	if truth == nil {
		return // a picture nobody labelled
	}
	o := eval.Options{IoU: scoreIoU}
	for i := range f.Members {
		m := &f.Members[i]
		for j := range s.film.models {
			if s.film.models[j].name == m.Model {
				s.found = s.found[:0]
				for k := range m.Boxes {
					b := &m.Boxes[k]
					s.found = append(s.found, eval.Found{X1: float64(b.X1), Y1: float64(b.Y1), X2: float64(b.X2), Y2: float64(b.Y2), Score: float64(b.Score), Label: m.Label(b.Label)})
				}
				s.models[j].Add(s.found, truth, o)
			}
		}
	}
	if len(f.Members) < len(s.film.models) {
		return // the fused figure is that of frames all models answered
	}
	s.found = s.found[:0]
	for i := range f.Frame.Boxes {
		b := &f.Frame.Boxes[i]
		s.found = append(s.found, eval.Found{X1: b.X1, Y1: b.Y1, X2: b.X2, Y2: b.Y2, Score: b.Score, Label: b.Label})
	}
	s.fused.Add(s.found, truth, o)
}

// addBarcodes compares what each detector read from its own pixels: with the other
// detectors of the frame, and with the picture the frame claims to be.
func (s *scorer) addBarcodes(f *appliance.Fused, picture int) {
	mixed := false
	for i := range f.Members {
		m := &f.Members[i]
		mixed = mixed || m.Tag != f.Members[0].Tag
		if m.Tag == uint64(picture) {
			s.proved++
		} else {
			s.unproved++
		}
	}
	if mixed {
		s.mixed++
	}
}

func scoreOf(name string, s *eval.Score) demoScore {
	return demoScore{
		Name: name, Pictures: s.Pictures, Precision: round(s.Precision(), 4), Recall: round(s.Recall(), 4),
		MeanIoU: round(s.MeanIoU(), 4), TP: s.TP, FP: s.FP, FN: s.FN,
	}
}
