package barcode

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

const (
	shapesFilm = "../../../testdata/models/shapes_video.mp4"
	peopleFilm = "../../../testdata/models/people/people.mp4"
)

// lumas decodes a source with the real ffmpeg and hands each luma plane to f.
func lumas(t *testing.T, width, height int, args string, f func(n int, y []byte)) (pictures int) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("ffmpeg", strings.Fields("-v error -nostdin "+args+" -pix_fmt gray -f rawvideo pipe:1")...)
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("run ffmpeg (Debian: apt install ffmpeg): %v", err)
	}
	y := make([]byte, width*height)
	for ; ; pictures++ {
		if _, err := io.ReadFull(out, y); err != nil {
			break
		}
		f(pictures, y)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("run ffmpeg: %v: %s", err, stderr.Bytes())
	}
	return pictures
}

func TestEveryPictureOfTheShapesFilm(t *testing.T) {
	n := lumas(t, 640, 360, "-i "+shapesFilm, func(n int, y []byte) {
		if got, ok := Read(y, 640, 640, 360); !ok || got != uint64(n) {
			t.Errorf("picture %d: want code %d, got %d %v", n, n, got, ok)
		}
	})
	if n != 300 {
		t.Errorf("want 300 pictures, got %d", n)
	}
}

// A camera's low bit rate must not cost the code: the film is coded again, badly.
func TestCodeSurvivesCoarseH264(t *testing.T) {
	film := t.TempDir() + "/coarse.mp4"
	args := "-v error -nostdin -i " + shapesFilm + " -frames:v 120 -c:v libx264 -preset ultrafast -crf 42 " + film
	if out, err := exec.Command("ffmpeg", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("code the film again: %v: %s", err, out)
	}
	n := lumas(t, 640, 360, "-i "+film, func(n int, y []byte) {
		if got, ok := Read(y, 640, 640, 360); !ok || got != uint64(n) {
			t.Errorf("picture %d: want code %d, got %d %v", n, n, got, ok)
		}
	})
	if n != 120 {
		t.Errorf("want 120 pictures, got %d", n)
	}
}

// Real footage carries no code: not in its corner, and not in any window of it that
// could be a corner. About one million windows a run, ten million with every step.
func TestRealFootageHasNoCode(t *testing.T) {
	const width, height, step = 768, 576, 9
	windows := 0
	n := lumas(t, width, height, "-i "+peopleFilm, func(n int, y []byte) {
		if code, ok := Read(y, width, width, height); ok {
			t.Errorf("picture %d: want no code, got %d", n, code)
		}
		for top := n % step; top <= height-2*cellPx; top += step {
			for left := n / step % step; left <= width-bits*cellPx; left += step {
				windows++
				if code, ok := Read(y[top*width+left:], width, width-left, height-top); ok {
					t.Errorf("picture %d at %d,%d: want no code, got %d", n, left, top, code)
				}
			}
		}
	})
	if n != 239 || windows < 1_000_000 {
		t.Errorf("want 239 pictures and over a million windows, got %d and %d", n, windows)
	}
}

// Pictures that come nearest to a code without being one.
func TestFlatAndBarredPicturesHaveNoCode(t *testing.T) {
	const width, height = 320, 96
	for _, tc := range []struct {
		name  string
		pixel func(x, y int) byte
	}{
		{"black", func(x, y int) byte { return 16 }},
		{"white", func(x, y int) byte { return 235 }},
		{"grey", func(x, y int) byte { return 128 }},
		{"letterbox of 8 rows", func(x, y int) byte { return pick(y < 8, 16, 120) }},
		{"letterbox of 60 rows", func(x, y int) byte { return pick(y < 60, 16, 120) }},
		{"white bar of 8 rows", func(x, y int) byte { return pick(y < 8, 235, 120) }},
		{"vertical stripes on the grid", func(x, y int) byte { return pick(x/8%2 == 0, 16, 235) }},
		{"checkerboard of 16", func(x, y int) byte { return pick((x/16+y/16)%2 == 0, 16, 235) }},
		{"gradient", func(x, y int) byte { return byte(x % 256) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := make([]byte, width*height)
			for i := range y {
				y[i] = tc.pixel(i%width, i/width)
			}
			if code, ok := Read(y, width, width, height); ok {
				t.Errorf("want no code, got %d", code)
			}
		})
	}
}

func pick(first bool, a, b byte) byte {
	if first {
		return a
	}
	return b
}

func TestNoiseHasNoCode(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	y := make([]byte, 160*16)
	for n := range 20_000 {
		for i := range y {
			y[i] = byte(rng.Uint32())
		}
		if code, ok := Read(y, 160, 160, 16); ok {
			t.Fatalf("noise %d: want no code, got %d", n, code)
		}
	}
}

// draw paints a code as the film's generator does, over grey.
func draw(code uint64, stride, height int) []byte {
	y := bytes.Repeat([]byte{110}, stride*height)
	for i := range bits {
		for row := range cellPx {
			for x := range cellPx {
				y[row*stride+i*cellPx+x] = pick(code>>i&1 == 1, 235, 16)
			}
		}
	}
	return y
}

func TestEveryCode(t *testing.T) {
	for code := range uint64(1 << bits) {
		if got, ok := Read(draw(code, 144, 16), 144, 140, 16); !ok || got != code {
			t.Fatalf("want %d, got %d %v", code, got, ok)
		}
	}
}

func TestPicturesTooSmallForACode(t *testing.T) {
	y := draw(5, 128, 16)
	if got, ok := Read(y, 128, 128, 16); !ok || got != 5 {
		t.Errorf("128x16: want 5, got %d %v", got, ok)
	}
	for _, tc := range []struct {
		name                  string
		y                     []byte
		stride, width, height int
	}{
		{"narrow", y, 128, 127, 16},
		{"low", y, 128, 128, 15},
		{"short plane", y[:128*15], 128, 128, 16},
		{"stride below width", y, 100, 128, 16},
		{"no stride", y, 0, 0, 0},
		{"no plane", nil, 128, 128, 16},
	} {
		if code, ok := Read(tc.y, tc.stride, tc.width, tc.height); ok {
			t.Errorf("%s: want no code, got %d", tc.name, code)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	y := draw(12345, 640, 360)
	b.ReportAllocs()
	for b.Loop() {
		Read(y, 640, 640, 360)
	}
}
