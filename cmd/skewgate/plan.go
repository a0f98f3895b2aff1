package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

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

	appliance.Memory
}

type planCamera struct {
	Name     string   `json:"name"`
	Source   string   `json:"source"`
	FPS      float64  `json:"fps"` // 0 = all the source gives
	Pace     string   `json:"pace"`
	Loop     bool     `json:"loop"`
	Match    string   `json:"match"` // what auto resolves to
	Setting  string   `json:"setting"`
	Verdict  string   `json:"verdict"` // what it can do to pictures
	Expected []string `json:"expected"`

	QuantumMS  *float64 `json:"quantum_ms"`  // null but under bucket
	WindowMS   *float64 `json:"window_ms"`   // null but under window
	IntervalMS *float64 `json:"interval_ms"` // between two pictures, by fps; null = not known
	// MixAboveMS and SplitAboveMS are the capture skew between models above which two
	// pictures can be mixed and one can be split; null where that cannot be, or, of mixing,
	// where the interval is not known. Models of one frame ring have no capture skew.
	MixAboveMS   *float64 `json:"mix_above_skew_ms"`
	SplitAboveMS *float64 `json:"split_above_skew_ms"`
	// OwnCapture are the models that decode the stream by themselves, and so have a
	// capture skew: under bucket a picture is split with probability skew/quantum.
	OwnCapture []string           `json:"own_capture"`
	OffsetMS   map[string]float64 `json:"offset_ms"` // by model, those that are not 0
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
		p.Cameras = append(p.Cameras, planCameraOf(cfg, &cfg.Cameras[i]))
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

func planCameraOf(cfg *config.Config, cam *config.Camera) planCamera {
	m := cfg.Matching(cam)
	pc := planCamera{
		Name: cam.Name, Source: cfg.Redact(cam.Source.String()), FPS: cam.FPS, Pace: string(cam.Pace), Loop: cam.Loop,
		Match: string(m.Match), Setting: m.Setting(), Verdict: m.Verdict(),
		Expected: append([]string{}, cfg.Expected(cam.Name)...), OwnCapture: append([]string{}, m.OwnCapture...), OffsetMS: map[string]float64{},
	}
	millis := func(d time.Duration, known bool) *float64 {
		if !known {
			return nil
		}
		ms := float64(d) / float64(time.Millisecond)
		return &ms
	}
	pc.QuantumMS = millis(m.Quantum, m.Match == config.MatchBucket)
	pc.WindowMS = millis(m.Window, m.Match == config.MatchWindow)
	pc.IntervalMS = millis(m.Interval, m.Interval > 0)
	mix, mixes := m.MixAbove()
	pc.MixAboveMS = millis(max(mix, 0), mixes)
	pc.SplitAboveMS = millis(m.SplitAbove())
	for _, name := range cfg.LookingAt(cam.Name) {
		if offset := cfg.Model(name).OffsetOn(cam.Name); offset != 0 {
			pc.OffsetMS[name] = *millis(offset, true)
		}
	}
	return pc
}

// notes are what a camera's row says before the names of its models.
func (c *planCamera) notes() string {
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
	return strings.Join(notes, ", ")
}

// print gives the plan as a table, one row for each camera, model and sink.
func (p *plan) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(what, name, format string, args ...any) {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", what, name, fmt.Sprintf(format, args...))
	}
	row("unit", p.Unit, "state in %s", p.StateDir)
	for _, c := range p.Cameras {
		who := strings.Join(c.Expected, ", ")
		if who == "" {
			who = "nobody"
		}
		row("camera", c.Name, "%s; waits for %s", c.notes(), who)
		by := c.Setting
		for _, name := range slices.Sorted(maps.Keys(c.OffsetMS)) {
			by += fmt.Sprintf(", less %gms of %s", c.OffsetMS[name], name)
		}
		row("", "", "by %s: %s", by, c.Verdict)
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
