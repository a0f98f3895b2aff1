package config

import "time"

// What an absent key means, in one place. docs/config.example.yaml states the same
// values, and a test compares them.

func (c *Config) setDefaults() {
	c.Runtime.setDefaults()
	c.Path.setDefaults()
	c.Correlation.setDefaults()
	c.Fusion.setDefaults()
}

func (r *Runtime) setDefaults() {
	*r = Runtime{Threads: 1, FFmpeg: "ffmpeg"}
}

func (p *Path) setDefaults() {
	*p = Path{Wait: WaitAdaptive, Sched: SchedOther}
}

func (c *Correlation) setDefaults() {
	*c = Correlation{
		Quantum: 25 * time.Millisecond, Timeout: 300 * time.Millisecond, MaxAge: 2 * time.Second,
		MaxPending: 4096, Match: MatchAuto, HungAfter: 5 * time.Second,
	}
}

func (c *Camera) setDefaults() {
	*c = Camera{Pace: PaceRealtime, Tag: TagNone, MaxPicture: Picture{1920, 1080}}
}

func (m *Model) setDefaults() {
	*m = Model{Command: CommandBuiltin, Weight: 1, Unmapped: UnmappedPass, MaxBoxes: 300}
	m.Replicas.setDefaults()
}

func (r *Replicas) setDefaults() {
	*r = Replicas{Min: 1, Max: 1, MaxOngoing: 1}
}

func (f *Fusion) setDefaults() {
	*f = Fusion{Algorithm: AlgorithmWBF, IoU: 0.55, Rule: RuleAvgPresent, MinModels: 1}
}

func (j *JSONL) setDefaults() {
	*j = JSONL{MaxSize: 100_000_000, Keep: 5}
}

func (s *SHM) setDefaults() {
	*s = SHM{Slots: 1024}
}

func (m *Manifest) setDefaults() {
	*m = Manifest{Threshold: 0.25, NMSIoU: 0.5, MaxBoxes: 300}
}
