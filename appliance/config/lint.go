package config

import (
	"fmt"
	"time"
)

// lint says which of the two a bucket setting can do to a camera's frames: mix two
// pictures, or split one. With frame interval T and capture skew D, buckets of width q
// can mix unless q ≤ T − D, and split a picture with probability min(1, D/q). Models that
// read the frame ring have D = 0 among themselves; those that decode the stream by
// themselves have a D that only a run shows, so what is certain without it is told.
func (c *checker) lint() {
	if !c.clean() {
		return
	}
	q := c.cfg.Correlation.Quantum
	for i := range c.cfg.Cameras {
		cam, key := &c.cfg.Cameras[i], fmt.Sprintf("cameras[%d]", i)
		c.lintForeign(key, cam)
		if c.cfg.ResolvedMatch(cam) != MatchBucket || q == 0 && len(c.cfg.WithoutFrameIDs(cam.Name)) == 0 {
			continue // ids and exact instants of one ring can do neither
		}
		c.lintBuckets(key, cam, q)
	}
}

func (c *checker) lintBuckets(key string, cam *Camera, q time.Duration) {
	own := c.cfg.WithoutFrameIDs(cam.Name)
	byID := "take match: auto"
	if len(own) > 0 {
		byID = fmt.Sprintf("let %s read the frame ring and say frame_ids: true", list(own))
	}
	if q == 0 {
		c.warnAt(key, fmt.Sprintf("camera %q is matched by exact instants, and %s reads its own: nothing joins unless they agree to the nanosecond", cam.Name, list(own)),
			"take a quantum above the spread of the capture times, or "+byID)
		return
	}
	if cam.FPS <= 0 {
		c.warnAt(key, fmt.Sprintf("camera %q is matched by buckets of %s, and its frame interval is not known: two pictures are mixed if it is shorter", cam.Name, short(q)),
			"set fps, or "+byID)
		return
	}
	interval := time.Duration(float64(time.Second) / cam.FPS)
	if q > interval {
		c.warnAt(key, fmt.Sprintf("camera %q takes a picture every %s, and buckets of %s are wider: two pictures can be mixed into one frame", cam.Name, interval.Round(10*time.Microsecond), short(q)),
			fmt.Sprintf("%s, or a quantum of at most %s", byID, interval.Truncate(time.Millisecond)))
	}
}
