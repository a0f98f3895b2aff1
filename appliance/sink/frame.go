package sink

import "github.com/skewgate/skewgate/appliance/clock"

// Schema is the version of a fused frame's JSON form.
const Schema = 1

// Frame is one fused frame. Its slices and strings belong to the caller and are read
// only during a call.
type Frame struct {
	Seq         uint64 // of the appliance's published frames, from 1
	Unit        string
	Camera      string
	StreamEpoch uint32
	FrameID     uint64 // of the source's pictures; 0 = none
	Generation  string // its id; "" = none

	// CaptureNS is the earliest capture time, ns since 1970; detect.RawInstant when no
	// model's timestamp could be read.
	CaptureNS    int64
	Models       []Answer // that answered, in the config's order
	Missing      []Missing
	Reason       string // why the frame closed: quorum, settled, timeout, eviction
	FirstArrival clock.Mono
	LastArrival  clock.Mono
	Closed       clock.Mono
	Published    clock.Mono // when it was handed to the sinks; in the output ring only
	Boxes        []Box
	Degraded     bool
}

// Answer is one model's part in a frame.
type Answer struct {
	Model     string
	CaptureNS int64  // detect.RawInstant: see Raw
	Raw       []byte // the timestamp's own text when it could not be read, else empty
}

// Missing is an expected model that did not answer, and why.
type Missing struct {
	Model string
	Why   string // dead, absent, late, other_bucket, …
}

// Box is one fused box in fractions of the full frame.
type Box struct {
	X1, Y1, X2, Y2 float64
	Score          float64
	Label          string
	By             []Vote // the models that saw it
}

// Vote is one model's own score of a box.
type Vote struct {
	Model string
	Score float64
}
