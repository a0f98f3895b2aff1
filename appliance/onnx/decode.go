package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/skewgate/skewgate/appliance/detect"
)

// maxCandidates bounds what suppression compares, which is quadratic: of more, only the best scores.
const maxCandidates = 1024

// scoreSlack allows for the last bits of a quantised sigmoid; above it the layout is not what the
// manifest says.
const scoreSlack = 1e-3

// candidate is one box above the threshold, corners in input pixels.
type candidate struct {
	x1, y1, x2, y2 float64
	score          float32
	class, index   int32
}

// decoder reads outputs of layout yolov8. Its scratch is allocated once.
type decoder struct {
	classes, n int // output (1, 4+classes, n)
	threshold  float32
	nmsIoU     float64
	maxBoxes   int

	best  []float32 // per candidate: its best score so far …
	class []int32   // … and that score's class
	found []candidate
	kept  []candidate
}

func newDecoder(classes, n int, m *Manifest) *decoder {
	return &decoder{
		classes: classes, n: n,
		threshold: float32(m.Threshold), nmsIoU: m.NMSIoU, maxBoxes: m.MaxBoxes,
		best: make([]float32, n), class: make([]int32, n),
		found: make([]candidate, 0, n), kept: make([]candidate, 0, min(n, maxCandidates)),
	}
}

// decode appends the boxes of out to dst in falling order of score, in fractions of the picture the
// letterbox was made for. An output that cannot be of this layout is an error.
func (d *decoder) decode(dst []detect.Box, out []float32, b *letterbox) ([]detect.Box, error) {
	if err := d.gather(out); err != nil {
		return dst, err
	}
	// Best first; equal scores in order of the network's rows, so that the answer never depends on sorting.
	slices.SortFunc(d.found, func(a, b candidate) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return int(a.index - b.index)
	})
	d.suppress(d.found[:min(len(d.found), maxCandidates)])
	taken := 0
	for i := range d.kept {
		if taken == d.maxBoxes {
			break
		}
		if box, ok := d.kept[i].inPicture(b); ok {
			dst = append(dst, box)
			taken++
		}
	}
	return dst, nil
}

// gather fills found with the candidates whose best class reaches the threshold.
func (d *decoder) gather(out []float32) error {
	n := d.n
	copy(d.best, out[4*n:5*n])
	clear(d.class)
	for c := 1; c < d.classes; c++ {
		for i, s := range out[(4+c)*n : (5+c)*n] {
			if s > d.best[i] {
				d.best[i], d.class[i] = s, int32(c)
			}
		}
	}
	d.found = d.found[:0]
	for i, s := range d.best {
		if !(s >= d.threshold) { // drops NaN too
			continue
		}
		cx, cy := float64(out[i]), float64(out[n+i])
		w, h := float64(out[2*n+i]), float64(out[3*n+i])
		if s > 1+scoreSlack {
			return fmt.Errorf("candidate %d has score %g: the output is not of layout %s", i, s, LayoutYOLOv8)
		}
		// Inf and NaN survive these sums, and nothing else makes them.
		if sum := cx + cy + w + h; math.IsNaN(sum) || math.IsInf(sum, 0) {
			return fmt.Errorf("candidate %d has box %g %g %g %g: the output is not of layout %s", i, cx, cy, w, h, LayoutYOLOv8)
		}
		d.found = append(d.found, candidate{
			x1: cx - w/2, y1: cy - h/2, x2: cx + w/2, y2: cy + h/2,
			score: min(s, 1), class: d.class[i], index: int32(i),
		})
	}
	return nil
}

// plausible says whether every candidate of out could be of this layout: finite boxes, scores in
// 0…1. It reads all of it, which is for the warm-up; decode looks at what it keeps.
func (d *decoder) plausible(out []float32) error {
	for i, v := range out[:4*d.n] {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("candidate %d has %g in its box: the output is not of layout %s, or the model overflows", i%d.n, v, LayoutYOLOv8)
		}
	}
	for i, v := range out[4*d.n:] {
		if !(v >= -scoreSlack && v <= 1+scoreSlack) {
			return fmt.Errorf("candidate %d has score %g, not within 0…1: the output is not of layout %s (scores without sigmoid, or another layout)", i%d.n, v, LayoutYOLOv8)
		}
	}
	return nil
}

// suppress keeps, class by class, each candidate no better one of its class overlaps by more than
// nmsIoU: non-maximum suppression on sorted candidates, in input pixels before clipping.
func (d *decoder) suppress(sorted []candidate) {
	d.kept = d.kept[:0]
next:
	for i := range sorted {
		c := &sorted[i]
		for k := range d.kept {
			if d.kept[k].class == c.class && d.kept[k].iou(c) > d.nmsIoU {
				continue next
			}
		}
		d.kept = append(d.kept, *c)
	}
}

func (c *candidate) iou(o *candidate) float64 {
	w := min(c.x2, o.x2) - max(c.x1, o.x1)
	h := min(c.y2, o.y2) - max(c.y1, o.y1)
	if w <= 0 || h <= 0 {
		return 0
	}
	overlap := w * h
	return overlap / ((c.x2-c.x1)*(c.y2-c.y1) + (o.x2-o.x1)*(o.y2-o.y1) - overlap)
}

// inPicture takes the candidate back to fractions of the full frame; false when it lies wholly in
// the grey or has no area.
func (c *candidate) inPicture(b *letterbox) (detect.Box, bool) {
	x1, y1 := b.inverse(c.x1, c.y1)
	x2, y2 := b.inverse(c.x2, c.y2)
	w, h := float64(b.srcW), float64(b.srcH)
	box := detect.Box{
		X1: float32(x1 / w), Y1: float32(y1 / h), X2: float32(x2 / w), Y2: float32(y2 / h),
		Score: c.score, Label: uint32(c.class),
	}
	return box, box.X1 < box.X2 && box.Y1 < box.Y2
}
