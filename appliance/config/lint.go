package config

import (
	"fmt"
	"slices"
	"time"
)

// lint names every camera whose setting can mix two of its pictures or split one, with
// numbers and with what cannot. Models that look at the frame ring have no capture skew
// among themselves; that of models that decode the stream by themselves only a run shows, so
// what is certain without it is told. What Matching.Verdict says of a sound setting is no
// warning.
func (c *checker) lint() {
	if !c.clean() {
		return
	}
	windows := false
	for i := range c.cfg.Cameras {
		cam, key := &c.cfg.Cameras[i], fmt.Sprintf("cameras[%d]", i)
		m := c.cfg.Matching(cam)
		windows = windows || m.Match == MatchWindow
		c.lintForeign(key, cam)
		if m.Match == MatchBucket {
			c.lintBuckets(key, cam, &m)
		}
		if m.Match != MatchFrameID && m.Shift > 0 {
			c.lintShift(key, cam, &m)
		}
	}
	if key := "correlation.window"; c.has(key) && !windows {
		c.warnAt(key, "without meaning: no camera is matched by window", "delete the line, or write match: window")
	}
	for i := range c.cfg.Models {
		c.lintOffset(fmt.Sprintf("models[%d].offset", i), &c.cfg.Models[i])
	}
}

func (c *checker) lintBuckets(key string, cam *Camera, m *Matching) {
	q, own := m.Quantum, m.OwnCapture
	if len(own) == 0 && q == 0 {
		return // exact instants of one ring do neither, but for offsets
	}
	byID := "take match: auto"
	if len(own) > 0 {
		byID = fmt.Sprintf("let %s read the frame ring and say frame_ids: true", list(own))
	}
	splits := ""
	if len(own) > 0 {
		splits = "; " + m.splits()
	}
	above, known := m.MixAbove()
	switch {
	case q == 0:
		c.warnAt(key, fmt.Sprintf("camera %q is matched by exact instants, and %s reads its own: nothing joins unless they agree to the nanosecond", cam.Name, list(own)),
			"take a quantum above the spread of the capture times, or "+byID)
	case !known:
		c.warnAt(key, fmt.Sprintf("camera %q is matched by buckets of %s, and its frame interval is not known: two pictures are mixed if it is shorter%s", cam.Name, short(q), splits),
			"set fps, or "+byID)
	case above < 0:
		c.warnAt(key, fmt.Sprintf("camera %q takes a picture every %s, and buckets of %s are wider: two pictures can be mixed into one frame%s", cam.Name, rounded(m.Interval), short(q), splits),
			fmt.Sprintf("%s, or a quantum of at most %s", byID, short(floorTime(m.Interval))))
	case len(own) > 0 && len(c.cfg.LookingAt(cam.Name)) > 1:
		c.warnAt(key, fmt.Sprintf("camera %q takes a picture every %s and is matched by buckets of %s: above %s of capture skew two pictures can be mixed%s", cam.Name, rounded(m.Interval), short(q), rounded(above), splits),
			fmt.Sprintf("take match: window with a window above that skew and below %s, which does neither, or %s", short((m.Interval/2).Truncate(10*time.Microsecond)), byID))
	}
}

// lintShift names offsets that pull one picture apart.
func (c *checker) lintShift(key string, cam *Camera, m *Matching) {
	does := ""
	switch {
	case m.Match == MatchWindow && m.Shift > m.Window:
		does = fmt.Sprintf("more than the window of %s: no picture of theirs is joined", short(m.Window))
	case m.Match == MatchWindow:
		does = fmt.Sprintf("which takes that much of the window of %s", short(m.Window))
	case m.Quantum == 0:
		does = "and exact instants are matched: no picture of theirs is joined"
	default:
		does = fmt.Sprintf("which splits %.3g %% of the pictures", 100*m.SplitShare(m.Shift))
		if above, known := m.MixAbove(); known && above >= 0 && above < m.Shift {
			does += fmt.Sprintf(" and, above %s, can mix two", rounded(above))
		}
	}
	c.warnAt(key, fmt.Sprintf("%s and %s look at the same pictures of camera %q, and their offsets differ by %s, %s", m.Shifted[0], m.Shifted[1], cam.Name, short(m.Shift), does),
		"give models that look at the frame ring the same offset, mostly none")
}

// lintOffset names an offset that changes nothing, since frame ids are what is matched.
func (c *checker) lintOffset(key string, m *Model) {
	shifts := false
	for i := range c.cfg.Cameras {
		cam := &c.cfg.Cameras[i]
		if slices.Contains(m.Cameras, cam.Name) && m.OffsetOn(cam.Name) != 0 {
			if c.cfg.ResolvedMatch(cam) != MatchFrameID || !m.SharesFrameIDs() {
				return
			}
			shifts = true
		}
	}
	if shifts {
		c.warnAt(key, "without meaning: its messages are matched by frame_id, not by capture time", "delete the line")
	}
}

// floorTime rounds a time down to one that is easy to write.
func floorTime(d time.Duration) time.Duration {
	if d >= time.Millisecond {
		return d.Truncate(time.Millisecond)
	}
	return d.Truncate(time.Microsecond)
}
