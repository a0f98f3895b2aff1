package appliance

import (
	"errors"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/shm"
)

// Intake is the path from the detection rings to closed groups, and nothing behind that: it
// starts no process and no thread, fuses nothing and feeds no sink. The bench measures it as
// the path runs it. All models of its config attach; its caller plays them, and has the time.
type Intake struct {
	a      *Appliance
	closed uint64
}

// NewIntake builds everything that New does. judged leaves all JSON bodies to fastjson.
func NewIntake(cfg *config.Config, o Options, judged bool) (*Intake, error) {
	a, err := New(cfg, o)
	if err != nil {
		return nil, err
	}
	in := &Intake{a: a}
	if err := in.build(judged); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

func (in *Intake) build(judged bool) error {
	p := in.a.path
	var err error
	if p.corr, err = p.newCorrelator(func(*correlate.Group) { in.closed++ }); err != nil {
		return err
	}
	for _, c := range p.cameras { // detectors may speak of stream_epoch 1
		w, err := shm.NewFrameWriter(c.ring.Bytes(), 1, nil)
		if err != nil {
			return err
		}
		w.NextStreamEpoch()
	}
	for _, r := range p.replicas {
		if r.foreign == nil {
			return errors.New("build an intake: model " + r.cfg.Name + " does not attach: give it command: attach")
		}
		r.foreign.open, r.foreign.reader.Judged = true, judged
	}
	return nil
}

// Ring is the memory of a model's ring, in the order of the config.
func (in *Intake) Ring(model int) []byte { return in.a.path.replicas[model].segment.Bytes() }

// Slots is how many messages a ring holds.
func (in *Intake) Slots() int { return ringSlots }

// Turn reads what the rings hold, as one turn of the path does, and returns how many messages
// that were.
func (in *Intake) Turn(now clock.Mono) int {
	n := in.a.path.messages(now)
	if n < maxMessagesPerTurn {
		in.a.path.corr.Tick(now)
	}
	return n
}

// Counters are the correlator's.
func (in *Intake) Counters() correlate.Counters { return in.a.path.corr.Counters() }

// Closed is how many groups were given out.
func (in *Intake) Closed() uint64 { return in.closed }

// Close gives everything back.
func (in *Intake) Close() error { return in.a.release() }
