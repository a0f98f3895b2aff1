package bench

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/skewgate/skewgate/appliance/attach"
	"github.com/skewgate/skewgate/shm"
)

// An attachment is the appliance's side of attach.sock, as the appliance serves it, with
// one camera that shows one picture and one detection ring.
type attachment struct {
	path     string
	listener net.Listener
	server   *attach.Server
	running  sync.WaitGroup
	segments []*shm.Segment
	files    []*os.File // reopened, ours to close
}

// pictureBytes is an I420 picture of 64 × 48.
const pictureBytes = 64 * 48 * 3 / 2

// newAttachment listens in folder.
func newAttachment(folder string) (a *attachment, err error) {
	a = &attachment{path: filepath.Join(folder, "attach.sock")}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	ringConfig := shm.RingConfig{Slots: publishSlots, PayloadBytes: messageBytes, Model: "bench"}
	ring, err := a.segment(ringConfig.Bytes(), func(b []byte) error { return shm.FormatRing(b, ringConfig) })
	if err != nil {
		return a, err
	}
	bell, err := a.segment(shm.DoorbellBytes(), shm.FormatDoorbell)
	if err != nil {
		return a, err
	}
	framesConfig := shm.FrameRingConfig{Slots: 2, PixelBytes: pictureBytes, Unit: "bench", Camera: "camera"}
	frames, err := a.segment(framesConfig.Bytes(), func(b []byte) error { return shm.FormatFrameRing(b, framesConfig) })
	if err != nil {
		return a, err
	}
	if err := onePicture(frames.Bytes()); err != nil {
		return a, err
	}
	framesFile, err := a.readOnly(frames)
	if err != nil {
		return a, err
	}
	ringFile, err := a.readOnly(ring)
	if err != nil {
		return a, err
	}
	a.server = attach.New(attach.Options{
		Unit: "bench", UID: os.Geteuid(), Bell: bell.File(),
		Cameras: []attach.Camera{{Name: "camera", Frames: framesFile}},
		Desks: []attach.DeskConfig{{
			Model: "bench", Cameras: []int{0},
			Ring: attach.Ring{Writer: ring.File(), Reader: ringFile, Epoch: func() uint32 { return 0 }},
		}},
		Changed: func() {},
		GoFunc:  func(_ string, f func()) { a.running.Go(f) },
		Log:     slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	a.server.SetEpoch(0, 1)
	if a.listener, err = net.Listen("unixpacket", a.path); err != nil {
		return a, err
	}
	a.running.Go(func() { a.server.Serve(a.listener) })
	return a, nil
}

func onePicture(b []byte) error {
	w, err := shm.NewFrameWriter(b, uint32(os.Getpid()), nil)
	if err != nil {
		return err
	}
	epoch := w.NextStreamEpoch()
	if _, err := w.Begin(pictureBytes); err != nil {
		return err
	}
	_, err = w.Publish(&shm.FrameMeta{
		CaptureNS: nowNS(), PublishNS: nowNS(), FrameID: 1, StreamEpoch: epoch, Width: 64, Height: 48,
		Format: shm.FormatI420, Length: pictureBytes, ClockSource: shm.ClockFile,
	})
	return err
}

func (a *attachment) segment(bytes int, format func([]byte) error) (*shm.Segment, error) {
	s, err := shm.CreateSegment("bench", bytes)
	if err != nil {
		return nil, err
	}
	a.segments = append(a.segments, s)
	return s, format(s.Bytes())
}

func (a *attachment) readOnly(s *shm.Segment) (*os.File, error) {
	f, err := s.OpenReadOnly()
	if err == nil {
		a.files = append(a.files, f)
	}
	return f, err
}

func (a *attachment) close() error {
	var errs []error
	if a.listener != nil {
		errs = append(errs, a.listener.Close())
	}
	if a.server != nil {
		a.server.Close()
	}
	a.running.Wait()
	for _, f := range a.files {
		errs = append(errs, f.Close())
	}
	for _, s := range a.segments {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
