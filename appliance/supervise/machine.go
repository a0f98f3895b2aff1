package supervise

import "github.com/skewgate/skewgate/appliance/clock"

// timing holds the durations of one task's edges, in nanoseconds.
type timing struct {
	startTimeoutNS int64 // starting → ready
	stopTimeoutNS  int64 // asked to stop → gone; SIGTERM at its half, at once if not ready
	killWaitNS     int64 // SIGKILL → gone
	backoff        Backoff
}

// machine is the life of one task as a pure function of inputs and their instants: it
// reads no clock, touches no process, and says what is to be done. Its owner runs
// step on every input, and with inTick whenever the deadline has come.
type machine struct {
	timing
	state    State
	start    uint64     // number of the latest start, from 1; 0 before the first
	wanted   bool       // it should run
	deadline clock.Mono // when inTick is due; 0: never

	alive     bool  // a process exists: between inSpawned and inGone
	termed    bool  // SIGTERM was sent to this start, or is due as soon as it exists
	killed    bool  // the same of SIGKILL
	why       Cause // why the supervisor is ending this start; "" when it is not
	spawnedAt clock.Mono
	readyAt   clock.Mono // 0: this start was not ready
	failures  int        // ends in a row that count for the back-off's growth
	graces    int        // quick restarts given since the back-off was last reset
}

type inputKind uint8

const (
	inStart   inputKind = iota // the appliance wants it to run; clears failed and backoff
	inStop                     // the appliance wants it stopped
	inKill                     // the appliance wants it gone now
	inSpawned                  // the process of start exists
	inGone                     // the process of start is reaped, or never came to be
	inReport                   // the child of start reported state
	inTick                     // look at the deadline
	numInputs
)

// input is one event. start guards against words from an earlier start.
type input struct {
	kind  inputKind
	start uint64
	state State  // of inReport
	end   ending // of inGone
}

// move is one transition, in the order it happened.
type move struct {
	from, to State
	cause    Cause
}

// effects is what the owner must now do, in this order.
type effects struct {
	moves               []move
	drain, term, kill   bool // to the process of the present start
	spawn               bool // start number m.start
	ignored, gone       bool // ignored: the input was stale or out of place
	backoffNS           int64
	endCause            Cause // of the start that is gone
	upTimeNS, toReadyNS int64 // of the start that is gone
}

func (do *effects) move(m *machine, to State, cause Cause) {
	do.moves = append(do.moves, move{m.state, to, cause})
	m.state = to
}

// step is the whole state machine.
func (m *machine) step(now clock.Mono, in input) (do effects) {
	switch in.kind {
	case inStart:
		m.wanted = true
		switch m.state {
		case StateStopped, StateFailed, StateBackoff:
			m.failures, m.graces = 0, 0
			m.begin(now, &do, CauseAsked)
		}
		// A task on its way out starts again once it is gone (settle).
	case inStop:
		m.wanted = false
		switch {
		case m.state.coming():
			// It holds no work yet, so there is nothing to wait for.
			m.why, m.termed = CauseStop, true
			do.term = m.alive
			m.deadline = now + clock.Mono(m.stopTimeoutNS)
			do.move(m, StateStopping, CauseAsked)
		case m.state == StateReady:
			m.why = CauseStop
			do.drain = true
			m.deadline = now + clock.Mono(m.stopTimeoutNS/2)
			do.move(m, StateDraining, CauseAsked)
		case m.state == StateBackoff || m.state == StateFailed:
			m.deadline = 0
			do.move(m, StateStopped, CauseAsked)
		}
	case inKill:
		do = m.step(now, input{kind: inStop})
		if m.state.going() && !m.killed {
			m.why = CauseStopTimeout
			m.kill(now, &do)
			do.drain, do.term = false, false
			do.move(m, StateStopping, CauseStopTimeout)
		}
	case inSpawned:
		if in.start != m.start || m.alive {
			do.ignored = true
			return do
		}
		m.alive, m.spawnedAt = true, now
		switch {
		case m.killed:
			do.kill = true
		case m.termed:
			do.term = true
		}
	case inReport:
		if in.start != m.start || !m.alive || !m.state.coming() || in.state <= m.state {
			do.ignored = true
			return do
		}
		if in.state == StateReady {
			m.readyAt, m.deadline = now, 0
		}
		do.move(m, in.state, CauseReport)
	case inGone:
		if in.start != m.start || !m.state.occupied() {
			do.ignored = true
			return do
		}
		m.settle(now, in.end, &do)
	case inTick:
		if m.deadline != 0 && now >= m.deadline {
			m.expire(now, &do)
		}
	}
	return do
}

