package supervise

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
)

// task is one child's owner: the goroutine of run alone touches its machine and its
// process. Everybody else sends it a request or reads the published status.
type task struct {
	sup  *Supervisor
	spec Spec
	job  json.RawMessage

	requests chan request
	launched chan launched // one start is under way at most, so one place is enough
	done     chan struct{} // closed when run has returned

	machine machine
	process *process     // nil: none
	waiting []chan error // callers that wait for the present start to be gone
	remove  bool

	mu     sync.Mutex
	status TaskStatus
}

// request is what a caller wants of a task. The answer comes at once for inStart, and
// when the process is gone for the others.
type request struct {
	kind   inputKind
	remove bool
	answer chan error
}

type launched struct {
	start   uint64
	process *process
	err     error
}

func newTask(s *Supervisor, spec Spec, job json.RawMessage) *task {
	return &task{
		sup: s, spec: spec, job: job,
		requests: make(chan request), launched: make(chan launched, 1), done: make(chan struct{}),
		machine: machine{timing: timing{
			startTimeoutNS: spec.StartTimeoutNS, stopTimeoutNS: spec.StopTimeoutNS,
			killWaitNS: killWaitNS, backoff: spec.Backoff,
		}},
		status: TaskStatus{Task: spec.Task, Since: clock.Now()},
	}
}

