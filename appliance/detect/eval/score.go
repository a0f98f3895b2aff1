// Package eval counts how right found boxes are against known truth: greedy matching by
// score, precision and recall. It is a leaf, used by the demo, the tests and later by `eval`.
package eval

import "slices"

// Found is one box somebody found: corners in fractions of the full frame, score 0…1,
// label as text so that models with different class numbers compare.
type Found struct {
	X1, Y1, X2, Y2 float64
	Score          float64
	Label          string
}

// Options says what a hit is.
type Options struct {
	IoU      float64 // smallest overlap of a hit; 0.5 where figures are published here
	AnyLabel bool    // labels are not compared: for class-agnostic models
}

// Score adds up hits and misses over pictures. The zero value is ready.
type Score struct {
	Pictures   int
	TP, FP, FN int
	sumIoU     float64
}

// Add matches one picture's found boxes with its truth: best score first, each takes the
// free true box it overlaps most. An unmatched one that lies by more than half of its area
// in an ignored region counts neither way. found is sorted in place.
func (s *Score) Add(found []Found, truth *Picture, o Options) {
	slices.SortStableFunc(found, func(a, b Found) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	used := make([]bool, len(truth.Boxes))
	hits := 0
	for i := range found {
		f := &found[i]
		best, bestIoU := -1, 0.0
		for k := range truth.Boxes {
			t := &truth.Boxes[k]
			if used[k] || !o.AnyLabel && t.Label != f.Label {
				continue
			}
			if v := f.box().iou(&t.Box); v > bestIoU {
				best, bestIoU = k, v
			}
		}
		switch {
		case best >= 0 && bestIoU >= o.IoU:
			used[best] = true
			hits++
			s.sumIoU += bestIoU
		case !ignored(f.box(), truth.Ignore):
			s.FP++
		}
	}
	s.Pictures++
	s.TP += hits
	s.FN += len(truth.Boxes) - hits
}

// Precision is the share of found boxes that are true, 0 when none was found.
func (s *Score) Precision() float64 { return ratio(s.TP, s.TP+s.FP) }

// Recall is the share of true boxes that were found, 0 when there are none.
func (s *Score) Recall() float64 { return ratio(s.TP, s.TP+s.FN) }

// F1 is the harmonic mean of precision and recall, 0 when both are.
func (s *Score) F1() float64 { return ratio(2*s.TP, 2*s.TP+s.FP+s.FN) }

// MeanIoU is the mean overlap of the hits, 0 when there are none.
func (s *Score) MeanIoU() float64 {
	if s.TP == 0 {
		return 0
	}
	return s.sumIoU / float64(s.TP)
}

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func (f *Found) box() *Box { return &Box{f.X1, f.Y1, f.X2, f.Y2} }

func ignored(b *Box, regions []Box) bool {
	for i := range regions {
		if b.overlap(&regions[i]) > 0.5*b.area() {
			return true
		}
	}
	return false
}
