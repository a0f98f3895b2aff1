package config

import (
	"slices"
	"time"
)

// Config is one appliance's whole configuration, complete: defaults are applied,
// relative paths are resolved against the config file's folder, and every check has
// passed. Each key is explained in docs/config.example.yaml.
type Config struct {
	Unit        string      `yaml:"unit"`
	StateDir    string      `yaml:"state_dir"`
	Runtime     Runtime     `yaml:"runtime"`
	Path        Path        `yaml:"path"`
	Correlation Correlation `yaml:"correlation"`
	Cameras     []Camera    `yaml:"cameras"`
	Models      []Model     `yaml:"models"`
	Fusion      Fusion      `yaml:"fusion"`
	Sinks       []Sink      `yaml:"sinks"`
	HTTP        HTTP        `yaml:"http"`

	File string `yaml:"-"` // absolute path of the file this came from

	hide redactor // values of environment variables
}

// Runtime names the programs and libraries that detectors and captures need.
type Runtime struct {
	Library string `yaml:"library"` // libonnxruntime; "" = FindLibrary
	Threads int    `yaml:"threads"` // of ONNX Runtime, per detector process
	Detect  string `yaml:"detect"`  // skewgate-detect; "" = beside skewgate
	FFmpeg  string `yaml:"ffmpeg"`  // a path, or a name looked up in PATH
}

// Path says how the path's thread waits and is scheduled.
type Path struct {
	Wait  Wait  `yaml:"wait"`
	Sched Sched `yaml:"sched"`
}

// Correlation holds the bounds of grouping. Max age is greater than timeout.
type Correlation struct {
	Quantum    time.Duration `yaml:"quantum"` // 0 = exact instants
	Timeout    time.Duration `yaml:"timeout"`
	MaxAge     time.Duration `yaml:"max_age"`
	MaxPending int           `yaml:"max_pending"` // open groups
	Match      Match         `yaml:"match"`
	Window     time.Duration `yaml:"window"` // of match: window, where a camera has none of its own
	EmitEmpty  bool          `yaml:"emit_empty"`
	HungAfter  time.Duration `yaml:"hung_after"`
}

// Camera is one source of pictures.
type Camera struct {
	Name       string        `yaml:"name"`
	Source     Source        `yaml:"source"`
	FPS        float64       `yaml:"fps"` // pictures/s at most, 0 = all
	Pace       Pace          `yaml:"pace"`
	Loop       bool          `yaml:"loop"`
	Tag        Tag           `yaml:"tag"`
	MaxPicture Picture       `yaml:"max_picture"` // sizes the frame ring
	Match      Match         `yaml:"match"`       // "" = correlation.match
	Window     time.Duration `yaml:"window"`      // 0 = correlation.window
	Expected   []string      `yaml:"expected"`    // nil = every model that lists the camera
}

// Model is one detector: a network, the cameras it looks at and its vote. A builtin one
// has a manifest and processes of the appliance's; one that attaches is a process of
// somebody else's and has the keys from Allow on.
type Model struct {
	Name     string            `yaml:"name"`
	Command  Command           `yaml:"command"`
	Manifest string            `yaml:"manifest"`
	Replicas Replicas          `yaml:"replicas"`
	Cameras  []string          `yaml:"cameras"`
	Offset   Offsets           `yaml:"offset"` // subtracted from its capture times before they are matched
	Weight   float64           `yaml:"weight"`
	Classes  map[string]string `yaml:"classes"` // the model's class → the fused class
	Unmapped Unmapped          `yaml:"unmapped"`
	Allow    Allow             `yaml:"allow"`
	FrameIDs bool              `yaml:"frame_ids"` // its messages carry the frame ring's ids
	MaxBoxes int               `yaml:"max_boxes"` // of one message: sizes its ring

	Network Manifest `yaml:"-"` // what Manifest's file says, paths resolved
}

// Foreign says whether the model's process attaches by itself.
func (m *Model) Foreign() bool { return m.Command == CommandAttach }

// SharesFrameIDs says whether the model's messages carry the ids of the frame ring.
func (m *Model) SharesFrameIDs() bool { return !m.Foreign() || m.FrameIDs }

// OffsetOn is how far the model's capture clock is ahead on a camera.
func (m *Model) OffsetOn(camera string) time.Duration {
	if offset, ok := m.Offset[camera]; ok {
		return offset
	}
	return m.Offset[""]
}

// BoxLimit is the most boxes one message of the model may carry.
func (m *Model) BoxLimit() int {
	if m.Foreign() {
		return m.MaxBoxes
	}
	return m.Network.MaxBoxes
}

