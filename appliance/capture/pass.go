package capture

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/skewgate/skewgate/appliance/capture/barcode"
	"github.com/skewgate/skewgate/appliance/capture/nut"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/shm"
)

// pass is one start of the source: its decoder, its stream and where it stands.
type pass struct {
	c        *capture
	pipe     pipe
	nut      *nut.Reader
	stream   nut.Stream
	meta     shm.FrameMeta // of the picture in hand
	size     int           // bytes of every picture
	anchor   anchor
	timeline timeline
	schedule schedule
	rate     rateCap
}

// pass starts the source and publishes its pictures until its end, which is nil, or
// an error. It returns how long pictures came.
func (c *capture) pass() (delivered time.Duration, err error) {
	d, err := startDecoder(c.program, arguments(&c.job))
	if err != nil {
		return 0, err
	}
	c.counters.Passes++
	p := &pass{c: c, pipe: pipe{f: d.out, alive: c.alive}, rate: newRateCap(c.job.FPS)}
	p.nut = nut.NewReader(&p.pipe)
	err = p.play()
	if p.meta.FrameID > 0 {
		delivered = clock.Now().Sub(p.anchor.mono)
	}
	return delivered, p.verdict(d, err)
}

// verdict joins the stream's end and ffmpeg's. When both say something, ffmpeg knows
// why: a cut stream is what its death looks like from here.
func (p *pass) verdict(d *decoder, err error) error {
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	said := d.stop(ended, func() { _ = p.c.alive(clock.Now()) })
	switch {
	case ended && said != nil:
		return said
	case errors.Is(err, errSilent):
		if reason := d.tail.reason(); reason != "" {
			return fmt.Errorf("%w (ffmpeg: %s)", err, reason)
		}
		return err
	case !errors.Is(err, io.EOF):
		return err
	case p.meta.FrameID == 0:
		return errors.New("the source holds no picture")
	}
	// A film that is damaged or cut is played as far as it goes; this is what was wrong.
	p.c.complaint = d.tail.lastError()
	return nil
}

// play opens the stream and publishes picture after picture. It always ends with an
// error; io.EOF is the orderly one.
func (p *pass) play() error {
	p.pipe.expect(p.c.limits.first)
	if err := p.open(); err != nil {
		return err
	}
	for {
		f, err := p.nut.Next()
		if err != nil {
			return err
		}
		if err := p.picture(f); err != nil {
			return err
		}
		p.pipe.expect(p.c.limits.between)
	}
}

// open reads what the stream holds and checks that its pictures fit the ring.
func (p *pass) open() (err error) {
	if p.stream, err = p.nut.Stream(); err != nil {
		return err
	}
	width, height := uint32(p.stream.Width), uint32(p.stream.Height)
	size, known := shm.FrameBytes(shm.FormatI420, width, height)
	slot := p.c.frames.PixelBytes()
	if p.c.job.MaxPictureBytes > 0 {
		slot = min(slot, p.c.job.MaxPictureBytes)
	}
	switch {
	case p.stream.FourCC != "I420":
		return fmt.Errorf("ffmpeg gave %v, want I420", p.stream)
	case !known || size > slot:
		return fmt.Errorf("picture of %dx%d needs %d bytes, a slot of the frame ring holds %d: raise max_picture of camera %s to %dx%d",
			width, height, size, slot, p.c.job.Camera, width, height)
	}
	p.size = size
	p.meta = shm.FrameMeta{Width: width, Height: height, Format: shm.FormatI420, ClockSource: shm.ClockFile}
	if p.c.job.live() {
		p.meta.ClockSource = shm.ClockArrival
	}
	return nil
}

// picture takes one picture from its header to its publication.
func (p *pass) picture(f nut.Frame) error {
	now := clock.Now()
	if f.Size != p.size {
		return fmt.Errorf("a picture of %dx%d has %d bytes, want %d: the source changed its size; opening it anew",
			p.stream.Width, p.stream.Height, f.Size, p.size)
	}
	if p.meta.FrameID == 0 {
		if err := p.first(); err != nil {
			return err
		}
	}
	p.meta.FrameID++
	p.c.counters.Decoded++
	offset, err := p.offset(f, now)
	if err != nil {
		return err
	}
	p.meta.CaptureNS = p.anchor.wallNS + offset
	if !p.rate.admit(offset) {
		p.c.counters.DroppedFPS++
		return nil // the reader passes over its pixels
	}
	return p.publish(offset)
}

