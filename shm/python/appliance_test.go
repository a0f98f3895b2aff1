package python

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/skewgate/skewgate/appliance/attach"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/sink"
	"github.com/skewgate/skewgate/shm"
)

// box is an appliance without its path: the real attach server, camera gate, the
// detection ring of mine/0 and an output ring.
type box struct {
	t      testing.TB
	server *attach.Server
	frames *shm.FrameWriter
	reader *shm.Reader
	output *sink.Ring
	stop   func() // as if it were killed, but without leaving anything behind
}

func newBox(t testing.TB, socket string) *box {
	t.Helper()
	b := &box{t: t}
	var closers []func()
	segment := func(name string, size int, format func([]byte) error) (*shm.Segment, *os.File) {
		s, err := shm.CreateSegment(name, size)
		if err == nil {
			err = format(s.Bytes())
		}
		if err != nil {
			t.Fatal(err)
		}
		ro, err := s.OpenReadOnly()
		if err != nil {
			t.Fatal(err)
		}
		closers = append(closers, func() { ro.Close(); s.Close() })
		return s, ro
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	fc := shm.FrameRingConfig{Slots: 3, PixelBytes: width * height * 3 / 2, Unit: "box", Camera: "gate"}
	frames, framesRO := segment("frames:gate", fc.Bytes(), func(p []byte) error { return shm.FormatFrameRing(p, fc) })
	rc := shm.RingConfig{Slots: 16, PayloadBytes: 4096, Model: "mine"}
	ring, ringRO := segment("ring:mine", rc.Bytes(), func(p []byte) error { return shm.FormatRing(p, rc) })
	oc := shm.RingConfig{Slots: 128, PayloadBytes: 4096, Model: "fused"}
	output, outputRO := segment("output", oc.Bytes(), func(p []byte) error { return shm.FormatOutputRing(p, oc) })
	bell, _ := segment("doorbell", shm.DoorbellBytes(), shm.FormatDoorbell)

	var err error
	b.frames, err = shm.NewFrameWriter(frames.Bytes(), 1, nil)
	must(err)
	b.frames.NextStreamEpoch()
	b.reader, err = shm.NewReader(ring.Bytes())
	must(err)
	b.output, err = sink.NewRing(output.Bytes(), 1, "box", []string{"gate"}, []string{"mine", "other", "third"}, clock.Now())
	must(err)

	var goroutines sync.WaitGroup
	b.server = attach.New(attach.Options{
		Unit: "box", UID: os.Geteuid(), Log: slog.New(slog.DiscardHandler), Changed: func() {}, Bell: bell.File(), Output: outputRO,
		GoFunc:  func(_ string, f func()) { goroutines.Go(f) },
		Cameras: []attach.Camera{{Name: "gate", Frames: framesRO}},
		Desks: []attach.DeskConfig{{Model: "mine", Cameras: []int{0}, Ring: attach.Ring{
			Writer: ring.File(), Reader: ringRO, Epoch: func() uint32 { return b.reader.Info().RingEpoch },
		}}},
	})
	b.server.SetEpoch(0, b.frames.StreamEpoch())
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: socket, Net: "unixpacket"})
	must(err)
	goroutines.Go(func() { b.server.Serve(l) })
	stopped := false
	b.stop = func() {
		if stopped {
			return
		}
		stopped = true
		b.server.Close()
		l.Close()
		goroutines.Wait()
		for _, c := range closers {
			c()
		}
	}
	t.Cleanup(b.stop)
	return b
}

const width, height = 320, 240

// show publishes a grey picture with a white square of side pixels at (x, y).
func (b *box) show(id uint64, x, y, side int) {
	b.t.Helper()
	pixels, err := b.frames.Begin(width * height * 3 / 2)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range pixels {
		pixels[i] = 100
	}
	for row := y; row < y+side; row++ {
		for i := range pixels[row*width+x:][:side] {
			pixels[row*width+x+i] = 235
		}
	}
	m := shm.FrameMeta{FrameID: id, CaptureNS: int64(id) * 1000, StreamEpoch: b.frames.StreamEpoch(), Width: width, Height: height,
		Format: shm.FormatI420, Length: uint32(len(pixels)), ClockSource: shm.ClockFile}
	if _, err := b.frames.Publish(&m); err != nil {
		b.t.Fatal(err)
	}
}

func socketPath(t testing.TB) string { return filepath.Join(t.TempDir(), "attach.sock") }
