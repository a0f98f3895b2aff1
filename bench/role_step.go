package bench

import (
	"fmt"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
)

// stepParts: the quickest of so many parts counts. Neighbours only ever add to a cost.
const stepParts = 10

// stepRole times the correlator alone: every model of every camera answers every picture, in
// order, with 8 boxes. With Open, one more model is expected and never answers, and that many
// groups stay open until the oldest gives way. It gives processor time.
func stepRole(j *job) (*result, error) {
	t, err := newStepTraffic(int(j.Cameras), int(j.Open))
	if err != nil {
		return nil, err
	}
	// Until the closed records are at their bound, and every group has had its turn.
	for t.c.Counters().ClosedForgotten < 1000 || t.sent < 3*int(j.Open)*trafficModels {
		t.step()
	}
	r := &result{Messages: j.Messages / stepParts}
	for range stepParts {
		cpu := threadNS()
		for range r.Messages {
			t.step()
		}
		if cpu = threadNS() - cpu; r.CPUNS == 0 || cpu < r.CPUNS {
			r.CPUNS = cpu
		}
	}
	n := t.c.Counters()
	if asked := n.Pending == j.Open || j.Open == 0 && n.Pending <= j.Cameras; !asked || n.Accepted != n.Received {
		return nil, fmt.Errorf("%d of %d messages joined, %d groups are open, want %d", n.Accepted, n.Received, n.Pending, j.Open)
	}
	return r, nil
}

type stepTraffic struct {
	c       *correlate.Correlator
	streams []correlate.StreamID
	models  []correlate.ModelID
	m       correlate.Message
	now     clock.Mono
	sent    int
}

func newStepTraffic(cameras, open int) (*stepTraffic, error) {
	cfg := correlate.DefaultConfig()
	cfg.Camera.Match = correlate.MatchFrameID
	cfg.Limits = correlate.Limits{Cameras: cameras, Closed: closedBound}
	names := make([]string, trafficModels)
	for i := range names {
		names[i] = fmt.Sprintf("model-%d", i)
	}
	cfg.Camera.Expected = names
	cfg.MaxPending = max(cfg.MaxPending, cameras)
	if open > 0 {
		cfg.Camera.Expected = append(cfg.Camera.Expected, "silent")
		cfg.MaxPending, cfg.TimeoutNS, cfg.MaxAgeNS = open, int64(1)<<50, correlate.Never
	}
	c, err := correlate.New(cfg, func(*correlate.Group) {})
	if err != nil {
		return nil, err
	}
	t := &stepTraffic{c: c, m: correlate.Message{HasBoxes: true, Generation: 1, Boxes: make([]detect.Box, bodyBoxes)}}
	for _, name := range names {
		id, err := c.Model(name)
		if err != nil {
			return nil, err
		}
		t.models = append(t.models, id)
	}
	for i := range cameras {
		s, err := c.Stream("bench", fmt.Sprintf("camera-%d", i), 1)
		if err != nil {
			return nil, err
		}
		t.streams = append(t.streams, s)
	}
	return t, nil
}

func (t *stepTraffic) step() {
	camera, model := t.sent%len(t.streams), t.sent/len(t.streams)%trafficModels
	frame := int64(t.sent/len(t.streams)/trafficModels) + 1
	t.sent++
	t.now += trafficStepNS
	t.m.Stream, t.m.Model = t.streams[camera], t.models[model]
	t.m.FrameID, t.m.CaptureNS = uint64(frame), frame*33_333_333+int64(camera)
	t.c.Step(t.now, &t.m)
}
