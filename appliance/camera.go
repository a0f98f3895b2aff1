package appliance

import (
	"encoding/json"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/shm"
)

// maxPicturesPerTurn bounds what one camera may cost one turn of the path.
const maxPicturesPerTurn = frameSlots

// camera is one source as the path's thread sees it.
type camera struct {
	index       int
	cfg         *config.Camera
	task        string
	ring        *shm.Segment
	frames      *shm.FrameReader
	paceSegment *shm.Segment
	pace        *shm.DispatchWriter

	seen       uint64 // sequence of the last picture looked at
	pictures   uint64 // looked at since the appliance's start, in whatever ring
	lost       uint64 // pictures overwritten before that, likewise
	last       shm.FrameMeta
	lastAt     clock.Mono
	allowed    uint64
	stream     streamCache // of the last progress told
	told       uint32      // stream_epoch that foreign detectors know of
	quarantine string
	replacing  bool // its processes are being replaced

	word   word // what the supervisor said last
	fused  uint64
	multi  uint64
	single uint64 // present run of frames with fewer than two models
	worst  uint64 // longest such run
}

// look takes the pictures published since the last turn, in order, and hands each to
// offer. It returns how many there were.
func (c *camera) look(now clock.Mono, offer func(now clock.Mono, camera int, m *shm.FrameMeta)) int {
	head := c.frames.Head()
	if c.frames.Err() != nil {
		c.setAside()
		return 0
	}
	if head == c.seen {
		return 0
	}
	first := max(c.seen+1, c.frames.Oldest())
	c.lost += first - (c.seen + 1)
	n := 0
	for seq := first; seq <= head && n < maxPicturesPerTurn; seq++ {
		c.seen = seq
		m, ok := c.frames.Meta(seq)
		if !ok {
			if c.frames.Err() != nil {
				c.setAside()
				return n
			}
			c.lost++
			continue
		}
		n++
		c.pictures++
		c.last, c.lastAt = m, now
		offer(now, c.index, &c.last)
	}
	return n
}

// setAside names why a frame ring is no longer believed. Its capture is replaced.
func (c *camera) setAside() {
	if c.quarantine == "" {
		c.quarantine = c.frames.Err().Error()
	}
}

// layOut gives a quarantined frame ring back its first state. No process has it open
// for writing.
func (c *camera) layOut(unit string) error {
	layout := frameLayout(unit, c.index, c.cfg)
	if err := shm.FormatFrameRing(c.ring.Bytes(), layout); err != nil {
		return err
	}
	frames, err := shm.NewFrameReader(c.ring.Bytes())
	if err != nil {
		return err
	}
	c.frames, c.seen, c.allowed, c.quarantine, c.replacing = frames, 0, 0, "", false
	c.pace.SetAllowed(0)
	return nil
}

// pacing lets a fast capture go on by one picture when nothing waits for a detector.
// It counts in the ring's own sequence, so a restarted capture needs no other state.
func (c *camera) pacing(waits bool) {
	if c.cfg.Pace != config.PaceFast || waits {
		return
	}
	if next := c.seen + 1; next > c.allowed {
		c.allowed = next
		c.pace.SetAllowed(next)
	}
}

// account counts a published frame.
func (c *camera) account(models int) {
	c.fused++
	if models > 1 {
		c.multi++
		c.single = 0
		return
	}
	c.single++
	c.worst = max(c.worst, c.single)
}

// picture copies one picture into buf, if the ring still holds it. It uses a reader
// of its own, so it may run beside the path.
func (c *camera) picture(epoch uint32, frameID uint64, buf []byte) (shm.FrameMeta, []byte, bool) {
	r, err := shm.NewFrameReader(c.ring.Bytes())
	if err != nil {
		return shm.FrameMeta{}, nil, false
	}
	head := r.Head()
	for seq := head; seq > 0 && seq >= r.Oldest(); seq-- {
		m, pixels, ok := r.View(seq)
		if !ok || m.FrameID != frameID || m.StreamEpoch != epoch {
			continue
		}
		buf = append(buf[:0], pixels...)
		return m, buf, r.Valid(seq)
	}
	return shm.FrameMeta{}, nil, false
}

// note returns the capture's own state and why, masked by the capture itself.
func (w *word) noteText() (state, detail string) {
	state = w.state.String()
	if w.note == "" {
		return state, ""
	}
	var d struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(w.why, &d) == nil {
		detail = d.Reason
	}
	if state == "ready" {
		state = w.note
	}
	return state, detail
}
