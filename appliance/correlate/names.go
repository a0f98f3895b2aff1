package correlate

import (
	"errors"
	"fmt"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/hist"
)

// ModelID names a model in the table. Get one from Model; the zero value names nothing.
type ModelID uint16

// maxExpected bounds the models that are ever expected: each has a bit in a set.
const maxExpected = 64

var (
	// ErrFull is returned when a table has no room for another name.
	ErrFull = errors.New("table is full")
	// ErrName is returned for a name that is empty or longer than MaxNameBytes.
	ErrName = errors.New("name is empty or too long")
)

// MaxNameBytes bounds the name of a unit, a camera or a model.
const MaxNameBytes = 255

// model is what is known of one model name.
type model struct {
	id       ModelID
	name     string
	bit      uint64     // its bit in sets of expected models; 0 = never expected
	downAt   clock.Mono // since when it is known dead everywhere
	seen     bool
	expected bool // now or before, by any camera
	lag      *hist.Window

	received, accepted, fused, late, unparsed, unexpected, progressBroken uint64
	dupResend, dupCollision, wrongGeneration                              uint64
}

// camera is what is known of one (unit, camera).
type camera struct {
	unit, name string
	match      Match
	windowNS   int64
	offsets    []offset
	expected   uint64                 // models that make a quorum
	down       uint64                 // models known dead on this camera alone
	downAt     map[ModelID]clock.Mono // since when; nil = none ever was

	frameIntervalNS int64 // configured, 0 = not

	seats
	epochs
}

// offset is how far one model's capture clock is ahead on one camera.
type offset struct {
	model ModelID
	ns    int64
}

type cameraName struct{ unit, camera string }

func (cam *camera) offsetNS(m ModelID) int64 {
	for _, o := range cam.offsets {
		if o.model == m {
			return o.ns
		}
	}
	return 0
}

// matched moves a capture time by the model's offset; what an int64 cannot hold stays at its end.
func (cam *camera) matched(m ModelID, ns int64) int64 {
	if len(cam.offsets) == 0 {
		return ns
	}
	return Matched(ns, cam.offsetNS(m))
}

// Matched returns the capture time that a message is matched by: as received, less what its
// model's clock is ahead. What an int64 cannot hold stays at its end.
func Matched(captureNS, offsetNS int64) int64 { return subSaturating(captureNS, offsetNS) }

// Readable returns a matched capture time as it is told: an offset may have moved it to the very
// end, where it would stand for one that cannot be read.
func Readable(matchedNS int64) int64 { return max(matchedNS, detect.RawInstant+1) }

// Stream returns the id of a stream, entering its camera if it is new. It fails with ErrName
// or, at Limits.Cameras, with ErrFull. It is not meant for the hot path: ask once and keep it.
func (c *Correlator) Stream(unit, camera string, epoch uint32) (StreamID, error) {
	index, err := c.cameraIndex(unit, camera)
	if err != nil {
		return 0, err
	}
	return StreamID(uint64(index)<<32 | uint64(epoch)), nil
}

func (c *Correlator) cameraIndex(unit, name string) (uint32, error) {
	key := cameraName{unit, name}
	if index, ok := c.cameraIDs[key]; ok {
		return index, nil
	}
	for _, n := range []string{unit, name} {
		if n == "" || len(n) > MaxNameBytes {
			return 0, fmt.Errorf("enter camera %.40q of unit %.40q: %w: use 1 to %d bytes", name, unit, ErrName, MaxNameBytes)
		}
	}
	if len(c.cameras) > c.limits.Cameras {
		return 0, fmt.Errorf("enter camera %q of unit %q: %w: %d cameras are known", name, unit, ErrFull, c.limits.Cameras)
	}
	// [0] is unused, so the table is full when it has one entry more than its limit.
	settings, ok := c.cfg.Cameras[unit+"/"+name]
	if !ok {
		settings = c.cfg.Camera
	}
	cam := &camera{unit: unit, name: name, match: settings.Match, windowNS: settings.WindowNS, frameIntervalNS: settings.FrameIntervalNS,
		epochs: epochs{all: make(map[uint32]*epoch)}}
	cam.setMixing()
	cam.expected = c.expected
	if ok && !c.expectedSet {
		bits, err := c.expectedBits(settings.Expected)
		if err != nil {
			return 0, err
		}
		cam.expected = bits
	}
	for name, ns := range settings.OffsetNS {
		id, err := c.Model(name)
		if err != nil {
			return 0, fmt.Errorf("enter camera %q of unit %q: %w", cam.name, unit, err)
		}
		cam.offsets = append(cam.offsets, offset{id, ns})
	}
	index := uint32(len(c.cameras))
	c.cameras = append(c.cameras, cam)
	c.cameraIDs[key] = index
	return index, nil
}

