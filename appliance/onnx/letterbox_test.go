package onnx

import (
	"math"
	"testing"
)

// Corners and golden numbers of ultralytics LetterBox, worked out by hand from its formula.
func TestLetterboxGolden(t *testing.T) {
	tests := []struct {
		name                  string
		srcW, srcH, dst       int
		newW, newH, left, top int
	}{
		{"Same", 640, 640, 640, 640, 640, 0, 0},
		{"FilmShapes", 640, 360, 320, 320, 180, 0, 70},
		{"FilmPeople", 768, 576, 384, 384, 288, 0, 48},
		{"FilmPeopleSmall", 768, 576, 256, 256, 192, 0, 32},
		{"FullHD", 1920, 1080, 640, 640, 360, 0, 140},
		{"Portrait", 1080, 1920, 640, 360, 640, 140, 0},
		// 3775×1571: nh = round(266.34) = 266, dh = 374.
		{"OddSides", 3775, 1571, 640, 640, 266, 0, 187},
		// dh = 640−341 = 299: 149.5−0.1 → 149 above, 150 below.
		{"OddPad", 1200, 640, 640, 640, 341, 0, 149},
		// 1·0.5 = 0.5 rounds to even 0 in one axis only when the side is 1; 3·0.5 = 1.5 → 2.
		{"HalfToEven", 128, 3, 64, 64, 2, 0, 31},
		{"Upscaled", 100, 50, 320, 320, 160, 0, 80},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := newLetterbox(tt.srcW, tt.srcH, tt.dst, tt.dst)
			if err != nil {
				t.Fatal(err)
			}
			want := [4]int{tt.newW, tt.newH, tt.left, tt.top}
			if got := [4]int{b.newW, b.newH, b.left, b.top}; got != want {
				t.Errorf("want new %v, got %v", want, got)
			}
		})
	}
}

// denseSides are the sides 32…4096 at which the property is checked: all small ones, where rounding
// weighs most, then steps that are coprime to the powers of two inputs have.
func denseSides() []int {
	var s []int
	for n := 32; n <= 4096; {
		s = append(s, n)
		switch {
		case n < 128:
			n++
		case n < 1024:
			n += 13
		default:
			n += 61
		}
	}
	return append(s, 640, 1080, 1920, 3840, 4095, 4096)
}

// Forward and back is within half a pixel of the picture everywhere, and within half a pixel of the
// input ultralytics' own inverse, (x − left) / r, says the same.
func TestLetterboxForwardInverse(t *testing.T) {
	sides := denseSides()
	checked := 0
	for _, dst := range [][2]int{{320, 320}, {256, 256}, {384, 384}, {640, 640}, {1280, 1280}, {640, 384}, {33, 4096}} {
		for _, w := range sides {
			for _, h := range sides {
				b, err := newLetterbox(w, h, dst[0], dst[1])
				if err != nil {
					if r := min(float64(dst[0])/float64(w), float64(dst[1])/float64(h)); r*float64(min(w, h)) > 0.5 {
						t.Fatalf("%d×%d into %v: %v", w, h, dst, err)
					}
					continue
				}
				right, below := dst[0]-b.left-b.newW, dst[1]-b.top-b.newH
				if b.left < 0 || b.top < 0 || right-b.left < 0 || right-b.left > 1 || below-b.top < 0 || below-b.top > 1 {
					t.Fatalf("%d×%d into %v: pads %d %d %d %d", w, h, dst, b.left, b.top, right, below)
				}
				r := min(float64(dst[0])/float64(w), float64(dst[1])/float64(h))
				for _, p := range [][2]float64{{0, 0}, {1, 1}, {float64(w) / 3, float64(h) / 7}, {float64(w), float64(h)}} {
					fx, fy := b.forward(p[0], p[1])
					ix, iy := b.inverse(fx, fy)
					if math.Abs(ix-p[0]) > 0.5 || math.Abs(iy-p[1]) > 0.5 {
						t.Fatalf("%d×%d into %v: %v became %g,%g", w, h, dst, p, ix, iy)
					}
					ux, uy := (fx-float64(b.left))/r, (fy-float64(b.top))/r
					if math.Abs(ux-p[0])*r > 0.5000001 || math.Abs(uy-p[1])*r > 0.5000001 {
						t.Fatalf("%d×%d into %v: %v by r became %g,%g", w, h, dst, p, ux, uy)
					}
					checked++
				}
			}
		}
	}
	if checked < 500_000 {
		t.Errorf("only %d points checked", checked)
	}
}

func TestLetterboxInverseClips(t *testing.T) {
	b, err := newLetterbox(640, 360, 320, 320)
	if err != nil {
		t.Fatal(err)
	}
	if x, y := b.inverse(-50, 10); x != 0 || y != 0 {
		t.Errorf("want 0,0, got %g,%g", x, y)
	}
	if x, y := b.inverse(400, 319); x != 640 || y != 360 {
		t.Errorf("want 640,360, got %g,%g", x, y)
	}
}

func TestLetterboxTooThin(t *testing.T) {
	if b, err := newLetterbox(8192, 1, 320, 320); err == nil {
		t.Errorf("want an error, got %+v", b)
	}
}
