package supervise

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
)

// ExitRecord says how one start of a task ended, and why.
type ExitRecord struct {
	Task       string    `json:"task"`
	Start      uint64    `json:"start"`
	PID        int       `json:"pid"` // 0: no process came to be
	Cause      Cause     `json:"cause"`
	Signal     int       `json:"signal,omitempty"`
	SignalName string    `json:"signal_name,omitempty"` // "SIGKILL"
	Code       int       `json:"code"`
	Error      string    `json:"error,omitempty"` // why it could not be started, with the cure
	EndedAt    time.Time `json:"ended_at"`        // wall clock, for people
	UpTimeNS   int64     `json:"up_time_ns"`
	ToReadyNS  int64     `json:"to_ready_ns"` // from start to ready; 0: never ready
	// LastStderr holds the last lines of stdout and stderr, made printable, secrets in
	// URLs masked. Truncated: one of them was longer than the line bound and was cut.
	LastStderr []string `json:"last_stderr"`
	Truncated  bool     `json:"truncated"`
	// Headline is the latest line of the whole output that looks like the beginning of a
	// runtime's last words ("panic: …", "fatal error: …", "SIGSEGV: …"): the stacks after
	// it are often more than LastStderr holds. A Go program ends with code 2 then.
	Headline string `json:"headline,omitempty"`
	// User and system time and the peak are of the child and of those of its own
	// children it waited for. The kernel lets a process begin with its parent's peak, so
	// MaxRSSBytes is never below the supervisor's own.
	UserNS      int64   `json:"user_ns"`
	SystemNS    int64   `json:"system_ns"`
	MaxRSSBytes int64   `json:"max_rss_bytes"`
	LastFrame   *uint64 `json:"last_frame,omitempty"`
	// IgnoredReports counts control packets that were malformed, of another start, or
	// not sent by the child itself.
	IgnoredReports uint64 `json:"ignored_reports"`
}

// String says the end in one line, as "killed by SIGKILL (9) after 12.3s".
func (r *ExitRecord) String() string {
	var b strings.Builder
	switch {
	case r.Error != "":
		b.WriteString(r.Error)
	case r.Signal != 0:
		fmt.Fprintf(&b, "killed by %s (%d)", r.SignalName, r.Signal)
	default:
		fmt.Fprintf(&b, "exited with code %d", r.Code)
	}
	if r.UpTimeNS > 0 {
		fmt.Fprintf(&b, " after %v", time.Duration(r.UpTimeNS).Round(time.Millisecond))
	}
	if r.Headline != "" {
		fmt.Fprintf(&b, " (%s)", r.Headline)
	}
	switch r.Cause {
	case CauseStartTimeout:
		b.WriteString(", not ready in time")
	case CauseStopTimeout:
		b.WriteString(", did not stop in time")
	case CauseStop:
		b.WriteString(", as asked")
	case CauseUnexpectedExit:
		b.WriteString(" though nobody asked it to")
	}
	return b.String()
}

// Event is one transition of one task, or a note of its child.
type Event struct {
	Task  string
	Start uint64
	At    clock.Mono
	From  State
	State State
	Cause Cause
	PID   int
	// Exit is set on the transition to exited.
	Exit *ExitRecord
	// BackoffNS is set on the transition to backoff: the wait before the next start.
	BackoffNS int64
	// Ready is, on the transition to ready, what the child said of itself.
	Ready json.RawMessage
	// Note and Detail are set when Cause is "note" and on building and warming: the
	// child's word and its detail.
	Note   string
	Detail json.RawMessage
}

// TaskStatus is a task at one moment.
type TaskStatus struct {
	Task      string      `json:"task"`
	State     State       `json:"state"`
	Cause     Cause       `json:"cause"` // of the latest transition
	Since     clock.Mono  `json:"since_ns"`
	Start     uint64      `json:"start"` // number of the latest start; restarts = start − 1
	PID       int         `json:"pid"`   // 0: no process
	ReadyAt   clock.Mono  `json:"ready_at_ns"`
	NextStart clock.Mono  `json:"next_start_ns"` // in backoff
	LastExit  *ExitRecord `json:"last_exit,omitempty"`
	// Ready is what the child said of itself when it was ready; Note and Detail are
	// its latest note of this start.
	Ready  json.RawMessage `json:"ready,omitempty"`
	Note   string          `json:"note,omitempty"`
	Detail json.RawMessage `json:"detail,omitempty"`
	// IgnoredReports is over all starts.
	IgnoredReports uint64 `json:"ignored_reports"`
}
