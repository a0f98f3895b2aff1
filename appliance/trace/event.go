package trace

import "github.com/skewgate/skewgate/appliance/clock"

// Kind says which call of the correlator an event stands for.
type Kind uint8

const (
	Message   Kind = iota + 1 // Step
	Progress                  // Progress, CaptureNS being how far
	Tick                      // Tick
	ModelDown                 // ModelDown, or ModelDownAt if Camera is set
	Expected                  // SetExpected, or SetCameraExpected if Camera is set; Names are who
	Slept                     // Slept
	Refused                   // Refuse; Text says why. It has no instant of its own
)

// RawMax bounds the text of an unreadable timestamp in an event. A message with a longer one
// cannot be recorded and counts as lost.
const RawMax = 4 << 10

// Event is one call of the correlator. Strings are kept by whoever reads the queue, Raw is
// copied.
type Event struct {
	Kind  Kind
	NowNS clock.Mono // as the caller said it, before any clamping

	Unit, Camera, Model string
	Epoch               uint32
	CaptureNS           int64
	FrameID, Generation uint64
	Empty               bool   // of a message: looked and found nothing
	Unreadable          bool   // of a message: Raw stands for the capture time
	Raw                 []byte // at most RawMax
	Names               []string
	Text                string

	lostBefore uint64 // events that found no room since the last one that did
}
