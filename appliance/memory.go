package appliance

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/attach"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/sink"
	"github.com/skewgate/skewgate/shm"
)

// Sizes of what the appliance allocates per camera and per replica. Rings hold a
// few seconds of messages and a quarter of a second of pictures: enough to step over
// any stall of the path that the timeout would survive, small enough for the cache.
const (
	frameSlots    = 8
	ringSlots     = 256
	minBodyBytes  = 4096
	dispatchSlots = 64

	// jsonBoxBytes is what one box takes in a JSON body, with some room.
	jsonBoxBytes = 96
	// A record of the output ring is at least as large as a small config may come to need,
	// and at most what a thousand slots of it still let a small box afford.
	minRecordBytes = 16 << 10
	maxRecordBytes = 256 << 10
	outputName     = "fused"
)

// memory owns every shared segment of the appliance and the read-only files made of
// them. The files stay open for restarts of the children. Rings of foreign detectors are
// replaced while others run, hence the lock.
type memory struct {
	mu       sync.Mutex
	segments []*shm.Segment
	files    []*os.File
	bytes    int64
}

// sum returns how many segments there are and their size together.
func (m *memory) sum() (segments int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.segments), m.bytes
}

// create makes one segment and lays it out.
func (m *memory) create(name string, sizeBytes int, format func([]byte) error) (*shm.Segment, error) {
	if sizeBytes == 0 {
		// The sizes were refused; format says which and why.
		if err := format(nil); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("create segment %q: its size is 0", name)
	}
	s, err := shm.CreateSegment(name, sizeBytes)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.segments = append(m.segments, s)
	m.bytes += int64(sizeBytes)
	m.mu.Unlock()
	if err := format(s.Bytes()); err != nil {
		return nil, fmt.Errorf("lay out segment %q: %w", name, err)
	}
	return s, nil
}

// readOnly returns a descriptor of s that cannot be written through.
func (m *memory) readOnly(s *shm.Segment) (*os.File, error) {
	f, err := s.OpenReadOnly()
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files = append(m.files, f)
	return f, nil
}

// drop gives up a segment that a foreign process may still have mapped. Its pages are
// taken away first: what that process touches from then on is its own memory, not ours.
func (m *memory) drop(s *shm.Segment, readOnly *os.File) error {
	m.mu.Lock()
	m.segments = slices.DeleteFunc(m.segments, func(have *shm.Segment) bool { return have == s })
	m.files = slices.DeleteFunc(m.files, func(have *os.File) bool { return have == readOnly })
	size := int64(len(s.Bytes()))
	m.bytes -= size
	m.mu.Unlock()
	punch := unix.Fallocate(int(s.File().Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, size)
	return errors.Join(punch, s.Close(), readOnly.Close())
}

// close releases everything; the path and all children must have ended.
func (m *memory) close() error {
	var errs []error
	for _, f := range m.files {
		errs = append(errs, f.Close())
	}
	for _, s := range m.segments {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func (m *memory) doorbell() (*shm.Segment, *shm.Doorbell, error) {
	s, err := m.create("doorbell", shm.DoorbellBytes(), shm.FormatDoorbell)
	if err != nil {
		return nil, nil, err
	}
	bell, err := shm.NewDoorbell(s.Bytes())
	return s, bell, err
}

// frameLayout sizes a camera's frame ring by its largest picture.
func frameLayout(unit string, index int, c *config.Camera) shm.FrameRingConfig {
	pixels, _ := shm.FrameBytes(shm.FormatI420, uint32(c.MaxPicture.Width), uint32(c.MaxPicture.Height))
	return shm.FrameRingConfig{Slots: frameSlots, PixelBytes: pixels, Unit: unit, Camera: c.Name, Index: index}
}

func (m *memory) frameRing(unit string, index int, c *config.Camera) (*shm.Segment, *shm.FrameReader, error) {
	layout := frameLayout(unit, index, c)
	s, err := m.create("frames:"+c.Name, layout.Bytes(), func(b []byte) error { return shm.FormatFrameRing(b, layout) })
	if err != nil {
		return nil, nil, fmt.Errorf("frame ring of camera %s (max_picture %v, %d pictures): %w", c.Name, c.MaxPicture, frameSlots, err)
	}
	r, err := shm.NewFrameReader(s.Bytes())
	return s, r, err
}

// ringLayout sizes a replica's detection ring by the most boxes its model may send.
func ringLayout(index int, model *config.Model, replica uint32) shm.RingConfig {
	boxBytes := detect.BoxBytes
	if model.Foreign() {
		boxBytes = jsonBoxBytes
	}
	return shm.RingConfig{
		Slots: ringSlots, PayloadBytes: max(minBodyBytes, model.BoxLimit()*boxBytes),
		Model: model.Name, Replica: replica, Index: index,
	}
}

func (m *memory) detectionRing(index int, model *config.Model, replica uint32) (*shm.Segment, *shm.Reader, error) {
	layout := ringLayout(index, model, replica)
	s, err := m.create("ring:"+model.Name, layout.Bytes(), func(b []byte) error { return shm.FormatRing(b, layout) })
	if err != nil {
		return nil, nil, fmt.Errorf("detection ring of model %s: %w", model.Name, err)
	}
	r, err := shm.NewReader(s.Bytes())
	return s, r, err
}

// handOut returns a foreign detector's ring as the attach server gives it away.
func (m *memory) handOut(s *shm.Segment) (attach.Ring, error) {
	readOnly, err := m.readOnly(s)
	if err != nil {
		return attach.Ring{}, err
	}
	info, err := shm.NewReader(s.Bytes()) // of its own: it is asked from other threads
	if err != nil {
		return attach.Ring{}, err
	}
	return attach.Ring{Writer: s.File(), Reader: readOnly, Epoch: func() uint32 { return info.Info().RingEpoch }}, nil
}

// outputLayout sizes the output ring by the most that a frame of any camera can hold.
func outputLayout(c *config.Config, out *config.SHM) shm.RingConfig {
	payload := 0
	for i := range c.Cameras {
		models, boxes := 0, 0
		for j := range c.Models {
			if m := &c.Models[j]; slices.Contains(m.Cameras, c.Cameras[i].Name) {
				models, boxes = models+1, boxes+m.BoxLimit()
			}
		}
		payload = max(payload, sink.RecordBytes(models, boxes))
	}
	return shm.RingConfig{
		Slots: out.Slots, PayloadBytes: min(max(payload, minRecordBytes), maxRecordBytes),
		Model: outputName, Index: len(c.Models),
	}
}

func (m *memory) outputRing(layout shm.RingConfig) (*shm.Segment, error) {
	s, err := m.create("output", layout.Bytes(), func(b []byte) error { return shm.FormatOutputRing(b, layout) })
	if err != nil {
		return nil, fmt.Errorf("output ring of %d slots: %w", layout.Slots, err)
	}
	return s, nil
}

func (m *memory) dispatch(task string) (*shm.Segment, *shm.DispatchWriter, error) {
	s, err := m.create("dispatch:"+task, shm.DispatchBytes(dispatchSlots), func(b []byte) error {
		return shm.FormatDispatch(b, dispatchSlots)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("dispatch segment of %s: %w", task, err)
	}
	w, err := shm.NewDispatchWriter(s.Bytes())
	return s, w, err
}
