package appliance

import (
	"context"
	"fmt"
	"os"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/sink"
)

// outlet is one sink and its name in status.
type outlet struct {
	name string
	carrier
}

// carrier is a sink as the appliance sees it. Offer belongs to the path and never waits.
type carrier interface {
	Offer(*sink.Frame)
	Run(context.Context)
	Stats() sink.Stats
}

// openSinks makes the config's sinks. It returns the output ring's read-only file, nil
// without one.
func (a *Appliance) openSinks() (output *os.File, err error) {
	for i := range a.cfg.Sinks {
		o := &outlet{}
		switch s := &a.cfg.Sinks[i]; {
		case s.JSONL != nil:
			o.name = "jsonl:" + s.JSONL.Path
			o.carrier, err = sink.New(sink.Options{Path: s.JSONL.Path, MaxSize: int64(s.JSONL.MaxSize), Keep: s.JSONL.Keep})
		case s.SHM != nil:
			o.name = "shm"
			o.carrier, output, err = a.openRing(s.SHM)
		default:
			err = fmt.Errorf("sinks[%d]: no kind is set; this version has jsonl and shm", i)
		}
		if err != nil {
			return nil, err
		}
		a.sinks = append(a.sinks, o)
	}
	return output, nil
}

func (a *Appliance) openRing(s *config.SHM) (*sink.Ring, *os.File, error) {
	segment, err := a.memory.outputRing(outputLayout(a.cfg, s))
	if err != nil {
		return nil, nil, err
	}
	var cameras, models []string
	for i := range a.cfg.Cameras {
		cameras = append(cameras, a.cfg.Cameras[i].Name)
	}
	for i := range a.cfg.Models {
		models = append(models, a.cfg.Models[i].Name)
	}
	ring, err := sink.NewRing(segment.Bytes(), uint32(os.Getpid()), a.cfg.Unit, cameras, models, clock.Now())
	if err != nil {
		return nil, nil, err
	}
	readOnly, err := a.memory.readOnly(segment)
	return ring, readOnly, err
}

// beat shows in the output ring that the path turns, also when no frame goes out.
func (a *Appliance) beat(now clock.Mono) {
	for _, s := range a.sinks {
		if r, ok := s.carrier.(*sink.Ring); ok {
			r.Heartbeat(now)
		}
	}
}
