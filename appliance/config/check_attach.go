package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// ownKeys refuses keys that mean something only for models of the other kind.
func (c *checker) ownKeys(key string, m *Model) {
	if c.failed(key + ".command") {
		return
	}
	keys, text, cure := []string{"allow", "frame_ids", "max_boxes"}, "this is for a model that attaches by itself", "delete the line, or write command: attach"
	if m.Foreign() {
		keys, text, cure = []string{"manifest", "replicas"}, "a model that attaches by itself brings its own network and process", "delete the line"
	}
	for _, k := range keys {
		if k = key + "." + k; c.has(k) {
			c.failAt(k, text, cure)
		}
	}
}

// has says whether a key stands in the file.
func (c *checker) has(key string) bool {
	_, ok := c.seen[key]
	return ok
}

// attach judges a model whose process attaches by itself.
func (c *checker) attach(key string, m *Model) {
	c.uids(key+".allow.uid", m.Allow.UID)
	c.withinInt(key+".max_boxes", m.MaxBoxes, 1, maxBoxes)
}

// lintForeign says what a camera's settings mean for models that attach by themselves.
func (c *checker) lintForeign(key string, cam *Camera) {
	var foreign []string
	for i := range c.cfg.Models {
		if m := &c.cfg.Models[i]; m.Foreign() && slices.Contains(m.Cameras, cam.Name) {
			foreign = append(foreign, m.Name)
		}
	}
	if cam.Pace == PaceFast && len(foreign) > 0 {
		c.warnAt(key+".pace", fmt.Sprintf("a fast film does not wait for %s: what attaches by itself takes pictures when it likes", list(foreign)),
			"take realtime if every picture is to be seen")
	}
	if own := c.cfg.WithoutFrameIDs(cam.Name); len(own) > 0 && c.cfg.ResolvedMatch(cam) == MatchFrameID {
		other := "take match: auto"
		if c.cfg.matchOf(cam) == MatchAuto { // which goes by those that are expected
			other = "take match: bucket or window"
		}
		c.warnAt(key+".match", fmt.Sprintf("camera %q is matched by frame_id, and %s sends none: nothing of it joins a frame", cam.Name, list(own)),
			fmt.Sprintf("%s, or let %s read the frame ring and say frame_ids: true", other, list(own)))
	}
}

// uids checks the numbers of users. Linux keeps the highest for "nobody in particular".
func (c *checker) uids(key string, uids []int) {
	if len(uids) > maxUIDs {
		c.failAt(key, fmt.Sprintf("%d users", len(uids)), fmt.Sprintf("at most %d", maxUIDs))
		return
	}
	for i, uid := range uids {
		k := fmt.Sprintf("%s[%d]", key, i)
		if !c.has(k) { // written as one number
			k = key
		}
		if (uid < 0 || uid >= math.MaxUint32) && !c.failed(k) {
			c.failAt(k, fmt.Sprintf("%s is no user's number", c.shownAt(k)), "write the uid that `id -u NAME` says")
		}
	}
}

// maxUIDs bounds an allow-list.
const maxUIDs = 64

// list writes names as one text.
func list(names []string) string { return strings.Join(names, ", ") }
