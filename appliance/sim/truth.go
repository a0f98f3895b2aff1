package sim

// Truth is what really happened: every picture that was taken and every message that was
// published about one. A message carries its number as its tag, so that whatever comes out can
// be held against it.
type Truth struct {
	Pictures []Picture
	Messages []Message // message n has tag n + 1
	Promises []Promise // progress that foreign detectors published

	// Troubles counts what befell cameras, detectors and the machine, by what it was.
	Troubles map[string]int
}

func (t *Truth) befell(what string) {
	if t.Troubles == nil {
		t.Troubles = map[string]int{}
	}
	t.Troubles[what]++
}

// Picture is one exposure.
type Picture struct {
	Camera  int
	Epoch   uint32
	ID      uint64 // within the epoch, from 1
	AtNS    int64  // true time of the exposure, since the start
	StampNS int64  // as the capture stamped it
}

// Message is one thing that a detector published.
type Message struct {
	Model       int
	Process     int
	Picture     int // place in Truth.Pictures
	PublishedNS int64
	StampNS     int64 // capture time as sent; of garbage nothing
	Garbage     bool
	Lie         bool // its publish time is not when it was published
	FrameID     uint64
	Generation  uint64
	Found       bool
}

// Promise is one progress message.
type Promise struct {
	Model       int
	Camera      int
	Epoch       uint32
	NS          int64
	PublishedNS int64
}

// Of returns the message with a tag, nil if there is none.
func (t *Truth) Of(tag uint64) *Message {
	if tag == 0 || tag > uint64(len(t.Messages)) {
		return nil
	}
	return &t.Messages[tag-1]
}

// line names a camera's timeline.
type line struct {
	camera int
	epoch  uint32
}

func (p *Picture) line() line { return line{p.Camera, p.Epoch} }