// begin starts the next start.
func (m *machine) begin(now clock.Mono, do *effects, cause Cause) {
	m.start++
	m.alive, m.termed, m.killed, m.why = false, false, false, ""
	m.spawnedAt, m.readyAt = 0, 0
	m.deadline = now + clock.Mono(m.startTimeoutNS)
	do.spawn = true
	do.move(m, StateStarting, cause)
}

// expire follows the edge whose deadline has come.
func (m *machine) expire(now clock.Mono, do *effects) {
	switch {
	case m.state.coming():
		m.why = CauseStartTimeout
		m.kill(now, do)
		do.move(m, StateStopping, CauseStartTimeout)
	case m.state == StateDraining:
		m.termed = true
		do.term = true
		m.deadline = now + clock.Mono(m.stopTimeoutNS-m.stopTimeoutNS/2)
		do.move(m, StateStopping, CauseAsked)
	case m.state == StateStopping && !m.killed:
		m.why = CauseStopTimeout
		m.kill(now, do)
		do.move(m, StateStopping, CauseStopTimeout)
	case m.state == StateStopping:
		// Nothing stronger than SIGKILL is left. The task keeps its place, so that
		// no second process is started beside one that may come back.
		m.deadline = 0
		do.move(m, StateKillPending, CauseKilled)
	case m.state == StateBackoff:
		m.begin(now, do, CauseRestart)
	}
}

func (m *machine) kill(now clock.Mono, do *effects) {
	m.killed = true
	do.kill = m.alive
	m.deadline = now + clock.Mono(m.killWaitNS)
}

// settle decides what follows an end.
func (m *machine) settle(now clock.Mono, end ending, do *effects) {
	cause := m.why
	if cause == "" || cause == CauseStop && !end.orderly(m.termed) {
		// A crash while draining is a crash.
		cause = end.cause()
	}
	do.gone, do.endCause = true, cause
	if m.spawnedAt != 0 {
		do.upTimeNS = int64(now - m.spawnedAt)
	}
	if m.readyAt != 0 {
		do.toReadyNS = int64(m.readyAt - m.spawnedAt)
	}
	m.alive, m.deadline = false, 0
	do.move(m, StateExited, cause)
	switch {
	case !m.wanted:
		do.move(m, StateStopped, cause)
	case m.why == CauseStop || m.why == CauseStopTimeout:
		// Stopped and wanted again meanwhile.
		m.begin(now, do, CauseAsked)
	case cause == CausePermanent:
		do.move(m, StateFailed, cause)
	default:
		do.backoffNS = m.growBackoff(now)
		m.deadline = now + clock.Mono(do.backoffNS)
		do.move(m, StateBackoff, cause)
	}
}

// readyGraces is how often in a row a child that had been ready comes back after the
// shortest back-off before it grows: one kill, or a few, must not cost the pictures
// of seconds, and a child that dies whenever it is ready must not load its model for
// ever.
const readyGraces = 3

// growBackoff counts one more failure and returns the wait before the next start.
func (m *machine) growBackoff(now clock.Mono) int64 {
	if m.readyAt != 0 && int64(now-m.readyAt) >= m.backoff.ResetNS {
		m.failures, m.graces = 0, 0
	}
	if m.readyAt != 0 && m.graces < readyGraces {
		m.graces++
		return m.backoff.FirstNS
	}
	waitNS := m.backoff.FirstNS
	for range m.failures {
		if waitNS >= m.backoff.MaxNS/2 {
			waitNS = m.backoff.MaxNS
			break
		}
		waitNS *= 2
	}
	m.failures++
	return waitNS
}