// Allow says who may attach, besides root and the appliance's own user.
type Allow struct {
	UID UIDs `yaml:"uid"`
}

// Replicas bounds the processes of a model. This version runs exactly one.
type Replicas struct {
	Min        int `yaml:"min"`
	Max        int `yaml:"max"`
	MaxOngoing int `yaml:"max_ongoing"`
}

// Fusion says how the boxes of several models become one answer.
type Fusion struct {
	Algorithm     Algorithm `yaml:"algorithm"`
	IoU           float64   `yaml:"iou"` // boxes join at an IoU above it
	Rule          Rule      `yaml:"rule"`
	Skip          float64   `yaml:"skip"`       // boxes scored below it are left out
	MinModels     int       `yaml:"min_models"` // a fused box needs this many models
	MinScore      float64   `yaml:"min_score"`  // fused boxes scored below it are left out
	ClassAgnostic bool      `yaml:"class_agnostic"`
}

// Sink is one output; exactly one of its kinds is set.
type Sink struct {
	JSONL *JSONL `yaml:"jsonl"`
	SHM   *SHM   `yaml:"shm"`
}

// SHM is the output ring: fused frames in shared memory, for any number of readers.
type SHM struct {
	Slots int   `yaml:"slots"` // frames and tables it holds, a power of two
	Allow Allow `yaml:"allow"` // who may read it, besides those who may attach as a model
}

// JSONL writes fused frames as JSON lines to a file, a FIFO or, as "-", standard output.
type JSONL struct {
	Path    string `yaml:"path"`
	MaxSize Bytes  `yaml:"max_size"` // of one file
	Keep    int    `yaml:"keep"`     // rotated files beside the current one
}

// HTTP is the read-only status API over TCP. The control socket has the same API.
type HTTP struct {
	Listen string `yaml:"listen"` // host:port, "" = off
}

// Redact returns text with every value that came out of an environment variable
// replaced by the variable's name. Print no path or address of a Config without it.
func (c *Config) Redact(text string) string { return c.hide.replacer().Replace(text) }

// Model returns the model of that name, nil if there is none.
func (c *Config) Model(name string) *Model {
	for i := range c.Models {
		if c.Models[i].Name == name {
			return &c.Models[i]
		}
	}
	return nil
}

// LookingAt returns the models that list a camera, in the order of the file.
func (c *Config) LookingAt(camera string) []string {
	var models []string
	for i := range c.Models {
		if slices.Contains(c.Models[i].Cameras, camera) {
			models = append(models, c.Models[i].Name)
		}
	}
	return models
}

// Expected returns the models that make a quorum on a camera: those that its expected names,
// or all that list it. The others join its frames and are not waited for.
func (c *Config) Expected(camera string) []string {
	for i := range c.Cameras {
		if cam := &c.Cameras[i]; cam.Name == camera && cam.Expected != nil {
			return cam.Expected
		}
	}
	return c.LookingAt(camera)
}

// ResolvedMatch returns how a camera's messages are keyed: MatchFrameID, MatchBucket or
// MatchWindow. auto is frame_id if every expected model of the camera carries the frame
// ring's ids; one that does not would never be joined by them.
func (c *Config) ResolvedMatch(cam *Camera) Match {
	match := c.matchOf(cam)
	if match != MatchAuto {
		return match
	}
	expected := c.Expected(cam.Name)
	for _, own := range c.WithoutFrameIDs(cam.Name) {
		if slices.Contains(expected, own) {
			return MatchBucket
		}
	}
	return MatchFrameID
}

// matchOf is what the file says of a camera, auto included.
func (c *Config) matchOf(cam *Camera) Match {
	if cam.Match != "" {
		return cam.Match
	}
	return c.Correlation.Match
}

// WithoutFrameIDs returns the models of a camera that decode its stream by themselves:
// their capture times of one picture may differ from the others'.
func (c *Config) WithoutFrameIDs(camera string) []string {
	var models []string
	for i := range c.Models {
		if m := &c.Models[i]; !m.SharesFrameIDs() && slices.Contains(m.Cameras, camera) {
			models = append(models, m.Name)
		}
	}
	return models
}

// Managed says whether any model runs as a process of the appliance's own.
func (c *Config) Managed() bool {
	return slices.ContainsFunc(c.Models, func(m Model) bool { return !m.Foreign() })
}

// Output returns the output ring's settings, nil without one.
func (c *Config) Output() *SHM {
	for _, s := range c.Sinks {
		if s.SHM != nil {
			return s.SHM
		}
	}
	return nil
}