// ask sends r to the owner and waits for the answer, for ctx or for the owner's end.
func (t *task) ask(ctx context.Context, r request) error {
	r.answer = make(chan error, 1)
	select {
	case t.requests <- r:
	case <-t.done:
		return t.gone(r)
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gone answers for a task that was removed meanwhile.
func (t *task) gone(r request) error {
	if r.kind == inStart {
		return ErrNoTask
	}
	return nil
}

func (t *task) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// run is the owner. It returns when the task is stopped and to be removed.
func (t *task) run() {
	defer close(t.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	t.step(input{kind: inStart})
	for !t.remove || t.machine.state != StateStopped {
		var dead <-chan struct{}
		var words <-chan report
		if t.process != nil {
			dead, words = t.process.dead, t.process.words
		}
		var due <-chan time.Time
		if t.machine.deadline != 0 {
			timer.Reset(time.Duration(t.machine.deadline - clock.Now()))
			due = timer.C
		}
		select {
		case r := <-t.requests:
			t.take(r)
		case l := <-t.launched:
			t.takeLaunched(l)
		case r := <-words:
			t.takeReport(r)
		case <-dead:
			t.process.killGroup()
			t.process.lastWords(t.takeReport)
			t.bury(func(r *ExitRecord) ending { return t.process.finish(r) })
		case <-due:
			t.step(input{kind: inTick})
		}
	}
}

func (t *task) take(r request) {
	if r.kind == inStart {
		if t.remove {
			r.answer <- ErrNoTask
			return
		}
		t.step(input{kind: inStart})
		r.answer <- nil
		return
	}
	t.remove = t.remove || r.remove
	t.waiting = append(t.waiting, r.answer)
	t.step(input{kind: r.kind})
}

func (t *task) takeLaunched(l launched) {
	if l.err != nil {
		explained, permanent := startError(t.spec.Path, l.err)
		t.bury(func(r *ExitRecord) ending {
			r.Error = Mask(explained.Error())
			return ending{startErr: explained, permanent: permanent}
		})
		return
	}
	t.process = l.process
	t.process.watch(t.logLines())
	t.mu.Lock()
	t.status.PID = l.process.pid
	t.mu.Unlock()
	t.sup.journal.add(slog.LevelDebug, "child started", slog.String("task", t.spec.Task),
		slog.Uint64("start", l.start), slog.Int("pid", l.process.pid))
	t.step(input{kind: inSpawned, start: l.start})
}

// takeReport knows that r comes from the child of this start (readWords).
func (t *task) takeReport(r report) {
	to := StateStarting
	switch {
	case r.Type == "ready":
		to = StateReady
	case r.Name == StateBuilding.String():
		to = StateBuilding
	case r.Name == StateWarming.String():
		to = StateWarming
	}
	t.mu.Lock()
	if to == StateReady {
		t.status.Ready = r.Detail
	} else {
		t.status.Note, t.status.Detail = r.Name, r.Detail
	}
	t.mu.Unlock()
	if to != StateStarting {
		t.stepWith(input{kind: inReport, start: r.Start, state: to}, r, nil)
		return
	}
	t.sup.onEvent(Event{
		Task: t.spec.Task, Start: r.Start, At: clock.Now(), From: t.machine.state, State: t.machine.state,
		Cause: CauseNote, PID: t.process.pid, Note: r.Name, Detail: r.Detail,
	})
}

// bury ends a start: collect fills the record and says how it ended.
func (t *task) bury(collect func(*ExitRecord) ending) {
	record := &ExitRecord{Task: t.spec.Task, Start: t.machine.start, LastStderr: []string{}}
	end := collect(record)
	t.process = nil
	if t.spec.LastFrame != nil {
		frame := t.spec.LastFrame()
		record.LastFrame = &frame
	}
	record.EndedAt = time.Now()
	t.stepWith(input{kind: inGone, start: t.machine.start, end: end}, report{}, record)
}

func (t *task) step(in input) { t.stepWith(in, report{}, nil) }

// stepWith runs the machine and does what it says: first to the process, then the news
// of it, then the next start.
func (t *task) stepWith(in input, r report, record *ExitRecord) {
	now := clock.Now()
	do := t.machine.step(now, in)
	if record != nil {
		record.Cause, record.UpTimeNS, record.ToReadyNS = do.endCause, do.upTimeNS, do.toReadyNS
	}
	if do.ignored && in.kind == inReport && t.process != nil {
		t.process.ignored.Add(1)
	}
	if do.drain {
		t.process.drain()
	}
	if do.term {
		t.process.terminate()
	}
	if do.kill {
		t.process.kill()
	}
	for _, m := range do.moves {
		t.tell(now, m, r, record, do.backoffNS)
	}
	if do.spawn {
		t.spawn()
	}
	t.answer(do.gone)
}

// answer tells those who wait for a stop.
func (t *task) answer(gone bool) {
	var err error
	switch {
	case gone, t.machine.state == StateStopped:
	case t.machine.state == StateKillPending:
		err = ErrKillPending
	default:
		return
	}
	for _, w := range t.waiting {
		w <- err
	}
	t.waiting = t.waiting[:0]
}

// spawn has the spawn thread start the process; the answer comes on launched, so that
// a program on a dead disk does not hold the owner.
func (t *task) spawn() {
	start := t.machine.start
	err := t.sup.thread.enqueue(func() {
		p, err := launch(&t.spec, start, t.job, t.sup.null)
		t.launched <- launched{start, p, err}
	})
	if err != nil {
		t.launched <- launched{start, nil, err}
	}
}

// tell publishes one transition: status, callback, log.
func (t *task) tell(now clock.Mono, m move, r report, record *ExitRecord, backoffNS int64) {
	e := Event{Task: t.spec.Task, Start: t.machine.start, At: now, From: m.from, State: m.to, Cause: m.cause}
	if t.process != nil {
		e.PID = t.process.pid
	}
	switch m.to {
	case StateStarting:
		// begin has raised the number already when an end is told in the same step.
	case StateReady:
		e.Ready = r.Detail
	case StateBuilding, StateWarming:
		e.Note, e.Detail = r.Name, r.Detail
	case StateBackoff:
		e.BackoffNS = backoffNS
	case StateExited:
		e.Exit, e.PID, e.Start = record, record.PID, record.Start
	}
	t.mu.Lock()
	st := &t.status
	st.State, st.Cause, st.Since, st.Start, st.PID = e.State, e.Cause, now, e.Start, e.PID
	st.ReadyAt, st.NextStart = t.machine.readyAt, 0
	switch m.to {
	case StateStarting:
		st.Ready, st.Note, st.Detail = nil, "", nil
	case StateBackoff:
		st.NextStart = t.machine.deadline
	case StateExited:
		st.LastExit = record
		st.IgnoredReports += record.IgnoredReports
	}
	if !m.to.occupied() {
		st.PID, st.ReadyAt = 0, 0
	}
	t.mu.Unlock()
	t.sup.onEvent(e)
	t.sup.journal.event(e)
}

// logLines returns what passes the lines of one start on to the log.
func (t *task) logLines() func(line) {
	limit := limiter{burst: lineBurst, intervalNS: lineIntervalNS}
	suppressed := uint64(0)
	return func(l line) {
		if limit.take(clock.Now()) > 0 {
			suppressed++
			return
		}
		attrs := []slog.Attr{slog.String("task", t.spec.Task), slog.String("line", l.String())}
		if suppressed > 0 {
			attrs = append(attrs, slog.Uint64("suppressed", suppressed))
			suppressed = 0
		}
		t.sup.journal.add(slog.LevelInfo, "output", attrs...)
	}
}

func (t *task) snapshot() TaskStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}
