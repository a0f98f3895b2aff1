package onnx

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// reference is the same pre-processing the slow and plain way: one output pixel at a time, in
// float64, from the definitions.
func reference(p Picture, dstW, dstH int) []float32 {
	w, h := p.Width, p.Height
	cw, ch := (w+1)/2, (h+1)/2
	r := math.Min(float64(dstH)/float64(h), float64(dstW)/float64(w))
	nw, nh := int(math.RoundToEven(float64(w)*r)), int(math.RoundToEven(float64(h)*r))
	left, top := int(math.RoundToEven(float64(dstW-nw)/2-0.1)), int(math.RoundToEven(float64(dstH-nh)/2-0.1))
	sample := func(plane []byte, w, h int, x, y float64) float64 {
		x = math.Max(0, math.Min(x, float64(w-1)))
		y = math.Max(0, math.Min(y, float64(h-1)))
		sum := 0.0
		for _, yy := range []int{int(y), int(y) + 1} {
			for _, xx := range []int{int(x), int(x) + 1} {
				wx, wy := 1-math.Abs(x-float64(xx)), 1-math.Abs(y-float64(yy))
				if wx > 0 && wy > 0 {
					sum += wx * wy * float64(plane[yy*w+xx])
				}
			}
		}
		return sum
	}
	out := make([]float32, 3*dstW*dstH)
	for i := range out {
		out[i] = 114.0 / 255
	}
	clamp := func(v float64) float32 { return float32(math.Max(0, math.Min(1, v/255))) }
	for oy := 0; oy < nh; oy++ {
		sy := (float64(oy)+.5)*float64(h)/float64(nh) - .5
		for ox := 0; ox < nw; ox++ {
			sx := (float64(ox)+.5)*float64(w)/float64(nw) - .5
			y := sample(p.Pixels[:w*h], w, h, sx, sy)
			u := sample(p.Pixels[w*h:w*h+cw*ch], cw, ch, sx/2, (sy+.5)/2-.5)
			v := sample(p.Pixels[w*h+cw*ch:], cw, ch, sx/2, (sy+.5)/2-.5)
			// ITU-R BT.601: Kr 0.299, Kb 0.114; luma 16…235, chroma 16…240.
			l := 255.0 / 219 * (y - 16)
			red := l + 255.0/224*2*(1-.299)*(v-128)
			blue := l + 255.0/224*2*(1-.114)*(u-128)
			green := l - 255.0/224*2*(1-.114)*.114/.587*(u-128) - 255.0/224*2*(1-.299)*.299/.587*(v-128)
			at := (top+oy)*dstW + left + ox
			out[at], out[dstW*dstH+at], out[2*dstW*dstH+at] = clamp(red), clamp(green), clamp(blue)
		}
	}
	return out
}

func randomPicture(r *rand.Rand, w, h int) Picture {
	px := make([]byte, w*h+2*((w+1)/2)*((h+1)/2))
	for i := range px {
		px[i] = byte(r.Uint32())
	}
	return Picture{Pixels: px, Width: w, Height: h}
}

func prepared(t *testing.T, p Picture, dstW, dstH int) []float32 {
	t.Helper()
	y, u, v, err := p.planes()
	if err != nil {
		t.Fatal(err)
	}
	pl, err := newPlan(p.Width, p.Height, dstW, dstH)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, 3*dstW*dstH)
	fillPad(out)
	pl.fill(out, y, u, v)
	return out
}

func TestFillAgainstReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		name             string
		w, h, dstW, dstH int
	}{
		{"Half", 128, 72, 64, 64}, {"Same", 64, 64, 64, 64}, {"Third", 96, 72, 32, 32}, {"Upscaled", 33, 17, 96, 96},
		{"Odd", 101, 77, 64, 64}, {"Portrait", 45, 120, 64, 64}, {"Rectangle", 200, 60, 96, 32}, {"OnePixel", 1, 1, 32, 32},
		{"OneColumn", 1, 9, 64, 64}, {"FullHD", 1920, 1080, 160, 160},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := randomPicture(r, tt.w, tt.h)
			want, got := reference(p, tt.dstW, tt.dstH), prepared(t, p, tt.dstW, tt.dstH)
			for i := range want {
				// A quarter of one 8-bit step: the weights have 11 bits.
				if d := math.Abs(float64(want[i] - got[i])); d > 0.25/255 {
					t.Fatalf("at %d: want %g, got %g", i, want[i], got[i])
				}
			}
		})
	}
}

