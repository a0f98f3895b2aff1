package sim

import "github.com/skewgate/skewgate/appliance/correlate"

// Unit is the name of the appliance that is simulated.
const Unit = "box"

const (
	us  = int64(1000)
	ms  = 1000 * us
	sec = 1000 * ms
)

// Plan is a run as it is drawn from its seed: who is there and what befalls whom.
type Plan struct {
	Seed     uint64
	Start    int64 // the monotonic clock at the start
	LengthNS int64 // after it cameras stop, and the rest is waited for

	Config  correlate.Config
	Cameras []CameraPlan
	Models  []ModelPlan
	Poll    PollPlan

	// Shared: pictures come through a frame ring with ids, and their time is the capture's.
	// Otherwise each detector stamps what it sees by its own clock.
	Shared bool

	// Calm: nobody hangs, keeps silent, lies, or takes longer than a small part of the
	// timeout. Then no frame may ever wait for its timeout, whoever dies.
	Calm bool

	Reloads []Reload
	Sleeps  []int64 // the machine sleeps: instants of the monotonic clock, which stands still meanwhile

	Outages []Outage

	// From CutoverNS on each managed model's second replica, of the next generation, takes
	// the pictures; for OverlapNS both do. 0 = never.
	CutoverNS, OverlapNS int64
}

// CameraPlan is one camera.
type CameraPlan struct {
	Name       string
	IntervalNS int64
	PhaseNS    int64
	JitterNS   int64 // of the exposure
	DriftPPM   int64 // of its clock
	DelayNS    int64 // from exposure to the frame ring, at least
	BurstP     float64
	RepeatP    float64 // a picture that has the time of the one before
	Restarts   []Restart
}

// Restart is a source that goes away and comes back as a new stream_epoch.
type Restart struct {
	AtNS, OutNS int64
	ZeroClock   bool  // its clock starts at 0
	BackNS      int64 // or is that much behind
}

func (r *Restart) String() string {
	switch {
	case r.ZeroClock:
		return "camera restarts at 0"
	case r.BackNS > 0:
		return "camera restarts and jumps back"
	case r.BackNS < 0:
		return "camera restarts and jumps ahead"
	}
	return "camera restarts and goes on"
}

// Silence is what a detector says when it found nothing or skipped a picture.
type Silence uint8

const (
	Answers  Silence = iota // a message without boxes; progress where it skipped
	Promises                // progress, and the same after what it found
	Silent                  // nothing
)

// ModelPlan is one model and the process or processes that run it.
type ModelPlan struct {
	Name       string
	Says       string // the name that its ring carries
	Managed    bool
	MaxOngoing int
	LatencyNS  int64
	JitterNS   int64
	SpikeP     float64
	SpikeNS    int64
	FindP      float64
	Silence    Silence
	SilentToo  bool // does not even tell progress where it skipped
	StartNS    int64
	NoIDs      bool // looks at the frame ring and passes no frame id on

	DupP, CollideP, ResendP, GarbageP, SkipP, LieP float64
	GarbageTexts                                   int

	SkewNS, SkewJitterNS int64 // of its own stamps, after the true time
	Clock                ClockPlan
	Troubles             []Trouble
}

// Trouble is what happens to a process: it dies, or hangs, or is asked to go, and comes back
// or not.
type Trouble struct {
	AtNS   int64
	Hang   bool
	Stop   bool
	BackNS int64 // after AtNS; 0 = never
}

// Outage ends all detectors at once. They come back together.
type Outage struct {
	AtNS   int64
	BackNS int64 // after AtNS
}

// Reload changes the expected models of one camera, or of all.
type Reload struct {
	AtNS   int64
	Camera int // -1 = all
	Names  []string
}

// PollPlan is when the path takes a turn.
type PollPlan struct {
	WakeNS     int64 // after something was published, at most
	IntervalNS int64 // 0 = woken; else it looks that often
	Stalls     []Stall
}

// Stall is a time during which the path does not run.
type Stall struct{ FromNS, ToNS int64 }

// Awake returns the first instant from at on at which the path runs.
func (p *PollPlan) Awake(start, at int64) int64 {
	for held := true; held; {
		held = false
		for _, s := range p.Stalls {
			if at >= start+s.FromNS && at < start+s.ToNS {
				at, held = start+s.ToNS, true
			}
		}
	}
	return at
}

// byTime: what is matched by capture time is settled by the next picture, not by its own.
func (p *Plan) byTime() bool {
	m := p.Config.Camera.Match
	return m == correlate.MatchBucket || m == correlate.MatchWindow
}

// settings are those of one camera.
func (p *Plan) settings(camera int) *correlate.CameraConfig {
	if own, ok := p.Config.Cameras[Unit+"/"+p.Cameras[camera].Name]; ok {
		return &own
	}
	return &p.Config.Camera
}

// floorDiv rounds down also below zero.
func floorDiv(a, q int64) int64 {
	k := a / q
	if a%q < 0 {
		k--
	}
	return k
}
