package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Bounds of a window. Without any width it would join exact instants alone, which
// quantum: 0s is for.
const (
	minWindow = time.Microsecond
	maxWindow = time.Minute
)

// maxOffset holds clocks that show another zone's time.
const maxOffset = 24 * time.Hour

// window refuses a window that is not proved right: twice the window must be less than the
// time between two pictures, which fps has to say. How far capture times really spread, and
// how far apart pictures really are, only a run shows.
func (c *checker) window(key string, cam *Camera) {
	own, match := key+".window", c.cfg.matchOf(cam)
	if c.has(own) {
		c.withinTime(own, cam.Window, minWindow, maxWindow)
	}
	if c.failed(key+".match") || cam.Match == "" && c.failed("correlation.match") {
		return
	}
	if match != MatchWindow {
		if c.has(own) && !c.failed(own) {
			c.warnAt(own, fmt.Sprintf("without meaning: this camera's match is %s", match), "delete the line, or write match: window")
		}
		return
	}
	m := c.cfg.Matching(cam)
	at := own
	if !c.has(own) {
		at = "correlation.window"
	}
	if !c.has(at) {
		c.failAt(own, "missing, and this camera is matched by window", "write the largest spread of capture times in one picture, such as window: 10ms, here or under correlation")
	}
	if m.Interval == 0 && !c.failed(key+".fps") {
		c.failAt(key+".fps", "missing: without the time between two pictures no window can be shown to be right",
			"set fps to what the camera gives, or above, or take match: bucket")
	}
	// A window for several cameras is told wrong for each; one of its own, once.
	if m.Window < minWindow || m.Window > maxWindow || m.Interval == 0 || c.failed(key+".fps") || c.has(own) && c.failed(own) {
		return
	}
	if !WindowHolds(m.Window, m.Interval) {
		c.failAt(at, fmt.Sprintf("twice %s is not less than %s, the time between two pictures of camera %q: two pictures could be mixed into one frame", short(m.Window), rounded(m.Interval), cam.Name),
			fmt.Sprintf("take less than %s, or match by frame_id or bucket", short((m.Interval/2).Truncate(10*time.Microsecond))))
	}
}

// offsets checks bounds, and that a camera named by itself is one the model looks at.
func (c *checker) offsets(key string, m *Model) {
	for _, camera := range slices.Sorted(maps.Keys(m.Offset)) {
		k := key
		if camera != "" || c.has(key+".") {
			k += "." + camera
			if !slices.Contains(m.Cameras, camera) && !c.failed(k) {
				c.failAt(k, "the model does not look at a camera of this name", orNearest(camera, m.Cameras, "its cameras are "+list(m.Cameras)))
				continue
			}
		}
		c.withinTime(k, m.Offset[camera], -maxOffset, maxOffset)
	}
}

// expected checks each camera's own list of the models that are waited for.
func (c *checker) expected() {
	var names []string
	for i := range c.cfg.Models {
		names = append(names, c.cfg.Models[i].Name)
	}
	for i := range c.cfg.Cameras {
		cam, key := &c.cfg.Cameras[i], fmt.Sprintf("cameras[%d].expected", i)
		if c.has(key) && len(cam.Expected) == 0 && !c.failed(key) {
			c.failAt(key, "nobody is expected: every frame would wait for its timeout", "name the models to wait for, or delete the line for all that look at the camera")
		}
		for j, name := range cam.Expected {
			c.expectedModel(fmt.Sprintf("%s[%d]", key, j), cam, j, name, names)
		}
	}
}

func (c *checker) expectedModel(key string, cam *Camera, j int, name string, names []string) {
	switch {
	case c.failed(key):
	case !slices.Contains(names, name):
		c.failAt(key, fmt.Sprintf("there is no model %s", c.shownAt(key)), orNearest(name, names, "models are "+strings.Join(names, ", ")))
	case !slices.Contains(c.cfg.LookingAt(cam.Name), name):
		c.failAt(key, fmt.Sprintf("the model %s does not look at this camera: every frame would wait for it until its timeout", c.shownAt(key)),
			"list the camera under the model's cameras, or delete the entry")
	case slices.Index(cam.Expected, name) < j:
		c.failAt(key, fmt.Sprintf("the model %s is named twice", c.shownAt(key)), "keep one")
	}
}
