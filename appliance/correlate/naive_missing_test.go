package correlate

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// missing says who was expected in a group that has just been closed, and why he is not in it.
func (v *naive) missing(g *naiveGroup, reason string) string {
	var all []string
	for _, name := range v.expectedOf(g.camera) {
		if g.has(name) != nil {
			continue
		}
		why := "absent"
		switch {
		case v.downAll[name] || v.downAt[g.camera+"|"+name]:
			why = "dead"
		case v.lateInHand(g, name):
			why = "late"
		case slices.Contains(g.turnedAway, name):
			why = "wrong_generation"
		case v.elsewhere(g, name):
			why = "other_bucket"
		case reason == "settled":
			why = "passed"
		}
		all = append(all, fmt.Sprintf(" (%s %s)", name, why))
	}
	sort.Strings(all)
	return strings.Join(all, "")
}

func (v *naive) lateInHand(g *naiveGroup, model string) bool {
	m := v.hand
	if m == nil || m.model != model || m.camera != g.camera {
		return false
	}
	cc := v.settings(m.camera)
	o, isClosed := v.find(*m, cc, m.ns-cc.OffsetNS[model])
	return isClosed && o == g
}

// elsewhere: one of the model's last 64 messages is of the picture by its capture time, and is in
// another group, which lacks somebody who is expected and in this one.
func (v *naive) elsewhere(g *naiveGroup, model string) bool {
	n := v.figures.of(g.camera)
	i := slices.IndexFunc(n.seats, func(s *naiveSeat) bool { return s.model == model })
	if i < 0 || n.epoch != g.epoch {
		return false
	}
	cc := v.settings(g.camera)
	for _, said := range n.seats[i].said[max(0, len(n.seats[i].said)-64):] {
		near := false
		low, high, timed := g.span()
		switch d := max(low-said.ns, said.ns-high, 0); {
		case !timed:
		case d == 0:
			near = true
		case strings.HasPrefix(g.note, "id:"):
		case v.interval(g.camera) > 0:
			near = 2*d < v.interval(g.camera)
		case strings.HasPrefix(g.note, "q") && !strings.HasPrefix(g.note, "q0:"):
			near = d <= v.cfg.QuantumNS
		}
		if !near {
			continue
		}
		o, _ := v.find(naiveMessage{camera: g.camera, epoch: g.epoch, model: model, frame: said.frame, readable: true}, cc, said.ns)
		if o == nil || o == g {
			continue
		}
		mine := o.has(model)
		if mine == nil || !mine.readable || mine.ns != said.ns {
			continue
		}
		for _, m := range g.members {
			if slices.Contains(v.expectedOf(g.camera), m.model) && o.has(m.model) == nil {
				return true
			}
		}
	}
	return false
}

// interval is the measured or the configured one, whichever is less.
func (v *naive) interval(camera string) int64 {
	T := v.settings(camera).FrameIntervalNS
	if n := v.figures.of(camera); n.interval > 0 && (T == 0 || n.interval < T) {
		T = n.interval
	}
	return T
}

func (g *naiveGroup) span() (low, high int64, timed bool) {
	for _, m := range g.members {
		if !m.readable {
			continue
		}
		if !timed {
			low, high, timed = m.ns, m.ns, true
		}
		low, high = min(low, m.ns), max(high, m.ns)
	}
	return low, high, timed
}
