package sim

import (
	"fmt"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
)

// timeline is one stream_epoch of one camera.
type timeline struct {
	line
	match    correlate.Match
	windowNS int64
	keyed    map[key]*group
	anchored []*group // matched by window
	promised map[string]*promise
}

type promise struct {
	ns     int64
	broken bool
}

type key struct {
	tag   correlate.Tag
	value int64
	text  string
}

type member struct {
	model    string
	tag      uint64
	arrival  clock.Mono
	ns       int64 // matched
	sentNS   int64
	readable bool
	empty    bool
}

type group struct {
	line        *timeline
	key         key
	first, last clock.Mono
	closedAt    clock.Mono
	generation  uint64
	members     []member
	timed       bool
	minNS       int64
	maxNS       int64
	reason      correlate.Reason
	missing     []string // model and why, sorted
	perhaps     []string // models of which each may be told to be in another bucket
	turnedAway  []string // of another generation
	isClosed    bool
	alone       bool // while it was open there was a time when nobody was waited for
	mourned     bool // or when a model was dead that had not answered
}

// nearest is the rule of the window: the very same message once more; else the nearest anchor
// among those that lack the model and fit, an open one before a closed one, then the earlier.
func (l *timeline) nearest(me member) (best *group, crowd int) {
	distance := func(g *group) int64 { return max(g.key.value-me.ns, me.ns-g.key.value) }
	for _, g := range l.anchored {
		if distance(g) <= l.windowNS {
			crowd++
		}
	}
	for _, g := range l.anchored {
		if have := g.of(me.model); have != nil && have.ns == me.ns {
			return g, crowd
		}
	}
	for _, g := range l.anchored {
		if g.of(me.model) != nil || max(g.maxNS, me.ns)-min(g.minNS, me.ns) > l.windowNS {
			continue
		}
		if best == nil {
			best = g
			continue
		}
		switch a, b := distance(g), distance(best); {
		case a != b:
			if a < b {
				best = g
			}
		case g.isClosed != best.isClosed:
			if !g.isClosed {
				best = g
			}
		case g.key.value < best.key.value:
			best = g
		}
	}
	return best, crowd
}

// passedBy reports whether a promise up to ns covers all that could still join the group.
func (g *group) passedBy(ns, quantumNS int64) bool {
	switch g.key.tag {
	case correlate.TagRaw:
		return false
	case correlate.TagBucket:
		return ns >= (g.key.value+1)*quantumNS-1
	case correlate.TagWindow:
		return ns >= g.key.value+g.line.windowNS
	}
	return g.timed && ns >= g.maxNS
}

func (g *group) of(model string) *member {
	for i := range g.members {
		if g.members[i].model == model {
			return &g.members[i]
		}
	}
	return nil
}

func (g *group) foreign(generation uint64) bool {
	return generation != 0 && g.generation != 0 && generation != g.generation
}

func (g *group) take(m member) {
	g.members = append(g.members, m)
	if !m.readable {
		return
	}
	if !g.timed {
		g.timed, g.minNS, g.maxNS = true, m.ns, m.ns
	}
	g.minNS, g.maxNS = min(g.minNS, m.ns), max(g.maxNS, m.ns)
}

func (g *group) String() string {
	text := fmt.Sprintf("camera %d epoch %d, %s, first %d, last %d, closed %d, generation %d:",
		g.line.camera, g.line.epoch, g.reason, g.first, g.last, g.closedAt, g.generation)
	for _, m := range g.members {
		text += fmt.Sprintf(" %s #%d", m.model, m.tag)
	}
	for _, m := range g.missing {
		text += fmt.Sprintf(" (%s)", m)
	}
	return text
}
