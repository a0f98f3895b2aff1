package nut

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// encode runs the real ffmpeg on a synthetic source and returns its NUT output.
func encode(t *testing.T, args string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("ffmpeg", strings.Fields("-v error -nostdin "+args)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run ffmpeg (Debian: apt install ffmpeg): %v: %s", err, stderr.Bytes())
	}
	return out
}

// rawVideo is the same film as bytes without a container: the truth of the payloads.
func rawVideo(t *testing.T, source string) []byte {
	return encode(t, source+" -pix_fmt yuv420p -f rawvideo pipe:1")
}

func TestFFmpegOutput(t *testing.T) {
	for _, tc := range []struct {
		name, source, options string
		width, height         int
		stepNS                int64
	}{
		// 320 kB a picture: checksummed headers, repeated main headers at 1 and 8 MiB.
		{"large pictures", "-f lavfi -i testsrc2=s=640x360:r=30 -frames:v 120", "", 640, 360, 33333333},
		{"29.97", "-f lavfi -i testsrc2=s=64x48:r=30000/1001 -frames:v 60", "", 64, 48, 33366666},
		{"odd size", "-f lavfi -i testsrc2=s=322x182:r=25,format=rgb24,crop=321:181:exact=1 -frames:v 12", "", 321, 181, 40000000},
		{"tiny, below every bound for elision", "-f lavfi -i testsrc2=s=16x16:r=10 -frames:v 40", "", 16, 16, 100000000},
		{"black, where elision headers fit", "-f lavfi -i color=black:s=8x8:r=10,lutyuv=y=0:u=0:v=1 -frames:v 5", "", 8, 8, 100000000},
		{"one picture a minute", "-f lavfi -i testsrc2=s=64x48:r=1/60 -frames:v 6", "", 64, 48, 60e9},
		{"a tick finer than the frame codes' PTS steps", "-f lavfi -i testsrc2=s=64x48:r=25 -frames:v 20", "-enc_time_base 1/1200000", 64, 48, 40000000},
		{"no sync points, version 4", "-f lavfi -i testsrc2=s=64x48:r=10 -frames:v 20", "-syncpoints none -f_strict experimental", 64, 48, 100000000},
		{"broadcast sync points, version 4", "-f lavfi -i testsrc2=s=64x48:r=10 -frames:v 20", "-syncpoints timestamped -f_strict experimental", 64, 48, 100000000},
		{"with index and metadata", "-f lavfi -i testsrc2=s=64x48:r=10 -frames:v 20", "-write_index 1 -metadata title=x", 64, 48, 100000000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			data := encode(t, tc.source+" -fps_mode passthrough -enc_time_base -1 -pix_fmt yuv420p -c:v rawvideo "+tc.options+" -f nut pipe:1")
			want := rawVideo(t, tc.source)
			r := NewReader(bytes.NewReader(data))
			s, err := r.Stream()
			if err != nil {
				t.Fatal(err)
			}
			if s.FourCC != "I420" || s.Width != tc.width || s.Height != tc.height {
				t.Errorf("want I420 %dx%d, got %v", tc.width, tc.height, s)
			}
			var got []byte
			for n := int64(0); ; n++ {
				f, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("picture %d: %v", n, err)
				}
				p := make([]byte, f.Size)
				if err := r.ReadPayload(p); err != nil {
					t.Fatalf("picture %d: %v", n, err)
				}
				got = append(got, p...)
				// Whole ticks: n steps differ from n · step by the step's own rounding.
				if ns, ok := s.Nanos(f.PTS); !ok || ns-n*tc.stepNS < 0 || ns-n*tc.stepNS > n {
					t.Errorf("picture %d: want %d ns, got %d", n, n*tc.stepNS, ns)
				}
			}
			if !bytes.Equal(want, got) {
				t.Errorf("payloads differ from ffmpeg's raw video: want %d bytes, got %d", len(want), len(got))
			}
		})
	}
}

// Passing over payloads must leave the reader at the next picture.
func TestSkippedPayloads(t *testing.T) {
	data := encode(t, "-f lavfi -i testsrc2=s=320x240:r=10 -frames:v 30 -pix_fmt yuv420p -c:v rawvideo -f nut pipe:1")
	r := NewReader(bytes.NewReader(data))
	n := 0
	for ; ; n++ {
		f, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n%3 == 0 {
			if err := r.ReadPayload(make([]byte, f.Size)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 30 {
		t.Errorf("want 30 pictures, got %d", n)
	}
}