// first marks the beginning of a pass's first stream_epoch.
func (p *pass) first() error {
	p.c.sleeps.Look(p.c.limits.boot()) // a sleep before has no picture on either side
	p.anchor = newAnchor()
	p.schedule.start = p.anchor.mono
	p.meta.StreamEpoch = p.c.frames.NextStreamEpoch()
	p.c.frames.SetState(shm.StateReady)
	// A short film in a loop begins often; the parent need not hear of each time.
	if c := p.c; c.told != StateStreaming || clock.Now().Sub(c.toldAt) >= time.Second {
		return p.tell()
	}
	return nil
}

// wake gives a film that was played before the machine slept a new stream_epoch, from the picture
// in hand on: it goes on where it stood, anchored anew to the wall clock, which did not stand
// still. It is asked at the last moment, for it is while a picture waits for its time that a
// machine is likely to sleep. A live source is opened anew instead.
func (p *pass) wake(offset int64) error {
	c := p.c
	slept := c.sleeps.Look(c.limits.boot())
	if slept == 0 || c.job.live() {
		return nil
	}
	p.anchor.wallNS = time.Now().UnixNano() - offset
	p.meta.CaptureNS = p.anchor.wallNS + offset
	p.meta.StreamEpoch = c.frames.NextStreamEpoch()
	c.counters.Sleeps++
	fmt.Fprintf(c.log, "camera %s: the machine slept for %v: the film goes on as stream_epoch %d\n", c.job.Camera, slept.Round(time.Millisecond), p.meta.StreamEpoch)
	return p.tell()
}

// tell reports that pictures come, and of which stream_epoch.
func (p *pass) tell() error {
	return p.c.tell(StateStreaming, Report{
		Width: p.stream.Width, Height: p.stream.Height,
		StreamEpoch: p.meta.StreamEpoch, ClockSource: p.meta.ClockSource.String(),
	})
}

// offset is the picture's time since the pass's first.
func (p *pass) offset(f nut.Frame, now clock.Mono) (int64, error) {
	if p.c.job.live() {
		return p.timeline.live(p.anchor.mono, now), p.anchor.stepped(now)
	}
	ptsNS, ok := p.stream.Nanos(f.PTS)
	if !ok {
		return 0, fmt.Errorf("PTS %d at %d/%d s is out of range", f.PTS, p.stream.TickNum, p.stream.TickDen)
	}
	repeats, leaps := p.timeline.repeats, p.timeline.leaps
	offset := p.timeline.film(ptsNS)
	p.c.counters.Repeats += p.timeline.repeats - repeats
	p.c.counters.Leaps += p.timeline.leaps - leaps
	return offset, nil
}

// publish reads the picture into the ring's next slot and makes it visible when it is
// its time. In pace fast the slot is touched only when the appliance is done with the
// picture in it; in real time it is filled ahead, so that its instant is exact.
func (p *pass) publish(offset int64) error {
	c := p.c
	if c.job.Pace == PaceFast {
		if err := c.waitAllowed(c.frames.Head() + 1); err != nil {
			return err
		}
		p.pipe.expect(c.limits.between)
	}
	slot, err := c.frames.Begin(p.size)
	if err != nil {
		return err
	}
	if err := p.fill(slot, offset); err != nil {
		c.frames.Abort()
		return err
	}
	if err := p.wake(offset); err != nil {
		c.frames.Abort()
		return err
	}
	p.meta.PublishNS = int64(clock.Now())
	if _, err := c.frames.Publish(&p.meta); err != nil {
		return err
	}
	c.counters.Published++
	return nil
}

// fill reads the pixels into the slot and waits for the picture's time.
func (p *pass) fill(slot []byte, offset int64) error {
	if err := p.nut.ReadPayload(slot); err != nil {
		return err
	}
	if p.c.job.Tag == TagBarcode {
		p.meta.Tag = NoTag
		if code, ok := barcode.Read(slot, p.stream.Width, p.stream.Width, p.stream.Height); ok {
			p.meta.Tag = code
		}
	}
	if p.c.job.live() || p.c.job.Pace == PaceFast {
		return nil
	}
	due := p.schedule.due(clock.Now(), offset)
	p.c.counters.Slips += p.schedule.slips
	p.schedule.slips = 0
	return p.c.sleepUntil(due)
}
