package supervise

import "fmt"

// State is where a task stands. Its text is part of `status --json`.
type State uint8

const (
	StateStopped     State = iota // nothing runs and nothing will
	StateStarting                 // being started, or started and silent so far
	StateBuilding                 // said by the child: preparing its engine
	StateWarming                  // said by the child: running its own forward passes
	StateReady                    // said by the child: takes work
	StateDraining                 // asked to finish what it holds
	StateStopping                 // signalled: SIGTERM, or already SIGKILL
	StateKillPending              // SIGKILL sent and still not gone: stuck in the kernel
	StateExited                   // its exit record is complete; left at once
	StateBackoff                  // waits for its next start
	StateFailed                   // ended by an error no restart can cure
	numStates
)

var stateNames = [numStates]string{
	"stopped", "starting", "building", "warming", "ready", "draining",
	"stopping", "kill_pending", "exited", "backoff", "failed",
}

func (s State) String() string {
	if s >= numStates {
		return fmt.Sprintf("state %d", uint8(s))
	}
	return stateNames[s]
}

// MarshalText gives the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a state's name.
func (s *State) UnmarshalText(text []byte) error {
	for i, name := range stateNames {
		if name == string(text) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("read state %.40q: no such state", text)
}

// coming reports a state in which the start timeout runs.
func (s State) coming() bool {
	return s == StateStarting || s == StateBuilding || s == StateWarming
}

// going reports a state in which the supervisor is ending the process.
func (s State) going() bool {
	return s == StateDraining || s == StateStopping || s == StateKillPending
}

// occupied reports a state in which a process exists, or is just being made.
func (s State) occupied() bool { return s.coming() || s.going() || s == StateReady }
