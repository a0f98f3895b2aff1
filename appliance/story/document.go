package story

// Schema is the version of Document's JSON form; a change of meaning raises it.
const Schema = 1

// Document is the answer to a question: the stories of some frames of one camera, in the order
// in which they were closed. Instants ending in mono_ns are of CLOCK_MONOTONIC, capture times
// are of the source's clock, unix_ns of the box's wall clock.
type Document struct {
	Schema int      `json:"schema"`
	Unit   string   `json:"unit"`
	Camera string   `json:"camera"`
	Held   Held     `json:"held"`
	Frames []Frame  `json:"frames"`
	Notes  []string `json:"notes"` // what is not known, and why
}

// Held is what there is to ask about.
type Held struct {
	Frames     int    `json:"frames"`
	Bound      int    `json:"bound"`
	Oldest     string `json:"oldest"` // its key
	Newest     string `json:"newest"`
	Unattached uint64 `json:"unattached"` // messages that came for frames that were held no more
}

// Frame is the story of one frame.
type Frame struct {
	Key         string  `json:"key"`
	FrameID     *string `json:"frame_id"` // null = none was given
	StreamEpoch uint32  `json:"stream_epoch"`
	Generation  *string `json:"generation"`
	// Seq is the number of the published frame, from the appliance's start or, in a recording
	// that began later, from the recording's; null = it was not published.
	Seq   *uint64 `json:"seq"`
	State string  `json:"state"` // open, published, suppressed_empty, dropped
	// Reason is quorum, settled, timeout, eviction, stale or sleep; null while it is open.
	Reason       *string `json:"reason"`
	FirstMonoNS  int64   `json:"first_arrival_mono_ns"`
	ClosedMonoNS *int64  `json:"closed_mono_ns"`
	ClosedUnixNS *int64  `json:"closed_unix_ns"` // null where the two clocks were never compared
	WaitNS       int64   `json:"wait_ns"`        // from the first arrival to the closing, or to now
	TimeoutNS    int64   `json:"timeout_ns"`
	ArrivalSkew  *int64  `json:"arrival_skew_ns"` // last − first arrival; null with fewer than two
	CaptureNS    *int64  `json:"capture_ns"`      // earliest, less the models' offsets
	CaptureSkew  *int64  `json:"capture_skew_ns"` // latest − earliest, less the models' offsets; null with fewer than two

	Expected []Expected `json:"expected"` // by name
	Messages []Message  `json:"messages"` // in order of arrival
	Missing  []Missing  `json:"missing"`  // expected models that did not join, by name
	LeftOut  uint32     `json:"left_out"` // messages beyond the bound: most of them repetitions

	Verdict string `json:"verdict"`
	Next    string `json:"next"` // what to do about it, "" for nothing
}

// Expected is a model whose answer was waited for.
type Expected struct {
	Model string `json:"model"`
	Live  bool   `json:"live"` // not known dead when the frame was closed
}

// Message is one that came for the frame.
type Message struct {
	Model string `json:"model"`
	// Verdict is accepted, late, dup_resend, dup_collision or wrong_generation.
	Verdict      string  `json:"verdict"`
	Expected     bool    `json:"expected"` // false: unexpected_name
	AtNS         int64   `json:"at_ns"`    // arrival after the frame's first
	AfterCloseNS *int64  `json:"after_close_ns"`
	CaptureNS    *int64  `json:"capture_ns"`    // null = unreadable_time
	CaptureAfter *int64  `json:"capture_at_ns"` // after the frame's earliest, less the model's offset
	Raw          *string `json:"raw"`           // the text of an unreadable time, if it is still known
	FrameID      *string `json:"frame_id"`
	Generation   *string `json:"generation"` // of a message of another generation
	Boxes        *int    `json:"boxes"`      // null = not known; a recording knows only of none
}

// Missing is an expected model that did not join.
type Missing struct {
	Model string `json:"model"`
	// Why is absent, dead, hung, passed, late, other_bucket, unreadable_time or
	// wrong_generation.
	Why        string    `json:"why"`
	LateNS     *int64    `json:"late_ns"`     // late: after the frame was closed
	DownForNS  *int64    `json:"down_for_ns"` // dead or hung: how long before the closing
	DownLonger bool      `json:"down_longer"` // at least that long: it began before the recording
	Cause      string    `json:"cause"`       // dead or hung: how that came, "" if it is not known
	ProgressNS *int64    `json:"progress_ns"` // passed: it promised nothing more up to this capture time
	Nearest    *Nearest  `json:"nearest"`     // the model's message that was captured nearest, in another frame
	Dispatch   *Dispatch `json:"dispatch"`    // null for a model that takes its pictures itself, and in a recording
	RawNearby  *string   `json:"raw_nearby"`  // unreadable_time: what it sent for a time
}

// Nearest is a message that went to another frame.
type Nearest struct {
	Key       string  `json:"key"`
	Seq       *uint64 `json:"seq"`
	ByNS      int64   `json:"by_ns"` // capture time after this frame's nearest; negative = before
	AtNS      int64   `json:"at_ns"` // arrival after this frame's first
	Verdict   string  `json:"verdict"`
	OtherHalf bool    `json:"other_half"` // near enough to be of this picture, in a frame that lacks whom this one has
}

// Dispatch is what became of this picture on its way to a detector.
type Dispatch struct {
	Fate string `json:"fate"` // waiting, assigned, finished, died, superseded, not_ready, fault, unknown
	AtNS *int64 `json:"at_ns"`
}
