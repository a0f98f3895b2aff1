// Package status holds what the appliance says of itself: one document, the same
// for `skewgate status`, the control socket and the HTTP API. It is data only.
package status

// Schema is the version of Document's JSON form; a change of meaning raises it.
const Schema = 1

// Document is the whole state of one appliance at one instant. Ages and durations
// are in milliseconds, counts since the appliance's start.
type Document struct {
	Schema      int          `json:"schema"`
	Unit        string       `json:"unit"`
	Version     string       `json:"version"`
	PID         int          `json:"pid"`
	State       string       `json:"state"` // starting, running, draining
	UptimeMS    int64        `json:"uptime_ms"`
	Cameras     []Camera     `json:"cameras"`
	Models      []Model      `json:"models"`
	Correlation Correlation  `json:"correlation"`
	Fusion      Fusion       `json:"fusion"`
	Sinks       []Sink       `json:"sinks"`
	Recordings  []Recording  `json:"recordings"`
	Tasks       []Task       `json:"tasks"`
	Health      []Finding    `json:"health"`
	Memory      SharedMemory `json:"shared_memory"`
}

// Camera is one source as the path sees it.
type Camera struct {
	Name             string `json:"name"`
	State            string `json:"state"`            // of its capture process: starting, streaming, retrying, ended, …
	Detail           string `json:"detail,omitempty"` // why, in ffmpeg's or our words; secrets masked
	Match            string `json:"match"`            // frame_id, bucket or window: what auto resolved to
	Frames           uint64 `json:"frames"`           // pictures the path has seen in the frame ring
	FramesLost       uint64 `json:"frames_lost"`      // pictures overwritten before the path looked
	StreamEpoch      uint32 `json:"stream_epoch"`
	ClockSource      string `json:"clock_source,omitempty"` // camera, arrival, monotonic, file
	Width            uint32 `json:"width,omitempty"`
	Height           uint32 `json:"height,omitempty"`
	LastFrameAgeMS   *int64 `json:"last_frame_age_ms"`  // null before the first picture
	Fused            uint64 `json:"fused"`              // published frames of this camera
	FusedMulti       uint64 `json:"fused_multi"`        // of those, with two models or more
	LongestRunSingle uint64 `json:"longest_run_single"` // longest run of published frames with fewer than two models

	Matching
}

// Model is one detector replica: its process, its ring and its queue. One that attaches
// by itself has no task and no queue.
type Model struct {
	Name           string            `json:"name"`
	Replica        uint32            `json:"replica"`
	Cameras        []string          `json:"cameras"`
	HangsOn        []string          `json:"hangs_on,omitempty"` // cameras whose frames no longer wait for it
	State          string            `json:"state"`              // of its process; attached or absent if it attaches by itself
	Foreign        bool              `json:"foreign,omitempty"`
	Peer           *Peer             `json:"peer,omitempty"` // who is attached
	Provider       string            `json:"provider,omitempty"`
	HeartbeatAgeMS *int64            `json:"heartbeat_age_ms"`         // null: none yet, or see the note
	HeartbeatNote  string            `json:"heartbeat_note,omitempty"` // future or negative: the word makes no sense
	RingEpoch      uint64            `json:"ring_epoch"`
	Written        uint64            `json:"written"`
	Read           uint64            `json:"read"`
	Lost           uint64            `json:"lost"`
	Quarantine     string            `json:"quarantine,omitempty"`      // why its ring is not read now
	Quarantines    uint64            `json:"quarantines"`               // so far
	QuarantineLast string            `json:"quarantine_last,omitempty"` // why, the last time
	Queue          uint64            `json:"queue"`                     // assigned and not done
	Assigned       uint64            `json:"assigned"`                  // frames handed to this replica
	Dropped        map[string]uint64 `json:"dropped"`                   // frames never handed over, by reason
	Outcomes       map[string]uint64 `json:"outcomes"`                  // what became of assigned frames
	Messages       uint64            `json:"messages"`
	Refused        uint64            `json:"refused"`                // malformed messages
	RefusedLast    string            `json:"refused_last,omitempty"` // why, of the last one
	LagMS          *Quantiles        `json:"lag_ms"`                 // behind the first arrival of its frames
	Late           uint64            `json:"late"`                   // messages of all its replicas that came after their frame was closed
	Alone          []Alone           `json:"alone,omitempty"`        // cameras on which it has never met another model
}

