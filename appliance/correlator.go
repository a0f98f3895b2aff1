package appliance

import (
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/correlate"
)

// skewWindowNS is the moving window of every figure the appliance shows.
const skewWindowNS = int64(time.Minute)

// newCorrelator gives the correlator its settings and its models. out takes the closed groups.
func (p *path) newCorrelator(out func(*correlate.Group)) (*traced, error) {
	c := p.a.cfg
	cfg := correlate.DefaultConfig()
	cfg.QuantumNS, cfg.TimeoutNS, cfg.MaxAgeNS = int64(c.Correlation.Quantum), int64(c.Correlation.Timeout), int64(c.Correlation.MaxAge)
	cfg.MaxPending, cfg.EmitEmpty, cfg.SkewWindowNS = c.Correlation.MaxPending, c.Correlation.EmitEmpty, skewWindowNS
	cfg.Cameras = make(map[string]correlate.CameraConfig, len(c.Cameras))
	for i := range c.Cameras {
		cam := &c.Cameras[i]
		match := correlate.MatchBucket
		if c.ResolvedMatch(cam) == config.MatchFrameID {
			match = correlate.MatchFrameID
		}
		cfg.Cameras[c.Unit+"/"+cam.Name] = correlate.CameraConfig{Match: match, Expected: c.Expected(cam.Name)}
	}
	corr, err := correlate.New(cfg, out)
	if err != nil {
		return nil, err
	}
	for _, r := range p.replicas {
		if r.model, err = corr.Model(r.cfg.Name); err != nil {
			return nil, err
		}
	}
	return &traced{Correlator: corr, settings: settingsOf(&cfg)}, nil
}

// modelDown takes a dead detector out of the quorum of every camera.
func (p *path) modelDown(now clock.Mono, r *replica) {
	if err := p.corr.ModelDown(now, r.cfg.Name); err != nil {
		p.log.Error("take a dead model out of the quorum", "task", r.task, "err", err)
	}
}
