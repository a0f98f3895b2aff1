package onnx

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/detect/eval"
)

const models = "../../testdata/models/"

var openOnce = sync.OnceValues(func() (string, error) {
	path, err := FindLibrary("", "../..")
	if err != nil {
		return "", err
	}
	return OpenLibrary(path)
})

// needRuntime opens the real ONNX Runtime. Without it these tests prove nothing, so they fail.
func needRuntime(t testing.TB) (version string) {
	t.Helper()
	version, err := openOnce()
	if err != nil {
		t.Fatalf("%v\nthis test runs real models: run scripts/fetch-onnxruntime.sh first", err)
	}
	return version
}

func mustLoad(t testing.TB, m Manifest) *Detector {
	t.Helper()
	needRuntime(t)
	d, err := Load(&m, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// film is one of the shipped films with its truth.
type film struct {
	path, truth   string
	width, height int
	names         []string // of the truth's class numbers
}

var (
	filmShapes = film{models + "shapes_video.mp4", models + "shapes_video.truth.jsonl", 640, 360, []string{"circle", "square", "triangle"}}
	filmPeople = film{models + "people/people.mp4", models + "people/people.truth.jsonl", 768, 576, nil}
)

func (f film) readTruth(t testing.TB) map[int]*eval.Picture {
	t.Helper()
	file, err := os.Open(f.truth)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pictures, err := eval.ReadTruth(file, f.width, f.height, f.names)
	if err != nil {
		t.Fatal(err)
	}
	byFrame := map[int]*eval.Picture{}
	for i := range pictures {
		byFrame[pictures[i].Frame] = &pictures[i]
	}
	return byFrame
}

// each decodes the film with ffmpeg, as capture does, and hands over every picture; the pixels are
// valid during see only. It returns how many there were.
func (f film) each(t testing.TB, see func(frame int, p Picture)) int {
	t.Helper()
	cmd := exec.Command("ffmpeg", "-loglevel", "error", "-threads", "1", "-i", f.path, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("decode %s: %v; install ffmpeg", f.path, err)
	}
	p := Picture{Pixels: make([]byte, f.width*f.height*3/2), Width: f.width, Height: f.height}
	n, r := 0, bufio.NewReaderSize(out, 1<<20)
	for ; ; n++ {
		if _, err := io.ReadFull(r, p.Pixels); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("decode %s: picture %d: %v", f.path, n, err)
		}
		see(n, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("decode %s: %v", f.path, err)
	}
	return n
}

func find(t testing.TB, d *Detector, p Picture) []detect.Box {
	t.Helper()
	if err := d.Prepare(p); err != nil {
		t.Fatal(err)
	}
	if err := d.Run(); err != nil {
		t.Fatal(err)
	}
	boxes, err := d.Boxes(nil)
	if err != nil {
		t.Fatal(err)
	}
	return boxes
}

func asFound(d *Detector, boxes []detect.Box) []eval.Found {
	found := make([]eval.Found, len(boxes))
	for i, b := range boxes {
		found[i] = eval.Found{X1: float64(b.X1), Y1: float64(b.Y1), X2: float64(b.X2), Y2: float64(b.Y2), Score: float64(b.Score), Label: d.Info().Names[b.Label]}
	}
	return found
}
