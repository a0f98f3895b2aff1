package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Matching is how one camera's messages become frames, and what that can do wrong to its
// pictures: join two of them (mix) or tear one apart (split). T is the time between two
// pictures, D the capture skew: the spread of the capture times that several models give one
// picture, after their offsets.
//
//	frame_id    mixes and splits nothing that carries an id
//	bucket q    mixes unless q ≤ T − D, splits a picture with probability min(1, D/q)
//	window τ    is right if and only if D ≤ τ < T − D: splits above τ, can mix from T − τ on
type Matching struct {
	Match    Match         // frame_id, bucket or window: auto is resolved
	Quantum  time.Duration // q, under bucket; 0 = exact instants
	Window   time.Duration // τ, under window
	Interval time.Duration // T as fps says it; 0 = not known

	// OwnCapture are the models that decode the stream by themselves: their part of D only a
	// run shows. Models that look at the frame ring have none among themselves, but Shift.
	OwnCapture []string
	// Shift is how far apart offsets pull the capture times of two models that look at the
	// frame ring, Shifted which two. It is a capture skew made by the config.
	Shift   time.Duration
	Shifted [2]string
}

// Matching returns how a camera's messages are joined.
func (c *Config) Matching(cam *Camera) Matching {
	m := Matching{Match: c.ResolvedMatch(cam), Interval: cam.Interval(), OwnCapture: c.WithoutFrameIDs(cam.Name)}
	switch m.Match {
	case MatchBucket:
		m.Quantum = c.Correlation.Quantum
	case MatchWindow:
		if m.Window = cam.Window; m.Window == 0 {
			m.Window = c.Correlation.Window
		}
	}
	m.Shift, m.Shifted = c.shift(cam.Name)
	return m
}

// shift returns the largest difference between the offsets of models that look at the frame
// ring of a camera.
func (c *Config) shift(camera string) (most time.Duration, between [2]string) {
	var low, high *Model
	for i := range c.Models {
		m := &c.Models[i]
		if !m.SharesFrameIDs() || !slices.Contains(m.Cameras, camera) {
			continue
		}
		if low == nil || m.OffsetOn(camera) < low.OffsetOn(camera) {
			low = m
		}
		if high == nil || m.OffsetOn(camera) > high.OffsetOn(camera) {
			high = m
		}
	}
	if low == nil || low.OffsetOn(camera) == high.OffsetOn(camera) {
		return 0, between
	}
	return high.OffsetOn(camera) - low.OffsetOn(camera), [2]string{low.Name, high.Name}
}

// Interval is the time between two pictures that fps stands for, 0 without one.
func (cam *Camera) Interval() time.Duration {
	if cam.FPS <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / cam.FPS)
}

// WindowHolds says whether a window can be right at all for pictures that are interval apart:
// a capture skew D with D ≤ window < interval − D exists, up to the whole window, if twice the
// window is less than the interval. It is what a config is held to, and what a measured
// interval has to be held to as well.
func WindowHolds(window, interval time.Duration) bool { return 2*window < interval }

// MixAbove returns the capture skew above which two pictures can be joined; below 0 they can be
// whatever the skew. ok is false where they cannot or T is not known.
func (m *Matching) MixAbove() (skew time.Duration, ok bool) {
	switch {
	case m.Interval == 0:
	case m.Match == MatchBucket && m.Quantum > 0:
		return m.Interval - m.Quantum, true
	case m.Match == MatchWindow:
		return m.Interval - m.Window, true
	}
	return 0, false
}

// SplitAbove returns the capture skew above which a picture can be torn apart; ok is false
// where it cannot be.
func (m *Matching) SplitAbove() (skew time.Duration, ok bool) {
	return m.Window, m.Match != MatchFrameID
}

// SplitShare is the probability with which buckets tear apart a picture of that capture skew.
func (m *Matching) SplitShare(skew time.Duration) float64 {
	if skew <= 0 {
		return 0
	}
	if skew >= m.Quantum {
		return 1
	}
	return float64(skew) / float64(m.Quantum)
}

// Setting names the setting with its numbers: "window of 12ms, a picture every 40ms".
func (m *Matching) Setting() string {
	s := string(m.Match)
	switch {
	case m.Match == MatchWindow:
		s += " of " + short(m.Window)
	case m.Match == MatchBucket && m.Quantum == 0:
		s = "exact instants"
	case m.Match == MatchBucket:
		s += " of " + short(m.Quantum)
	}
	if m.Interval > 0 {
		s += ", a picture every " + rounded(m.Interval)
	}
	return s
}

// Verdict says what the setting can do to the camera's pictures.
func (m *Matching) Verdict() string {
	switch {
	case m.Match == MatchFrameID:
		return "mixes no two pictures, splits none"
	case m.Match == MatchWindow && m.Shift > m.Window:
		return fmt.Sprintf("splits every picture of %s and %s: their offsets differ by %s", m.Shifted[0], m.Shifted[1], short(m.Shift))
	case m.Match == MatchWindow:
		return fmt.Sprintf("mixes no two pictures and splits none up to %s of capture skew; splits above it, can mix from %s on", short(m.Window), rounded(m.Interval-m.Window))
	}
	return m.mixes() + "; " + m.splits()
}

// mixes and splits are the two halves of the verdict on buckets.
func (m *Matching) mixes() string {
	above, known := m.MixAbove()
	switch {
	case m.Quantum == 0:
		return "mixes no two pictures"
	case !known:
		return fmt.Sprintf("mixes two pictures that come less than %s apart, and fps does not say whether they do", short(m.Quantum))
	case above < m.Shift:
		return "mixes two pictures"
	case len(m.OwnCapture) > 0:
		return fmt.Sprintf("mixes two pictures above %s of capture skew", rounded(above))
	}
	return "mixes no two pictures"
}

func (m *Matching) splits() string {
	switch own := strings.Join(m.OwnCapture, ", "); {
	case own != "" && m.Quantum == 0:
		return fmt.Sprintf("splits every picture for which %s does not give the others' capture time to the nanosecond", own)
	case own != "":
		return fmt.Sprintf("a capture skew of s ms, which only a run shows for %s, splits s/%g of the pictures", own, float64(m.Quantum)/float64(time.Millisecond))
	case m.Shift > 0:
		return fmt.Sprintf("splits %.3g %% of the pictures of %s and %s", 100*m.SplitShare(m.Shift), m.Shifted[0], m.Shifted[1])
	}
	return "splits none"
}

// rounded writes a time that was worked out, such as 33.33ms.
func rounded(d time.Duration) string { return short(d.Round(10 * time.Microsecond)) }
