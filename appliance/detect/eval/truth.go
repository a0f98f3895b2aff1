package eval

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Box is a rectangle in fractions of the full frame.
type Box struct{ X1, Y1, X2, Y2 float64 }

func (b *Box) area() float64 { return (b.X2 - b.X1) * (b.Y2 - b.Y1) }

func (b *Box) overlap(c *Box) float64 {
	w := min(b.X2, c.X2) - max(b.X1, c.X1)
	h := min(b.Y2, c.Y2) - max(b.Y1, c.Y1)
	if w <= 0 || h <= 0 {
		return 0
	}
	return w * h
}

// iou is scale free, so fractions give what pixels would.
func (b *Box) iou(c *Box) float64 {
	o := b.overlap(c)
	if o == 0 {
		return 0
	}
	return o / (b.area() + c.area() - o)
}

// Labelled is a true box.
type Labelled struct {
	Box
	Label string
}

// Picture is the truth of one picture of a film.
type Picture struct {
	Frame  int // counts the film's pictures from 0
	Boxes  []Labelled
	Ignore []Box // regions nobody can judge
}

// Bounds of a truth file: generous against hand-made truth, small against a mistaken path.
const (
	maxPictures     = 1 << 20
	maxLineBytes    = 1 << 20
	maxPictureBoxes = 1 << 14
)

// ReadTruth reads a film's truth, a JSON object a line with pixel boxes x1, y1, x2, y2 of
// width × height: {"frame":0,"boxes":[[…]],"labels":["person"],"ignore":[[…]]}, or with
// "cls":[0] in place of labels, an index into names. Pictures come in rising order;
// those not judged are absent. An error names the line.
func ReadTruth(r io.Reader, width, height int, names []string) ([]Picture, error) {
	if width <= 0 || height <= 0 {
		return nil, fmt.Errorf("read truth: picture size %d×%d", width, height)
	}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLineBytes)
	var out []Picture
	for line := 1; sc.Scan(); line++ {
		if len(sc.Bytes()) == 0 {
			continue
		}
		p, err := readPicture(sc.Bytes(), float64(width), float64(height), names)
		if err == nil && len(out) > 0 && p.Frame <= out[len(out)-1].Frame {
			err = fmt.Errorf("frame %d does not rise", p.Frame)
		}
		if err == nil && len(out) == maxPictures {
			err = fmt.Errorf("more than %d pictures", maxPictures)
		}
		if err != nil {
			return nil, fmt.Errorf("read truth: line %d: %w", line, err)
		}
		out = append(out, p)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read truth: %w", err)
	}
	return out, nil
}

func readPicture(line []byte, w, h float64, names []string) (Picture, error) {
	var raw struct {
		Frame  *int        `json:"frame"`
		Boxes  [][]float64 `json:"boxes"`
		Cls    []int       `json:"cls"`
		Labels []string    `json:"labels"`
		Ignore [][]float64 `json:"ignore"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return Picture{}, err
	}
	if raw.Frame == nil || *raw.Frame < 0 {
		return Picture{}, errors.New("no frame number")
	}
	if len(raw.Boxes) > maxPictureBoxes || len(raw.Ignore) > maxPictureBoxes {
		return Picture{}, fmt.Errorf("more than %d boxes", maxPictureBoxes)
	}
	if len(raw.Labels) != len(raw.Boxes) && len(raw.Cls) != len(raw.Boxes) {
		return Picture{}, fmt.Errorf("%d boxes, %d labels, %d cls", len(raw.Boxes), len(raw.Labels), len(raw.Cls))
	}
	p := Picture{Frame: *raw.Frame}
	for i, v := range raw.Boxes {
		b, err := pixelBox(v, w, h)
		if err != nil {
			return Picture{}, fmt.Errorf("box %d: %w", i, err)
		}
		label := ""
		switch {
		case len(raw.Labels) == len(raw.Boxes):
			label = raw.Labels[i]
		case raw.Cls[i] < 0:
			return Picture{}, fmt.Errorf("box %d: class %d", i, raw.Cls[i])
		case raw.Cls[i] < len(names):
			label = names[raw.Cls[i]]
		default:
			label = strconv.Itoa(raw.Cls[i])
		}
		p.Boxes = append(p.Boxes, Labelled{b, label})
	}
	for i, v := range raw.Ignore {
		b, err := pixelBox(v, w, h)
		if err != nil {
			return Picture{}, fmt.Errorf("ignore %d: %w", i, err)
		}
		p.Ignore = append(p.Ignore, b)
	}
	return p, nil
}

func pixelBox(v []float64, w, h float64) (Box, error) {
	if len(v) != 4 {
		return Box{}, fmt.Errorf("%d numbers, want 4", len(v))
	}
	for _, x := range v {
		if math.Abs(x) > 1<<20 {
			return Box{}, fmt.Errorf("%g is not a pixel position", x)
		}
	}
	if v[0] >= v[2] || v[1] >= v[3] {
		return Box{}, fmt.Errorf("%g is not left and above of the other corner", v)
	}
	return Box{v[0] / w, v[1] / h, v[2] / w, v[3] / h}, nil
}
