package correlate

import (
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/hist"
)

// Bounds of what is kept for the figures of cameras. Names that no camera expects find few
// seats, so that a flood of them leaves room for the others; what finds none has no figures.
const (
	seatMessages    = 64 // capture times of a model on a camera; at 30 pictures a second, 2 s
	strangerSeats   = 8  // of one camera, for models that nobody has ever expected
	maxSeats        = 1 << 14
	rareSamples     = 64 // in a window of what should not happen
	surveysInWindow = 16
	maxSurveyNS     = int64(1e9)
)

// seat is what one model has said of one camera lately.
type seat struct {
	mod    *model
	before uint32 // head.n at the last survey
	met    bool   // another model in a group, when it had no bit
	recent [seatMessages]sighting

	unparsed, late, wrongGeneration uint64 // of all stream_epochs

	lateNS  *hist.Window // how long after the first arrival late messages came; nil for never
	apartNS *hist.Window // while it meets nobody: its capture times less the nearest of another
}

// head is what each message changes, kept apart so that a camera's heads lie together.
type head struct {
	model    ModelID
	n        uint32 // readable messages of the camera's present stream_epoch, as a running number
	received uint64 // of all stream_epochs
	heardAt  clock.Mono
}

// sighting is one picture that a model has answered for.
type sighting struct {
	ns    int64 // matched capture time
	frame uint64
}

// seats are what is known of the models of one camera, and what follows from it.
type seats struct {
	heads     []head // in the order of taken: searched for each message
	taken     []seat
	surveyAt  clock.Mono
	epoch     uint32 // the highest stream_epoch; messages of older ones are not noted
	strangers int

	account
	survey
}

// of returns the number of a model's seat, −1 if it has none.
func (s *seats) of(id ModelID) int {
	for i := range s.heads {
		if s.heads[i].model == id {
			return i
		}
	}
	return -1
}

// note remembers that a model has answered, whatever becomes of the message.
func (c *Correlator) note(now clock.Mono, cam *camera, m *Message, mod *model, t int64, readable bool) {
	i := cam.seats.of(m.Model)
	if i < 0 {
		if i = c.seat(now, cam, mod); i < 0 {
			return
		}
	}
	h := &cam.heads[i]
	h.received++
	h.heardAt = now
	if !readable {
		cam.taken[i].unparsed++
		return
	}
	if e := m.Stream.Epoch(); e != cam.seats.epoch {
		if e < cam.seats.epoch {
			return
		}
		cam.seats.begin(e)
	}
	cam.taken[i].recent[h.n%seatMessages] = sighting{t, m.FrameID}
	if h.n++; h.n == 0 { // the number has gone round
		h.n, cam.taken[i].before = seatMessages, 0
	}
	if now >= cam.surveyAt {
		c.surveyCamera(now, cam)
	}
}

// seat gives a model a seat at a camera and returns its number, −1 if there is none left.
func (c *Correlator) seat(now clock.Mono, cam *camera, mod *model) int {
	s := &cam.seats
	if c.seatsTaken >= maxSeats || mod.bit == 0 && s.strangers >= strangerSeats {
		return -1
	}
	c.seatsTaken++
	if mod.bit == 0 {
		s.strangers++
	}
	if len(s.taken) == 0 {
		s.surveyAt = now + clock.Mono(c.surveyNS())
	}
	s.heads = append(s.heads, head{model: mod.id})
	s.taken = append(s.taken, seat{mod: mod})
	return len(s.taken) - 1
}

// begin forgets what was captured on an older timeline.
func (s *seats) begin(epoch uint32) {
	s.epoch = epoch
	for i := range s.taken {
		s.heads[i].n, s.taken[i].before = 0, 0
	}
	s.marked = false
}

// surveyNS is the time between two surveys of a camera.
func (c *Correlator) surveyNS() int64 { return min(c.cfg.SkewWindowNS/surveysInWindow, maxSurveyNS) }

// fresh returns how many readable messages have come to a seat since the last survey.
func (s *seats) fresh(i int) uint32 { return s.heads[i].n - s.taken[i].before }

// appendRecent appends what a seat holds, the oldest message first.
func (s *seats) appendRecent(dst []sighting, i int) []sighting {
	n, recent := s.heads[i].n, &s.taken[i].recent
	if n <= seatMessages {
		return append(dst, recent[:n]...)
	}
	at := n % seatMessages
	return append(append(dst, recent[at:]...), recent[:at]...)
}

// cameLate notes a message whose group was closed.
func (c *Correlator) cameLate(now clock.Mono, cam *camera, id ModelID, lag int64) {
	i := cam.seats.of(id)
	if i < 0 {
		return
	}
	s := &cam.taken[i]
	s.late++
	if s.lateNS == nil {
		s.lateNS = hist.NewWindow(c.cfg.SkewWindowNS, rareSamples)
	}
	s.lateNS.Add(int64(now), lag)
}

// turnedAway notes a message that came again, collided, or was of another generation.
func (c *Correlator) turnedAway(cam *camera, mod *model, v Verdict) {
	switch v {
	case DupResend:
		mod.dupResend++
	case DupCollision:
		mod.dupCollision++
		cam.collisions++
	case WrongGeneration:
		mod.wrongGeneration++
		if i := cam.seats.of(mod.id); i >= 0 {
			cam.taken[i].wrongGeneration++
		}
	}
}
