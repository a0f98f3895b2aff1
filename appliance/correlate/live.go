package correlate

import (
	"fmt"
	"math"

	"github.com/skewgate/skewgate/appliance/clock"
)

// SetExpected changes the expected models of all cameras, those with their own set included,
// and judges the open groups again at once. On error nothing has changed.
func (c *Correlator) SetExpected(now clock.Mono, names []string) error {
	set, err := c.expectedBits(names)
	if err != nil {
		return err
	}
	now = c.advance(now)
	c.expected, c.expectedSet = set, true
	for _, cam := range c.cameras[1:] {
		cam.expected = set
	}
	c.judgeAll(now)
	return nil
}

// SetCameraExpected is SetExpected for the camera of one stream.
func (c *Correlator) SetCameraExpected(now clock.Mono, s StreamID, names []string) error {
	cam := c.cameraOf(s)
	if cam == nil {
		return fmt.Errorf("expect models of stream %d: no such stream", s)
	}
	set, err := c.expectedBits(names)
	if err != nil {
		return err
	}
	now = c.advance(now)
	cam.expected = set
	c.judgeAll(now)
	return nil
}

// ModelDown says that a model is dead everywhere: no group waits for it any more, until its
// next message or progress anywhere. Drain its rings first.
func (c *Correlator) ModelDown(now clock.Mono, name string) error {
	mod, err := c.expectedModel(name)
	if err != nil {
		return err
	}
	now = c.advance(now)
	if c.down&mod.bit == 0 {
		mod.downAt = now
	}
	c.down |= mod.bit
	c.judgeAll(now)
	return nil
}

// ModelDownAt says that a model is dead on the camera of one stream, until its next message or
// progress there.
func (c *Correlator) ModelDownAt(now clock.Mono, s StreamID, name string) error {
	cam := c.cameraOf(s)
	if cam == nil {
		return fmt.Errorf("model %.40q is down at stream %d: no such stream", name, s)
	}
	mod, err := c.expectedModel(name)
	if err != nil {
		return err
	}
	now = c.advance(now)
	if cam.down&mod.bit == 0 {
		if cam.downAt == nil {
			cam.downAt = make(map[ModelID]clock.Mono)
		}
		cam.downAt[mod.id] = now
	}
	cam.down |= mod.bit
	c.judgeAll(now)
	return nil
}

// Live reports whether a model is waited for on the camera of a stream: expected and not dead.
func (c *Correlator) Live(s StreamID, id ModelID) bool {
	cam, mod := c.cameraOf(s), c.modelOf(id)
	return cam != nil && mod != nil && c.live(cam)&mod.bit != 0
}

// heard lets a dead model live again. Groups that this makes complete are closed when progress
// or a change next has groups judged, for a message judges only the group it joins.
func (c *Correlator) heard(cam *camera, mod *model) {
	if (c.down|cam.down)&mod.bit != 0 {
		c.down &^= mod.bit
		cam.down &^= mod.bit
		c.returned = true
	}
}

// Progress says that no further message of a model with a capture time at or below wNS will
// come on a stream, and closes the groups that this settles. It does not count as a message.
// It reports false, and does nothing, for a stream or model that is not known, or, counted as
// refused, beyond Limits.GroupModels on one timeline.
func (c *Correlator) Progress(now clock.Mono, s StreamID, id ModelID, wNS int64) bool {
	cam, mod := c.cameraOf(s), c.modelOf(id)
	if cam == nil || mod == nil {
		return false
	}
	now = c.advance(now)
	ep := c.epochOf(cam, s.Epoch())
	if len(ep.progress) >= c.limits.GroupModels && ep.of(id) == nil {
		c.n.Refused++
		return false
	}
	c.heard(cam, mod)
	c.promise(now, cam, ep, mod, cam.matched(id, wNS), nil)
	return true
}

// promise raises a model's progress to w, a matched capture time, and closes what can be.
// touched is the group that a message has just joined, if any.
func (c *Correlator) promise(now clock.Mono, cam *camera, ep *epoch, mod *model, w int64, touched *group) {
	p := ep.of(mod.id)
	if p == nil && len(ep.progress) >= c.limits.GroupModels { // of a message: the group that it joined is judged all the same
		p = &progress{distrusted: true}
	}
	if p == nil {
		ep.progress = append(ep.progress, progress{model: mod.id})
		p = &ep.progress[len(ep.progress)-1]
	}
	from := int64(math.MinInt64)
	if p.said {
		from = addSaturating(p.wNS, 1)
	}
	if !p.said || w > p.wNS {
		p.said, p.wNS = true, w
	}
	if p.distrusted || cam.expected&mod.bit == 0 {
		from, w = 1, 0 // settles nothing
	}
	if c.returned {
		c.judgeAll(now)
	} else {
		c.judgePassed(now, ep, from, w, touched)
	}
}

// holdToPromise counts a message that breaks its model's promise and no longer trusts that
// model on this timeline.
func (c *Correlator) holdToPromise(ep *epoch, mod *model, t int64) {
	p := ep.of(mod.id)
	if p == nil || !p.said || t > p.wNS {
		return
	}
	c.n.ProgressBroken++
	mod.progressBroken++
	p.distrusted = true
}