// The six primary and secondary colours, black, white and grey, as their BT.601 bytes.
func TestFillColours(t *testing.T) {
	for _, tt := range []struct {
		name    string
		y, u, v byte
		r, g, b float64
	}{
		{"Black", 16, 128, 128, 0, 0, 0}, {"White", 235, 128, 128, 1, 1, 1}, {"Grey", 126, 128, 128, .5, .5, .5},
		{"Red", 81, 90, 240, 1, 0, 0}, {"Green", 145, 54, 34, 0, 1, 0}, {"Blue", 41, 240, 110, 0, 0, 1},
		{"Yellow", 210, 16, 146, 1, 1, 0}, {"Cyan", 170, 166, 16, 0, 1, 1}, {"Magenta", 106, 202, 222, 1, 0, 1},
		{"BlackerThanBlack", 0, 128, 128, 0, 0, 0}, {"WhiterThanWhite", 255, 128, 128, 1, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Picture{Pixels: make([]byte, 64*64*3/2), Width: 64, Height: 64}
			for i := range p.Pixels {
				switch {
				case i < 64*64:
					p.Pixels[i] = tt.y
				case i < 64*64*5/4:
					p.Pixels[i] = tt.u
				default:
					p.Pixels[i] = tt.v
				}
			}
			out := prepared(t, p, 64, 64)
			for c, want := range []float64{tt.r, tt.g, tt.b} {
				if got := float64(out[c*64*64+64*32+32]); math.Abs(want-got) > .006 {
					t.Errorf("channel %d: want %g, got %g", c, want, got)
				}
			}
		})
	}
}

func TestPictureRefused(t *testing.T) {
	big := make([]byte, 100)
	for _, tt := range []struct {
		name string
		p    Picture
		want string
	}{
		{"Zero", Picture{big, 0, 10}, "0×10"},
		{"Negative", Picture{big, -1, 10}, "-1×10"},
		{"TooWide", Picture{big, maxPictureSide + 1, 1}, "8193×1"},
		{"Huge", Picture{big, 1 << 31, 1 << 31}, "is not within"},
		{"Short", Picture{big[:95], 8, 8}, "has 96 bytes, this one 95"},
		{"Long", Picture{big[:97], 8, 8}, "has 96 bytes, this one 97"},
		{"OddShort", Picture{big[:13], 3, 3}, "has 17 bytes, this one 13"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, _, err := tt.p.planes()
			if !errors.Is(err, ErrPicture) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want ErrPicture with %q, got %v", tt.want, err)
			}
		})
	}
}

// Any geometry a header can claim either is refused or stays inside its bytes and inside the tensor.
func FuzzPictureGeometry(f *testing.F) {
	f.Add(64, 64, 32, 32, 64*64*3/2)
	f.Add(1, 4096, 32, 4096, 4096+2*2048)
	f.Add(8192, 1, 320, 320, 8192+2*4096)
	f.Fuzz(func(t *testing.T, w, h, dstW, dstH, n int) {
		if n < 0 || n > 1<<20 || dstW < minInputSide || dstH < minInputSide || dstW > 512 || dstH > 512 {
			return
		}
		p := Picture{Pixels: make([]byte, n), Width: w, Height: h}
		y, u, v, err := p.planes()
		if err != nil {
			return
		}
		pl, err := newPlan(w, h, dstW, dstH)
		if err != nil {
			return
		}
		out := make([]float32, 3*dstW*dstH)
		pl.fill(out, y, u, v)
		for _, x := range out {
			if !(x >= 0 && x <= 1) {
				t.Fatalf("%g in the input", x)
			}
		}
	})
}
