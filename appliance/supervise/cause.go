package supervise

import "golang.org/x/sys/unix"

// Cause says why a transition happened or a process ended.
type Cause string

// Causes of a transition that is not an end.
const (
	CauseAsked   Cause = "asked"   // the appliance asked for it
	CauseRestart Cause = "restart" // the back-off is over
	CauseReport  Cause = "report"  // the child's own word
	CauseKilled  Cause = "killed"  // SIGKILL was sent and did not end it in time
	CauseNote    Cause = "note"    // no transition: a note of the child
)

// Causes of an end, as in an ExitRecord. CauseOOM needs the child's own cgroup and is
// not told from CauseSignal yet.
const (
	CauseSignal         Cause = "signal"          // killed by a signal not of the supervisor
	CauseCode           Cause = "code"            // exited with a code other than 0
	CauseUnexpectedExit Cause = "unexpected_exit" // exited 0 though nobody asked
	CauseStop           Cause = "stop"            // asked to stop, and did within the stop timeout
	CauseStopTimeout    Cause = "stop_timeout"    // asked to stop, did not, was killed
	CauseStartTimeout   Cause = "start_timeout"   // not ready within the start timeout, was killed
	CauseStartError     Cause = "start_error"     // could not be started this time; the next may do
	CausePermanent      Cause = "permanent"       // could not be started, and never will as things are
)

// ending is how a process ended: by a signal, with a code, or, with err set, before
// there was one.
type ending struct {
	signal    unix.Signal
	code      int
	startErr  error
	permanent bool
}

// cause tells an end the supervisor did not bring about.
func (e ending) cause() Cause {
	switch {
	case e.startErr != nil && e.permanent:
		return CausePermanent
	case e.startErr != nil:
		return CauseStartError
	case e.signal != 0:
		return CauseSignal
	case e.code != 0:
		return CauseCode
	default:
		return CauseUnexpectedExit
	}
}

// orderly tells an end that answers a request to stop; termed says that SIGTERM was
// part of the request.
func (e ending) orderly(termed bool) bool {
	if e.startErr != nil {
		return true
	}
	if e.signal != 0 {
		return termed && e.signal == unix.SIGTERM
	}
	// 128 + the signal is how shells and several runtimes report it.
	return e.code == 0 || termed && e.code == 128+int(unix.SIGTERM)
}
