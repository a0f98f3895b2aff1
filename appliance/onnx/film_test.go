package onnx

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/detect/eval"
)

const models = "../../testdata/models/"

var openOnce = sync.OnceValues(func() (string, error) {
	// As the appliance looks for it, from the checkout's bin/.
	path, tried := new(config.Runtime).FindLibrary("../../bin/skewgate", os.LookupEnv)
	if path == "" {
		return "", fmt.Errorf("no ONNX Runtime at %s", tried)
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

// shipped reads one of the shipped manifests, as the appliance does.
func shipped(t testing.TB, name string) Manifest {
	t.Helper()
	c, problems := config.LoadManifest(models+name+".yaml", config.Options{})
	for _, p := range problems {
		t.Error(p)
	}
	if c == nil {
		t.FailNow()
	}
	// Through JSON, which is how a job carries it.
	var m Manifest
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
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

// The figures of testdata/models: real film through real ffmpeg and real ONNX Runtime, with the
// shipped manifests. Other processors sum floats in another order and move a box or two across the
// threshold; a wrong letterbox, colour order or decoder moves far more.
func TestFilms(t *testing.T) {
	const slack = 0.025
	for _, tt := range []struct {
		name              string
		film              film
		any               bool    // labels are not compared
		threshold         float64 // in place of the manifest's, 0 for that
		every             int
		precision, recall float64
		meanIoU           float64
		boxes             int // true ones
	}{
		{"people", filmPeople, false, 0, 1, .942, .942, .808, 104},
		{"people_small", filmPeople, false, 0, 1, .962, .962, .820, 104},
		{"people_motion", filmPeople, false, 0, 1, .903, .808, .815, 104},
		{"shapes_yolo", filmShapes, false, 0, 1, .728, .757, .872, 900},
		{"proposals", filmShapes, true, 0, 1, .956, .932, .826, 900},
		// As the READMEs measured them: every fifth picture, threshold 0.40.
		{"shapes_yolo", filmShapes, false, .4, 5, .803, .678, .872, 180},
		{"proposals", filmShapes, true, .4, 5, .954, .922, .826, 180},
	} {
		t.Run(fmt.Sprintf("%s every %d", tt.name, tt.every), func(t *testing.T) {
			m := shipped(t, tt.name)
			if tt.threshold != 0 {
				m.Threshold = tt.threshold
			}
			d, truth := mustLoad(t, m), tt.film.readTruth(t)
			if err := d.WarmUp(3); err != nil {
				t.Fatal(err)
			}
			var s eval.Score
			pictures := tt.film.each(t, func(k int, p Picture) {
				if truth[k] != nil && k%tt.every == 0 {
					s.Add(asFound(d, find(t, d, p)), truth[k], eval.Options{IoU: .5, AnyLabel: tt.any})
				}
			})
			t.Logf("%d pictures, %d judged: precision %.3f recall %.3f mean IoU %.3f (%d hits, %d false, %d missed)",
				pictures, s.Pictures, s.Precision(), s.Recall(), s.MeanIoU(), s.TP, s.FP, s.FN)
			if s.TP+s.FN != tt.boxes {
				t.Errorf("want %d true boxes, got %d", tt.boxes, s.TP+s.FN)
			}
			for _, v := range []struct {
				what      string
				want, got float64
			}{{"precision", tt.precision, s.Precision()}, {"recall", tt.recall, s.Recall()}, {"mean IoU", tt.meanIoU, s.MeanIoU()}} {
				if math.Abs(v.want-v.got) > slack {
					t.Errorf("%s: want %.3f ± %.3f, got %.3f", v.what, v.want, slack, v.got)
				}
			}
		})
	}
}
