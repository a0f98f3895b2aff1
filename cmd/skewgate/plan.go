package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/skewgate/skewgate/appliance"
	"github.com/skewgate/skewgate/appliance/config"
)

// plan is what a config would run, without secrets: on one screen, or as JSON.
type plan struct {
	Unit        string          `json:"unit"`
	StateDir    string          `json:"state_dir"`
	Cameras     []planCamera    `json:"cameras"`
	Models      []planModel     `json:"models"`
	Correlation planCorrelation `json:"correlation"`
	Fusion      planFusion      `json:"fusion"`
	Sinks       []planSink      `json:"sinks"`
	HTTP        *string         `json:"http"` // null = off

	Memory appliance.SharedMemory `json:"shared_memory"`
}

type planCamera struct {
	Name     string   `json:"name"`
	Source   string   `json:"source"`
	FPS      float64  `json:"fps"` // 0 = all the source gives
	Pace     string   `json:"pace"`
	Loop     bool     `json:"loop"`
	Match    string   `json:"match"` // what auto resolves to
	Expected []string `json:"expected"`
	// MixAboveMS is the capture skew between models above which buckets can mix two
	// pictures; null when they cannot, or when the frame interval is not known. Models
	// of one frame ring have no capture skew.
	MixAboveMS *float64 `json:"mix_above_skew_ms"`
	// OwnCapture are the models that decode the stream by themselves, and so have a
	// capture skew: under bucket a picture is split with probability skew/quantum.
	OwnCapture []string `json:"own_capture"`
}

type planModel struct {
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Network string   `json:"network,omitempty"` // builtin only
	Layout  string   `json:"layout,omitempty"`
	UIDs    []int    `json:"allow_uid,omitempty"` // attach only
	Cameras []string `json:"cameras"`
	Weight  float64  `json:"weight"`
}

type planCorrelation struct {
	QuantumMS float64 `json:"quantum_ms"`
	TimeoutMS float64 `json:"timeout_ms"`
	MaxAgeMS  float64 `json:"max_age_ms"`
}

type planFusion struct {
	Algorithm string  `json:"algorithm"`
	Rule      string  `json:"rule"`
	IoU       float64 `json:"iou"`
	MinModels int     `json:"min_models"`
}

type planSink struct {
	Kind    string `json:"kind"`
	Path    string `json:"path,omitempty"`
	MaxSize int64  `json:"max_size_bytes,omitempty"`
	Keep    int    `json:"keep"`
	Slots   int    `json:"slots,omitempty"` // shm only
}

// planOf draws the plan out of a config. Everything that may come from the environment
// goes through Redact.
func planOf(cfg *config.Config) *plan {
	const msNS = 1e6
	c, f := cfg.Correlation, cfg.Fusion
	p := &plan{
		Unit: cfg.Redact(cfg.Unit), StateDir: cfg.Redact(cfg.StateDir),
		Correlation: planCorrelation{float64(c.Quantum) / msNS, float64(c.Timeout) / msNS, float64(c.MaxAge) / msNS},
		Fusion:      planFusion{string(f.Algorithm), string(f.Rule), f.IoU, f.MinModels},
		Sinks:       []planSink{},
	}
	for i := range cfg.Cameras {
		cam := &cfg.Cameras[i]
		expected := cfg.Expected(cam.Name)
		if expected == nil {
			expected = []string{}
		}
		match := cfg.ResolvedMatch(cam)
		pc := planCamera{
			Name: cam.Name, Source: cfg.Redact(cam.Source.String()), FPS: cam.FPS, Pace: string(cam.Pace),
			Loop: cam.Loop, Match: string(match), Expected: expected, OwnCapture: cfg.WithoutFrameIDs(cam.Name),
		}
		if pc.OwnCapture == nil {
			pc.OwnCapture = []string{}
		}
		if match == config.MatchBucket && cam.FPS > 0 {
			mix := max(1000/cam.FPS-float64(c.Quantum)/msNS, 0)
			pc.MixAboveMS = &mix
		}
		p.Cameras = append(p.Cameras, pc)
	}
	for i := range cfg.Models {
		m := &cfg.Models[i]
		p.Models = append(p.Models, planModel{
			Name: m.Name, Command: string(m.Command), Network: cfg.Redact(m.Network.Model), Layout: string(m.Network.Layout),
			UIDs: m.Allow.UID, Cameras: m.Cameras, Weight: m.Weight,
		})
	}
	for _, s := range cfg.Sinks {
		if s.SHM != nil {
			p.Sinks = append(p.Sinks, planSink{Kind: "shm", Slots: s.SHM.Slots})
			continue
		}
		p.Sinks = append(p.Sinks, planSink{Kind: "jsonl", Path: cfg.Redact(s.JSONL.Path), MaxSize: int64(s.JSONL.MaxSize), Keep: s.JSONL.Keep})
	}
	p.Memory = appliance.MemoryOf(cfg)
	if cfg.HTTP.Listen != "" {
		listen := cfg.Redact(cfg.HTTP.Listen)
		p.HTTP = &listen
	}
	return p
}

