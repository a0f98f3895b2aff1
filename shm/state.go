package shm

import "fmt"

// State is how far a ring's writer has come.
type State uint32

// States, in the order in which a writer goes through them.
const (
	StateStarting State = iota
	StateBuilding       // loading its model or opening its source
	StateWarming
	StateReady
	StateDraining
)

func (s State) String() string {
	names := [...]string{"starting", "building", "warming", "ready", "draining"}
	if int64(s) < int64(len(names)) {
		return names[s]
	}
	return fmt.Sprintf("state(%d)", uint32(s))
}

// Outcome is how an assignment ended.
type Outcome uint8

// Outcomes of an assignment.
const (
	OutcomeOK      Outcome = iota
	OutcomeError           // the model failed on this picture
	OutcomeLapped          // the picture was overwritten while it was used
	OutcomeExpired         // its deadline had passed before work began
	OutcomeDropped         // replaced by a newer one before work began
	NumOutcomes
)

func (o Outcome) String() string {
	names := [...]string{"ok", "error", "lapped", "expired", "dropped"}
	if int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}
