package appliance

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/shm"
)

// BenchmarkTurn is what a spinning path does all the time, and what it does for one frame:
// from the last message to the record in the output ring. Processor time beside the wall's.
func BenchmarkTurn(b *testing.B) {
	for _, size := range []struct{ models, boxes int }{{1, 0}, {1, 1}, {3, 8}} {
		name := fmt.Sprintf("%dx%d", size.models, size.boxes)
		if size.boxes == 0 {
			name = "idle"
		}
		b.Run(name, func(b *testing.B) {
			a, writers := newTurning(b, size.models)
			boxes := make([]detect.Box, size.boxes)
			for i := range boxes {
				x, y := 0.24*float32(i%4), 0.3*float32(i/4)
				boxes[i] = detect.Box{X1: x, Y1: y, X2: x + 0.2, Y2: y + 0.25, Score: 0.9, Label: uint32(i % 3)}
			}
			body := detect.AppendPacked(nil, boxes)
			frame := uint64(0)
			b.ReportAllocs()
			before := pathNS(b)
			for b.Loop() {
				frame++
				now := clock.Now()
				for _, w := range writers {
					if len(boxes) == 0 {
						break
					}
					h := shm.SlotHeader{Kind: shm.KindBoxes, StreamEpoch: 1, FrameID: frame, CaptureNS: int64(now), PublishNS: int64(now), Count: uint16(len(boxes))}
					if err := w.Publish(&h, body); err != nil {
						b.Fatal(err)
					}
				}
				a.path.turn(now)
			}
			b.ReportMetric(float64(pathNS(b)-before)/float64(b.N), "cpu-ns/op")
			if got := a.path.out.seq; len(boxes) > 0 && got != frame {
				b.Errorf("%d frames fused, want %d", got, frame)
			}
		})
	}
}

// newTurning is an appliance with one camera, models that attach, and an output ring.
func newTurning(b *testing.B, models int) (*Appliance, []*shm.Writer) {
	b.Helper()
	dir := b.TempDir()
	var text strings.Builder
	text.WriteString("unit: box\nstate_dir: state\ncameras: [{name: gate, source: none.mp4, max_picture: 64x64}]\nsinks: [{shm: {}}]\nmodels:\n")
	for m := range models {
		fmt.Fprintf(&text, "  - {name: m%d, command: attach, frame_ids: true, cameras: [gate]}\n", m)
	}
	path := filepath.Join(dir, "skewgate.yaml")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	cfg, problems := config.Load(path, config.Options{})
	if cfg == nil {
		b.Fatal(problems)
	}
	a, err := New(cfg, Options{Log: slog.New(slog.DiscardHandler), RunDir: filepath.Join(dir, "run"), Self: "/bin/true", Detect: "/bin/true"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := a.release(); err != nil {
			b.Error(err)
		}
	})
	frames, err := shm.NewFrameWriter(a.path.cameras[0].ring.Bytes(), 1, nil)
	if err != nil {
		b.Fatal(err)
	}
	frames.NextStreamEpoch()
	var writers []*shm.Writer
	for _, r := range a.path.replicas {
		r.foreign.open = true
		w, err := shm.NewWriter(r.segment.Bytes(), 1, nil)
		if err == nil {
			_, err = w.RegisterStream("box", "gate", 1)
		}
		if err != nil {
			b.Fatal(err)
		}
		writers = append(writers, w)
	}
	return a, writers
}

func pathNS(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