// print gives the plan as a table, one row for each camera, model and sink.
func (p *plan) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(what, name, format string, args ...any) {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", what, name, fmt.Sprintf(format, args...))
	}
	row("unit", p.Unit, "state in %s", p.StateDir)
	for _, c := range p.Cameras {
		notes := []string{c.Source}
		if c.FPS > 0 {
			notes = append(notes, fmt.Sprintf("at most %g pictures/s", c.FPS))
		}
		if c.Pace == string(config.PaceFast) {
			notes = append(notes, "fast")
		}
		if c.Loop {
			notes = append(notes, "looped")
		}
		who := strings.Join(c.Expected, ", ")
		if who == "" {
			who = "nobody"
		}
		match := c.Match
		if match == string(config.MatchBucket) {
			match += fmt.Sprintf(" of %gms", p.Correlation.QuantumMS)
		}
		if c.MixAboveMS != nil {
			match += fmt.Sprintf(" (can mix two pictures above %.3gms of capture skew; one frame ring has none)", *c.MixAboveMS)
		}
		if len(c.OwnCapture) > 0 {
			match += fmt.Sprintf(" (%s has its own capture times: a skew of s ms splits s/%g of the pictures)", strings.Join(c.OwnCapture, ", "), p.Correlation.QuantumMS)
		}
		row("camera", c.Name, "%s; by %s; for %s", strings.Join(notes, ", "), match, who)
	}
	for _, m := range p.Models {
		if m.Command == string(config.CommandAttach) {
			who := "root and the appliance's own user"
			if len(m.UIDs) > 0 {
				who += ", uid " + strings.Trim(fmt.Sprint(m.UIDs), "[]")
			}
			row("model", m.Name, "attaches by itself (%s), weight %g, on %s", who, m.Weight, strings.Join(m.Cameras, ", "))
			continue
		}
		row("model", m.Name, "%s (%s), weight %g, on %s", m.Network, m.Layout, m.Weight, strings.Join(m.Cameras, ", "))
	}
	row("frames", "", "published after %gms at the latest, dropped when older than %gms", p.Correlation.TimeoutMS, p.Correlation.MaxAgeMS)
	row("fusion", p.Fusion.Algorithm, "%s, IoU above %g, %s or more", p.Fusion.Rule, p.Fusion.IoU, count(p.Fusion.MinModels, "model"))
	for _, s := range p.Sinks {
		if s.Slots > 0 {
			row("sink", s.Kind, "output ring of %d slots", s.Slots)
			continue
		}
		if s.Path == "-" {
			row("sink", s.Kind, "standard output")
			continue
		}
		row("sink", s.Kind, "%s, up to %s and %d before it", s.Path, config.Bytes(s.MaxSize), s.Keep)
	}
	listen := "off"
	if p.HTTP != nil {
		listen = *p.HTTP
	}
	row("http", "", "%s", listen)
	row("memory", "", "%s", p.Memory.String())
	return w.Flush()
}
