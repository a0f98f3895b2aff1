package appliance

import (
	"errors"
	"fmt"
	"os"

	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/detect"
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
)

// memory owns every shared segment of the appliance and the read-only files made of
// them. The files stay open for restarts of the children.
type memory struct {
	segments []*shm.Segment
	files    []*os.File
	bytes    int64
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
	m.segments = append(m.segments, s)
	m.bytes += int64(sizeBytes)
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
	m.files = append(m.files, f)
	return f, nil
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
	return shm.RingConfig{
		Slots: ringSlots, PayloadBytes: max(minBodyBytes, model.Network.MaxBoxes*detect.BoxBytes),
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