// Peer is a process that attached by itself. The kernel vouches for pid and uid.
type Peer struct {
	PID        int    `json:"pid"`
	UID        int    `json:"uid"`
	Client     string `json:"client"` // what it calls itself
	State      string `json:"state"`  // its own word in the ring: starting, building, warming, ready, draining
	AttachedMS int64  `json:"attached_ms"`
}

// Correlation is the correlator's account; the counters are those of the replay contract.
type Correlation struct {
	Counters      map[string]uint64 `json:"counters"`
	Opened        uint64            `json:"opened"`                   // frames begun: the sum of those closed, for whatever reason, and pending
	TimeoutMS     float64           `json:"timeout_ms"`               // as configured: what samples that stop short of it are to be held against
	Stale         map[string]uint64 `json:"stale"`                    // the counter of that name by reason: max_age, sleep
	Sleeps        uint64            `json:"sleeps"`                   // of the machine
	IdentityFault string            `json:"identity_fault,omitempty"` // must be empty: a broken sum is a fault of ours
	SkewMS        *Quantiles        `json:"arrival_skew_ms"`          // null when no frame had two models in the window
	Final         FinalSkew         `json:"final"`
	PathMS        *Quantiles        `json:"publish_to_fused_ms"` // last publish of a frame → fused record handed to the sinks
}

// Quantiles are nearest-rank figures over the last minute.
type Quantiles struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// Fusion counts what went out and what the input gate turned away.
type Fusion struct {
	Published      uint64            `json:"published"`
	Multi          uint64            `json:"multi"`            // with two models or more
	BelowMinModels uint64            `json:"below_min_models"` // fused boxes of too few models
	BelowMinScore  uint64            `json:"below_min_score"`  // fused boxes scored too low
	Rejected       map[string]uint64 `json:"rejected_boxes"`
}

// Sink is one output and what it lost.
type Sink struct {
	Name    string            `json:"name"`
	State   string            `json:"state"`
	Detail  string            `json:"detail,omitempty"`
	Offered uint64            `json:"offered"`
	Written uint64            `json:"written"`
	Queued  uint64            `json:"queued"`
	Lost    map[string]uint64 `json:"lost"`
}

// Recording is one trace that is being recorded.
type Recording struct {
	To     string `json:"to"` // a file, or client
	Events uint64 `json:"events"`
	Queued uint64 `json:"queued"`
	Lost   uint64 `json:"lost"`            // the trace is incomplete if it is not 0
	Error  string `json:"error,omitempty"` // why it ended early
}

// Task is one child process and how it last ended.
type Task struct {
	Name     string `json:"task"`
	State    string `json:"state"`
	PID      int    `json:"pid,omitempty"`
	Start    uint64 `json:"start"` // start number: 1 for the first process
	Restarts uint64 `json:"restarts"`
	UptimeMS int64  `json:"uptime_ms,omitempty"`
	LastExit *Exit  `json:"last_exit,omitempty"`
}

// Exit is the record of one ended process.
type Exit struct {
	Start      uint64   `json:"start"`
	PID        int      `json:"pid"`
	Cause      string   `json:"cause"`
	Text       string   `json:"text"` // the cause in words: "killed by signal 9 (SIGKILL)"
	Signal     int      `json:"signal,omitempty"`
	Code       int      `json:"code,omitempty"`
	UptimeMS   int64    `json:"uptime_ms"`
	CPUMS      int64    `json:"cpu_ms"`
	MaxRSS     int64    `json:"max_rss_bytes"`
	LastFrame  string   `json:"last_frame,omitempty"`
	LastStderr []string `json:"last_stderr,omitempty"`
	Truncated  bool     `json:"stderr_truncated,omitempty"`
}

// SharedMemory sums all segments.
type SharedMemory struct {
	Segments int   `json:"segments"`
	Bytes    int64 `json:"bytes"`
}
