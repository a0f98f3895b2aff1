package correlate

import (
	"testing"

	"github.com/skewgate/skewgate/appliance/clock"
)

// Whose answer to the same picture lies in another bucket is told so by both halves, and not by
// a frame whose neighbour lacks nobody.
func TestMissingInAnotherBucket(t *testing.T) {
	r := newRig(t, nil)
	r.step(0, "A", 24) // q25:0
	r.step(1, "B", 26) // q25:1
	r.step(2, "A", 62) // q25:2: B is silent about this picture,
	r.step(3, "A", 76) // and both answer the next one, within a quantum
	r.step(4, "B", 76)
	r.c.Tick(clock.Mono(400 * ms))
	r.want(
		"q25:3 quorum: A B",
		"q25:0 timeout: A (B other_bucket)", "q25:1 timeout: B (A other_bucket)", "q25:2 timeout: A (B absent)",
	)
}

// Once the interval is known, less than half of it is one picture.
func TestMissingIsHeldToTheInterval(t *testing.T) {
	for _, tc := range []struct {
		name       string
		intervalMS int64
		want       string
	}{
		{"none is known: a quantum", 0, "q25:0 timeout: A (B other_bucket)"},
		{"4 ms are less than half", 9, "q25:0 timeout: A (B other_bucket)"},
		{"4 ms are half", 8, "q25:0 timeout: A (B absent)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Camera.FrameIntervalNS = tc.intervalMS * ms })
			r.step(0, "A", 22)
			r.step(1, "B", 26)
			r.c.Tick(clock.Mono(300 * ms))
			r.want(tc.want)
		})
	}
}

// Two frame ids are two pictures by the source's word, unless they were captured at one instant.
func TestMissingByFrameID(t *testing.T) {
	for _, tc := range []struct {
		ns   int64
		want string
	}{{1000 * ms, "other_bucket"}, {1000*ms + 1, "absent"}} {
		r := newRig(t, func(c *Config) { c.Camera.FrameIntervalNS = 40 * ms })
		s, a, b := r.stream("c1"), r.model("A"), r.model("B")
		r.send(0, Message{Stream: s, Model: a, CaptureNS: 1000 * ms, FrameID: 1})
		r.send(1, Message{Stream: s, Model: b, CaptureNS: tc.ns, FrameID: 2})
		r.c.Tick(clock.Mono(300 * ms))
		r.want("id:1 timeout: A (B " + tc.want + ")")
	}
}

// A window joins what is near enough; what is as near and came for a picture of its own is not
// taken for another half.
func TestMissingByWindow(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Camera.Match, c.Camera.WindowNS, c.Camera.FrameIntervalNS = MatchWindow, 5*ms, 40*ms
	})
	r.step(0, "A", 1000)
	r.step(1, "B", 1012) // further off than the window, nearer than half an interval
	r.step(2, "A", 1040)
	r.step(3, "B", 1059)
	r.step(4, "A", 1060) // joins B, whose distance to the A before it is less than half an interval
	r.c.Tick(clock.Mono(400 * ms))
	r.want("w:1059000000ns quorum: B A",
		"w:1000000000ns timeout: A (B other_bucket)", "w:1012000000ns timeout: B (A other_bucket)", "w:1040000000ns timeout: A (B absent)")
}

// Who came with another generation is told so; who has passed and answered elsewhere had something
// to say; who is dead was not waited for, wherever its last answer lies.
func TestMissingReasonsInOrder(t *testing.T) {
	r := newRig(t, nil)
	s, a, b := r.stream("c1"), r.model("A"), r.model("B")
	r.send(0, Message{Stream: s, Model: a, CaptureNS: 1000 * ms, Generation: 1})
	r.send(1, Message{Stream: s, Model: b, CaptureNS: 1000 * ms, Generation: 2})
	r.c.Tick(clock.Mono(300 * ms))
	r.want("q25:40 timeout: A (B wrong_generation)")

	r.step(400, "A", 2024)
	r.step(401, "B", 2026)
	r.c.Progress(clock.Mono(402*ms), s, b, 2030*ms) // beyond A's bucket, not beyond its own
	r.want("q25:80 settled: A (B other_bucket)")

	r.c.Tick(clock.Mono(800 * ms)) // B's half of it, by its timeout
	r.want("q25:81 timeout: B (A other_bucket)")
	r.step(900, "B", 3026)
	if err := r.c.ModelDown(clock.Mono(901*ms), "B"); err != nil {
		t.Fatal(err)
	}
	r.step(902, "A", 3024)
	r.want("q25:120 quorum: A (B dead)")
}

// The message that shows that a frame's time is over is late, for its own frame alone.
func TestMissingLateInHand(t *testing.T) {
	r := newRig(t, func(c *Config) { c.ClosedTTLNS = 50 * ms })
	r.step(0, "A", 1000)
	r.step(10, "A", 1030)
	r.step(20, "A", 1060)
	r.step(400, "B", 1030)
	r.want("q25:40 timeout: A (B absent)", "q25:41 timeout: A (B late)", "q25:42 timeout: A (B absent)")
	r.step(500, "A", 1030)         // what was late for it is forgotten
	r.c.Tick(clock.Mono(900 * ms)) // no message in hand any more
	r.want("q25:41 timeout: A (B absent)")
}
