package capture

// The states a capture reports to its parent.
const (
	StateOpening   = "opening"   // first try of the source
	StateStreaming = "streaming" // pictures come
	StateRetrying  = "retrying"  // the source failed; Reason says how, and it is tried again
	StateEnded     = "ended"     // a film has been played once; the process idles until drained
	StateFailed    = "failed"    // an error only a person can mend; the process ends
)

// Report is the detail of a state. All counts are of this process's life.
type Report struct {
	Reason  string `json:"reason,omitempty"`   // why it is retrying or failed; secrets masked
	RetryMS int64  `json:"retry_ms,omitempty"` // until the next try

	Width       int    `json:"width,omitempty"`
	Height      int    `json:"height,omitempty"`
	StreamEpoch uint32 `json:"stream_epoch,omitempty"`
	ClockSource string `json:"clock_source,omitempty"`

	Counters
}

// Counters are what a capture counts.
type Counters struct {
	Passes     uint64 `json:"passes"`      // starts of ffmpeg
	Decoded    uint64 `json:"decoded"`     // pictures that came from ffmpeg
	Published  uint64 `json:"published"`   // of those, published
	DroppedFPS uint64 `json:"dropped_fps"` // of those, dropped for the rate cap
	Repeats    uint64 `json:"pts_repeats"` // pictures with their predecessor's PTS
	Leaps      uint64 `json:"pts_leaps"`   // pictures whose PTS fell or leapt
	Slips      uint64 `json:"slips"`       // times a paced film fell behind its schedule
	Sleeps     uint64 `json:"sleeps"`      // of the machine, while a film was played
}

// Parent is what a capture needs of the process that started it. supervise.Child is one.
type Parent interface {
	Ready(v any) error
	State(name string, v any) error
	Done() <-chan struct{} // closed to ask for an orderly end
}