// cameraOf returns the camera of a stream, nil for an id that Stream did not give.
func (c *Correlator) cameraOf(s StreamID) *camera {
	if i := s.Camera(); i > 0 && int(i) < len(c.cameras) {
		return c.cameras[i]
	}
	return nil
}

// StreamName returns what Stream was asked for.
func (c *Correlator) StreamName(s StreamID) (unit, camera string, epoch uint32) {
	if cam := c.cameraOf(s); cam != nil {
		return cam.unit, cam.name, s.Epoch()
	}
	return "", "", 0
}

// Model returns the id of a model name, entering it if it is new, expected or not. It fails
// with ErrName or, at Limits.Models, with ErrFull.
func (c *Correlator) Model(name string) (ModelID, error) {
	if id, ok := c.modelIDs[name]; ok {
		return id, nil
	}
	if name == "" || len(name) > MaxNameBytes {
		return 0, fmt.Errorf("enter model %.40q: %w: use 1 to %d bytes", name, ErrName, MaxNameBytes)
	}
	// Unexpected names leave room for those that may be expected one day.
	if len(c.models) > c.limits.Models {
		return 0, fmt.Errorf("enter model %.40q: %w: %d model names are known", name, ErrFull, c.limits.Models)
	}
	return c.enterModel(name), nil
}

func (c *Correlator) enterModel(name string) ModelID {
	id := ModelID(len(c.models))
	c.models = append(c.models, &model{id: id, name: name, lag: hist.NewWindow(c.cfg.SkewWindowNS, c.limits.SkewSamples)})
	c.modelIDs[name] = id
	return id
}

// modelOf returns a model, nil for an id that Model did not give.
func (c *Correlator) modelOf(id ModelID) *model {
	if id > 0 && int(id) < len(c.models) {
		return c.models[id]
	}
	return nil
}

// ModelName returns the name of a model, "" for an id that Model did not give.
func (c *Correlator) ModelName(id ModelID) string {
	if m := c.modelOf(id); m != nil {
		return m.name
	}
	return ""
}

// expectedModel returns a model with a bit for sets. Names that are expected find room in the
// table even when unexpected ones have filled it.
func (c *Correlator) expectedModel(name string) (*model, error) {
	if err := c.roomForExpected([]string{name}); err != nil {
		return nil, err
	}
	id, ok := c.modelIDs[name]
	if !ok {
		id = c.enterModel(name)
	}
	m := c.models[id]
	if m.bit == 0 {
		m.bit = 1 << len(c.bitModels)
		c.bitModels = append(c.bitModels, m)
		for g := c.oldest; g != nil; g = g.next { // where it came unexpected it counts from now on
			if g.member(m.id) >= 0 {
				g.in |= m.bit
			}
		}
	}
	return m, nil
}

// roomForExpected checks that all names are good and can have a bit each.
func (c *Correlator) roomForExpected(names []string) error {
	fresh := make(map[string]bool)
	for _, name := range names {
		if name == "" || len(name) > MaxNameBytes {
			return fmt.Errorf("expect model %.40q: %w: use 1 to %d bytes", name, ErrName, MaxNameBytes)
		}
		if id, ok := c.modelIDs[name]; !ok || c.models[id].bit == 0 {
			fresh[name] = true
		}
	}
	if len(c.bitModels)+len(fresh) > maxExpected {
		return fmt.Errorf("expect models: %w: at most %d names can ever be expected, %d have been and %d are new: use fewer names or start afresh",
			ErrFull, maxExpected, len(c.bitModels), len(fresh))
	}
	return nil
}

// expectedBits returns the set of names; a name given twice counts once.
func (c *Correlator) expectedBits(names []string) (uint64, error) {
	if err := c.roomForExpected(names); err != nil {
		return 0, err
	}
	set := uint64(0)
	for _, name := range names {
		m, err := c.expectedModel(name)
		if err != nil {
			return 0, err
		}
		m.expected = true
		set |= m.bit
	}
	return set, nil
}
