package client

import (
	"fmt"

	"github.com/skewgate/skewgate/shm"
)

// streams are the cameras of an attachment. A number keeps its camera for good.
type streams struct{ all []stream }

type stream struct {
	name   string
	here   bool // given at the present attachment
	epoch  uint32
	index  uint32           // in the ring's table
	frames *shm.FrameReader // nil = none was given
}

// take notes the cameras of an answer.
func (t *streams) take(s *said, mapped map[string]*shm.Segment) error {
	t.forget()
	for _, c := range s.Cameras {
		if err := shm.CheckName("camera", c.Name); err != nil {
			return fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		i := t.find(c.Name)
		if i < 0 {
			i = len(t.all)
			t.all = append(t.all, stream{name: c.Name})
		}
		t.all[i].here, t.all[i].epoch = true, c.StreamEpoch
		segment := mapped["frames/"+c.Name]
		if segment == nil {
			continue
		}
		frames, err := shm.NewFrameReader(segment.Bytes())
		if err != nil {
			return fmt.Errorf("frame ring of %s: %w", c.Name, err)
		}
		t.all[i].frames = frames
	}
	return nil
}

// forget lets go of memory that is about to be unmapped. Names and numbers stay.
func (t *streams) forget() {
	for i := range t.all {
		t.all[i] = stream{name: t.all[i].name}
	}
}

func (t *streams) find(name string) int {
	for i := range t.all {
		if t.all[i].name == name {
			return i
		}
	}
	return -1
}

// number returns the camera's stream.
func (t *streams) number(name string) (int, error) {
	if i := t.find(name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("camera %q: %w", name, ErrStream)
}

func (t *streams) at(i int) (*stream, error) {
	if i < 0 || i >= len(t.all) {
		return nil, fmt.Errorf("stream %d of %d: %w", i, len(t.all), ErrStream)
	}
	if !t.all[i].here {
		return nil, fmt.Errorf("camera %q is not given here any more: %w", t.all[i].name, ErrStream)
	}
	return &t.all[i], nil
}

func (t *streams) names() []string {
	names := make([]string, len(t.all))
	for i := range t.all {
		names[i] = t.all[i].name
	}
	return names
}

// Frame is a picture where it lies. Pixels are read-only, may be overwritten while they
// are used, and are dead once a call has returned ErrDetached or ErrReattached.
type Frame struct {
	shm.FrameMeta
	Pixels []byte
}

// newest returns a camera's newest picture; false: there is none.
func (t *streams) newest(i int) (Frame, bool, error) {
	s, err := t.at(i)
	if err != nil {
		return Frame{}, false, err
	}
	if s.frames == nil {
		return Frame{}, false, fmt.Errorf("camera %q came without pictures: %w", s.name, ErrStream)
	}
	for range 3 { // one more picture may come between the look at head and at the slot
		head := s.frames.Head()
		if m, pixels, ok := s.frames.View(head); ok {
			return Frame{m, pixels}, true, nil
		}
		if head == 0 || s.frames.Err() != nil {
			break
		}
	}
	return Frame{}, false, s.frames.Err()
}

func (t *streams) valid(i int, seq uint64) bool {
	s, err := t.at(i)
	return err == nil && s.frames != nil && s.frames.Valid(seq)
}
