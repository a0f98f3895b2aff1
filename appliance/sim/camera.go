package sim

import "github.com/skewgate/skewgate/shm"

// side of a picture in pixels: as small as one can be, for nobody looks at it.
const (
	side       = 8
	pixelBytes = side * side * 3 / 2
)

// camera plays a source and the capture process that reads it.
type camera struct {
	w      *World
	index  int
	plan   *CameraPlan
	writer *shm.FrameWriter

	pass      int // rises with each start of the source, and with each end
	epoch     uint32
	id        uint64
	anchorNS  int64 // what its clock showed when the pass began
	beganNS   int64
	lastNS    int64 // last stamp
	readyNS   int64 // when its last picture came through
	newest    int   // picture last published, −1 = none in this pass
	endsNS    int64 // of all passes
	exposures int64
}

// start begins a pass: a new stream_epoch, frame ids from 1.
func (c *camera) start(zeroClock bool, backNS int64) {
	c.pass++
	c.epoch = c.writer.NextStreamEpoch()
	c.id, c.lastNS, c.newest = 0, -1<<62, -1
	c.beganNS = c.w.since()
	c.anchorNS = wallNS + c.beganNS - backNS
	if zeroClock {
		c.anchorNS = 0
	}
	c.w.told(c)
	c.next(c.pass)
}

// next plans the next exposure on the camera's own grid, which a restart does not move.
func (c *camera) next(pass int) {
	c.exposures++
	at := c.plan.PhaseNS + c.exposures*c.plan.IntervalNS
	for at <= c.w.since() {
		c.exposures++
		at += c.plan.IntervalNS
	}
	if at > c.endsNS {
		return
	}
	if c.plan.JitterNS > 0 {
		at += between(c.w.rng, 0, c.plan.JitterNS)
	}
	c.w.at(c.w.plan.Start+at, func() {
		if c.pass == pass {
			c.expose()
			c.next(pass)
		}
	})
}

// expose takes a picture. It comes through to the frame ring later, never before the last one.
func (c *camera) expose() {
	r := c.w.rng
	c.id++
	since := c.w.since()
	stamp := c.anchorNS + (since - c.beganNS) + (since-c.beganNS)/1_000_000*c.plan.DriftPPM
	if chance(r, c.plan.RepeatP) {
		stamp = c.lastNS
		c.w.Truth.befell("camera repeats a time")
	}
	stamp = max(stamp, c.lastNS+1) // as the capture does with a time that repeats
	c.lastNS = stamp
	c.w.Truth.Pictures = append(c.w.Truth.Pictures, Picture{Camera: c.index, Epoch: c.epoch, ID: c.id, AtNS: since, StampNS: stamp})
	picture, pass := len(c.w.Truth.Pictures)-1, c.pass
	delay := c.plan.DelayNS
	if chance(r, c.plan.BurstP) {
		delay += 5 * c.plan.IntervalNS
		c.w.Truth.befell("camera delivers in bursts")
	}
	c.readyNS = max(c.readyNS, c.w.now+delay)
	c.w.at(c.readyNS, func() {
		if c.pass == pass {
			c.publish(picture)
		}
	})
}

func (c *camera) publish(picture int) {
	p := &c.w.Truth.Pictures[picture]
	if _, err := c.writer.Begin(pixelBytes); err != nil {
		c.w.fail("%v", err)
	}
	_, err := c.writer.Publish(&shm.FrameMeta{
		CaptureNS: p.StampNS, PublishNS: c.w.now, FrameID: p.ID, Tag: uint64(picture + 1), StreamEpoch: p.Epoch,
		Width: side, Height: side, Format: shm.FormatI420,
	})
	if err != nil {
		c.w.fail("%v", err)
	}
	c.newest = picture
	c.w.wake()
	for _, p := range c.w.processes {
		p.see(c.index, picture)
	}
}
