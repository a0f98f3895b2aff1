package correlate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/hist"
)

// Correlator groups messages. It is not safe for concurrent use: one thread drives it.
type Correlator struct {
	cfg       Config
	limits    Limits
	closedTTL int64
	out       func(*Group)

	cameras   []*camera // [0] is unused
	cameraIDs map[cameraName]uint32
	models    []*model // [0] is unused
	modelIDs  map[string]ModelID
	bitModels []*model // by bit

	// Sets of models, by bit.
	expected    uint64 // of cameras without their own
	expectedSet bool   // SetExpected has been called: cameras no longer have their own
	down        uint64 // models known dead everywhere
	returned    bool   // a dead model came back since all groups were last judged

	started bool // last holds an instant
	last    clock.Mono

	// What is open and what was: groups and records stay where they are once allocated, and
	// are pooled; only the slices that list them grow.
	index          index
	groups         []*group
	spare          *group // the pool, chained by next
	oldest, newest *group // open groups in order of first arrival
	pending        int
	seq            uint64
	closed         closedRecords
	order          order
	raw            *Texts
	rawText        []byte   // scratch: the shortened text of the message in hand
	ready          []*group // scratch: groups to close, while they are judged
	n              Counters
	skew           *hist.Window
	final          finality
	surveyor       surveyor
	seatsTaken     int  // of all cameras
	sleeping       bool // Slept is at work
	hand           hand
	closing        Closing // scratch for the watch
	apart          Apart
}

// New returns a Correlator that gives every published group to out. out must not call back into
// it. The error, if any, joins one *ConfigError for each setting that cannot work, or is ErrFull
// or ErrName for the names of models and cameras in it.
func New(cfg Config, out func(*Group)) (*Correlator, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	limits := cfg.Limits.withDefaults()
	c := &Correlator{
		cfg: cfg, limits: limits, closedTTL: cfg.closedTTLNS(), out: out,
		cameras: make([]*camera, 1), cameraIDs: make(map[cameraName]uint32),
		models: make([]*model, 1), modelIDs: make(map[string]ModelID),
		order: newOrder(), raw: NewTexts(limits.RawKeys),
		skew:  hist.NewWindow(cfg.SkewWindowNS, limits.SkewSamples),
		final: newFinality(&cfg, limits),
	}
	c.index = newIndex(min(limits.Closed+cfg.MaxPending, 1<<17))
	var err error
	if c.expected, err = c.expectedBits(cfg.Camera.Expected); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Cameras)) {
		if _, err := c.expectedBits(cfg.Cameras[name].Expected); err != nil {
			return nil, fmt.Errorf("camera %s: %w", name, err)
		}
	}
	return c, nil
}

// Tick closes what is due at now. Call it after the messages of a poll, and at NextDeadline.
func (c *Correlator) Tick(now clock.Mono) { c.advance(now) }

// NextDeadline returns when the next open group is due; ok is false if none is open.
func (c *Correlator) NextDeadline() (at clock.Mono, ok bool) {
	if c.oldest == nil {
		return 0, false
	}
	return clock.Mono(addSaturating(int64(c.oldest.FirstArrival), c.cfg.TimeoutNS)), true
}

// Pending returns how many groups are open.
func (c *Correlator) Pending() int { return c.pending }

// Slept closes every open group as stale: the machine slept, and what was on its way belongs
// to a time that is over.
func (c *Correlator) Slept(now clock.Mono) {
	now = c.advance(now)
	c.sleeping = true
	for c.oldest != nil {
		c.close(now, c.oldest, Stale)
	}
	c.sleeping = false
}

// advance moves the clock to now, which never runs back, and closes what is due. It returns
// the instant that counts.
func (c *Correlator) advance(now clock.Mono) clock.Mono {
	now, back := c.clamp(now)
	if back {
		c.n.NowRegressions++
	}
	c.sweep(now)
	return now
}

// clamp keeps the clock from running back, and within bounds so that ages never overflow.
func (c *Correlator) clamp(now clock.Mono) (clamped clock.Mono, back bool) {
	now = min(max(now, -maxSpanNS), maxSpanNS)
	if c.started && now < c.last {
		return c.last, true
	}
	c.started, c.last = true, now
	return now, false
}

// sweep forgets expired records and closes due groups in order of first arrival. The timeout
// is the same for all groups, so the first that is not due ends the search.
func (c *Correlator) sweep(now clock.Mono) {
	c.finish(now)
	c.expire(now)
	for g := c.oldest; g != nil; g = c.oldest {
		age := int64(now - g.FirstArrival)
		switch {
		case age < c.cfg.TimeoutNS:
			return
		case age >= c.cfg.MaxAgeNS:
			c.close(now, g, Stale)
		default:
			c.close(now, g, Timeout)
		}
	}
}

// addSaturating and subSaturating stay at the end of the range where an int64 cannot hold the
// result: instants come from strangers.
func addSaturating(a, b int64) int64 {
	s := a + b
	if (a^s)&(b^s) < 0 { // both operands have the other sign
		return saturated(a)
	}
	return s
}

func subSaturating(a, b int64) int64 {
	s := a - b
	if (a^b)&(a^s) < 0 {
		return saturated(a)
	}
	return s
}

func saturated(sign int64) int64 {
	if sign < 0 {
		return -1 << 63
	}
	return 1<<63 - 1
}
