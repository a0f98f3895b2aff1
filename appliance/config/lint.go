package config

import (
	"fmt"
	"time"
)

// lint says which of the two a bucket setting can do to a camera's frames: mix two
// pictures, or split one. With frame interval T and capture skew D, buckets of width q
// can mix unless q ≤ T − D, and split a picture with probability min(1, D/q). All
// models of this version read the same frame ring, so D is 0 here: nothing is split,
// and q ≤ T remains to be judged.
func (c *checker) lint() {
	if !c.clean() {
		return
	}
	q := c.cfg.Correlation.Quantum
	for i := range c.cfg.Cameras {
		cam := &c.cfg.Cameras[i]
		if c.cfg.ResolvedMatch(cam) != MatchBucket || q == 0 {
			continue // ids and exact instants can do neither
		}
		key := fmt.Sprintf("cameras[%d]", i)
		if cam.FPS <= 0 {
			c.warnAt(key, fmt.Sprintf("camera %q is matched by buckets of %s, and its frame interval is not known: two pictures are mixed if it is shorter", cam.Name, short(q)),
				"set fps, or take match: auto")
			continue
		}
		interval := time.Duration(float64(time.Second) / cam.FPS)
		if q > interval {
			c.warnAt(key, fmt.Sprintf("camera %q takes a picture every %s, and buckets of %s are wider: two pictures can be mixed into one frame", cam.Name, interval.Round(10*time.Microsecond), short(q)),
				fmt.Sprintf("take match: auto, or a quantum of at most %s", interval.Truncate(time.Millisecond)))
		}
	}
}
