package appliance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/trace"
)

// recordedSeeds: one in so many seeds is recorded and replayed.
const recordedSeeds = 4

// tape is the recording of a simulated run, beside what came out of it.
type tape struct {
	rec    *trace.Recorder
	lines  []byte
	frames []string
	dead   []string // models, before the first event: no foreign one has attached yet
}

func (s *simulated) record(t *testing.T) {
	t.Helper()
	rec, err := s.path.newRecorder(false, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.path.corr.attach(rec)
	s.tape = &tape{rec: rec}
	s.path.corr.Dead(func(_, _, model string) { s.tape.dead = append(s.tape.dead, model) })
}

func (r *tape) drain() {
	if r != nil {
		r.lines = r.rec.Drain(r.lines)
	}
}

func (r *tape) saw(f *Fused) {
	if r == nil {
		return
	}
	fr := f.Frame
	line := fmt.Sprintf("%s epoch %d, %s, %d … %d, closed %d:", fr.Camera, fr.StreamEpoch, fr.Reason, fr.FirstArrival, fr.LastArrival, fr.Closed)
	for _, m := range f.Members {
		line += " " + m.Model
	}
	r.frames = append(r.frames, line)
}

// replay gives a run's recording to another correlator, which must come to the same frames and
// the same counters.
func (s *simulated) replay(t *testing.T) {
	t.Helper()
	if s.tape == nil || s.err != nil {
		return
	}
	s.path.corr.detach(s.tape.rec)
	for !s.tape.rec.Finished() {
		s.tape.drain()
	}
	if _, lost := s.tape.rec.Stats(); lost > 0 {
		s.fail(fmt.Errorf("%d events of the recording are lost", lost))
		return
	}
	var frames []string
	var c *correlate.Correlator
	c, err := correlate.New(correlatorConfig(s.cfg), func(g *correlate.Group) {
		line := fmt.Sprintf("%s epoch %d, %s, %d … %d, closed %d:", g.Camera, g.Epoch, g.Reason, g.FirstArrival, g.LastArrival, g.ClosedAt)
		for _, m := range g.Members {
			line += " " + c.ModelName(m.Model)
		}
		frames = append(frames, line)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, model := range s.tape.dead {
		if err := c.ModelDown(clock.Mono(s.plan.Start), model); err != nil {
			t.Fatal(err)
		}
	}
	feed(t, c, s.tape.lines)
	if diff := cmp.Diff(s.tape.frames, frames); diff != "" {
		s.fail(fmt.Errorf("the replay of its recording gives other frames (-appliance +replay):\n%s", shortened(diff)))
	}
	if diff := cmp.Diff(s.path.corr.Counters(), c.Counters()); diff != "" {
		s.fail(fmt.Errorf("the replay of its recording comes to other counters (-appliance +replay):\n%s", shortened(diff)))
	}
}

// shortened is the beginning of a text of many lines.
func shortened(text string) string {
	lines := strings.SplitAfterN(text, "\n", 20)
	return strings.Join(lines[:min(len(lines), 19)], "")
}
