package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skewgate/skewgate/shm"
)

// Observer sees every ring of an appliance, read-only: a tool of root or of the
// appliance's own user. It never attaches again: what it shows is of one appliance.
type Observer struct {
	session *session
	rings   []ObservedRing
	frames  []ObservedFrames
}

// ObservedRing is a detection ring, named MODEL/REPLICA, or the output ring.
type ObservedRing struct {
	Name   string
	Output bool
	memory []byte
}

// ObservedFrames is a camera's frame ring.
type ObservedFrames struct {
	Camera string
	memory []byte
}

// AttachObserver asks the appliance for all its rings. It waits at most two seconds.
func AttachObserver(o Options) (*Observer, error) {
	v := &Observer{}
	var err error
	if v.session, err = newSession(&o, hello{Role: "observer"}); err != nil {
		return nil, err
	}
	v.session.adopt, v.session.hear, v.session.forget = v.adopt, func(*said) {}, func() {}
	if err := v.session.attach(); err != nil {
		return nil, fmt.Errorf("attach as an observer: %w", err)
	}
	return v, nil
}

func (v *Observer) adopt(_ *said, mapped map[string]*shm.Segment) error {
	v.rings, v.frames = nil, nil
	for name, s := range mapped {
		if ring, ok := strings.CutPrefix(name, "ring/"); ok {
			v.rings = append(v.rings, ObservedRing{Name: ring, memory: s.Bytes()})
		} else if camera, ok := strings.CutPrefix(name, "frames/"); ok {
			v.frames = append(v.frames, ObservedFrames{Camera: camera, memory: s.Bytes()})
		} else if name == "output" {
			v.rings = append(v.rings, ObservedRing{Name: name, Output: true, memory: s.Bytes()})
		}
	}
	slices.SortFunc(v.rings, func(a, b ObservedRing) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(v.frames, func(a, b ObservedFrames) int { return strings.Compare(a.Camera, b.Camera) })
	return nil
}

// Rings are the detection rings and the output ring, by name.
func (v *Observer) Rings() []ObservedRing { return v.rings }

// Frames are the frame rings, by camera.
func (v *Observer) Frames() []ObservedFrames { return v.frames }

// Reader attaches to the ring at its head. Each has its own account.
func (r *ObservedRing) Reader() (*shm.Reader, error) { return shm.NewReader(r.memory) }

// Reader attaches to the frame ring.
func (f *ObservedFrames) Reader() (*shm.FrameReader, error) { return shm.NewFrameReader(f.memory) }

// Present says whether the appliance is still there; the error says why it is not, or
// that the ring was laid out anew and this observer sees memory that nobody writes.
func (v *Observer) Present(nowNS int64) error { return v.session.advance(nowNS) }

// Close detaches.
func (v *Observer) Close() error { return v.session.close() }
