package appliance

import (
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/correlate"
)

// skewWindowNS is the moving window of every figure the appliance shows.
const skewWindowNS = int64(time.Minute)

// matches are the modes that a camera can have once auto is resolved.
var matches = map[config.Match]correlate.Match{
	config.MatchFrameID: correlate.MatchFrameID, config.MatchBucket: correlate.MatchBucket, config.MatchWindow: correlate.MatchWindow,
}

// correlatorConfig is what the config says of matching, as the correlator takes it.
func correlatorConfig(c *config.Config) correlate.Config {
	cfg := correlate.DefaultConfig()
	cfg.QuantumNS, cfg.TimeoutNS, cfg.MaxAgeNS = int64(c.Correlation.Quantum), int64(c.Correlation.Timeout), int64(c.Correlation.MaxAge)
	cfg.MaxPending, cfg.EmitEmpty, cfg.SkewWindowNS = c.Correlation.MaxPending, c.Correlation.EmitEmpty, skewWindowNS
	cfg.Cameras = make(map[string]correlate.CameraConfig, len(c.Cameras))
	for i := range c.Cameras {
		cam := &c.Cameras[i]
		m := c.Matching(cam)
		cc := correlate.CameraConfig{Match: matches[m.Match], Expected: c.Expected(cam.Name), OffsetNS: make(map[string]int64)}
		if m.Match == config.MatchWindow {
			cc.WindowNS, cc.FrameIntervalNS = int64(m.Window), int64(m.Interval)
		}
		for _, model := range c.LookingAt(cam.Name) {
			if offset := c.Model(model).OffsetOn(cam.Name); offset != 0 {
				cc.OffsetNS[model] = int64(offset)
			}
		}
		cfg.Cameras[c.Unit+"/"+cam.Name] = cc
	}
	return cfg
}

// nameMatching tells, before anything is joined, what each camera's setting can do to its
// pictures: two of them are never mixed silently.
func (a *Appliance) nameMatching() {
	for i := range a.cfg.Cameras {
		cam := &a.cfg.Cameras[i]
		m := a.cfg.Matching(cam)
		a.o.Log.Info("camera is matched", "camera", cam.Name, "by", m.Setting(), "which", m.Verdict())
	}
}

// newCorrelator gives the correlator its settings and its models. out takes the closed groups.
func (p *path) newCorrelator(out func(*correlate.Group)) (*traced, error) {
	cfg := correlatorConfig(p.a.cfg)
	p.book = p.newBook(&cfg)
	cfg.Watch = p.book
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
	r.endings.add(now, r.endedBy(), false)
	if err := p.corr.ModelDown(now, r.cfg.Name); err != nil {
		p.log.Error("take a dead model out of the quorum", "task", r.task, "err", err)
	}
}
