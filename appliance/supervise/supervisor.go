package supervise

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// Errors of a Supervisor.
var (
	// ErrNoTask is returned for a name no Add has given, or that was removed.
	ErrNoTask = errors.New("no such task")
	// ErrShutdown is returned once Shutdown has begun.
	ErrShutdown = errors.New("supervisor is shutting down")
	// ErrKillPending is returned when a child was sent SIGKILL and is still not gone.
	ErrKillPending = errors.New("sent SIGKILL and still there: stuck in the kernel, often on a dead disk, network share or driver")
)

// Options of a Supervisor.
type Options struct {
	// Log takes transitions and the children's lines, secrets masked; nil: no log.
	Log *slog.Logger
	// OnEvent, if set, is called for every event: in order within a task, concurrently
	// for different ones, from the task's goroutine. It returns soon, and may call
	// Snapshot but none of the methods that wait.
	OnEvent func(Event)
}

// Supervisor keeps tasks running. Its methods may be called from any goroutine.
type Supervisor struct {
	onEvent func(Event)
	journal *journal
	thread  *Thread
	null    *os.File

	mu      sync.Mutex
	tasks   map[string]*task
	closing bool
}

// New returns a Supervisor with no tasks. Children live as long as it: Shutdown must be
// called in the end, and once.
func New(o Options) (*Supervisor, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("open the children's stdin: %w", err)
	}
	thread, err := NewThread()
	if err != nil {
		null.Close()
		return nil, err
	}
	s := &Supervisor{onEvent: o.OnEvent, thread: thread, null: null, tasks: make(map[string]*task)}
	if s.onEvent == nil {
		s.onEvent = func(Event) {}
	}
	s.journal = newJournal(o.Log)
	return s, nil
}

// Add makes a task of spec and starts it. An error means that the spec is wrong, its
// name is taken or there are too many tasks; a program that cannot be started is not an
// error here but a task in state failed, with an exit record.
func (s *Supervisor) Add(spec Spec) error {
	if err := spec.check(); err != nil {
		return err
	}
	job, err := json.Marshal(spec.Hello)
	if err != nil {
		return fmt.Errorf("encode job of %s: %w", spec.Task, err)
	}
	if _, err := spec.hello(^uint64(0), job); err != nil {
		return fmt.Errorf("encode job of %s: %w", spec.Task, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return fmt.Errorf("add task %s: %w", spec.Task, ErrShutdown)
	case s.tasks[spec.Task] != nil && !s.tasks[spec.Task].ended():
		return fmt.Errorf("add task %s: there is one of that name", spec.Task)
	case len(s.tasks) >= maxTasks:
		return fmt.Errorf("add task %s: there are %d tasks, the most one supervisor runs", spec.Task, maxTasks)
	}
	t := newTask(s, spec, job)
	s.tasks[spec.Task] = t
	go t.run()
	return nil
}

// Start has a stopped or failed task run again, or one in back-off start at once, with
// its back-off reset. It does not wait.
func (s *Supervisor) Start(ctx context.Context, name string) error {
	_, err := s.ask(ctx, name, request{kind: inStart})
	return err
}

// Stop ends a task in order and waits until its process is gone, which takes at most
// the stop timeout and five seconds more; then the error is ErrKillPending. A task in
// back-off is stopped at once. The task stays known; ctx bounds the waiting only.
func (s *Supervisor) Stop(ctx context.Context, name string) error {
	_, err := s.ask(ctx, name, request{kind: inStop})
	return err
}

// Remove is Stop, and forgets the task. From then on its files are no longer used.
func (s *Supervisor) Remove(ctx context.Context, name string) error {
	t, err := s.ask(ctx, name, request{kind: inStop, remove: true})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Another Remove may have been first, and another Add after it.
	if s.tasks[name] == t {
		delete(s.tasks, name)
	}
	return nil
}

func (s *Supervisor) ask(ctx context.Context, name string, r request) (*task, error) {
	s.mu.Lock()
	t := s.tasks[name]
	s.mu.Unlock()
	if t == nil {
		return nil, fmt.Errorf("task %.128q: %w", name, ErrNoTask)
	}
	if err := t.ask(ctx, r); err != nil {
		return nil, fmt.Errorf("task %s: %w", name, err)
	}
	return t, nil
}

// Snapshot returns the status of every task, by name.
func (s *Supervisor) Snapshot() []TaskStatus {
	s.mu.Lock()
	all := make([]TaskStatus, 0, len(s.tasks))
	for _, t := range s.tasks {
		all = append(all, t.snapshot())
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b TaskStatus) int { return cmp.Compare(a.Task, b.Task) })
	return all
}

// Shutdown stops all tasks at once, kills those still there when ctx ends, and returns
// when every process is gone, at the latest six seconds after that. The error names
// tasks whose processes are not; they end with this process.
func (s *Supervisor) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return ErrShutdown
	}
	s.closing = true
	all := make([]*task, 0, len(s.tasks))
	for _, t := range s.tasks {
		all = append(all, t)
	}
	s.mu.Unlock()

	askAll(ctx, all, request{kind: inStop, remove: true})
	var errs []error
	if left := slices.DeleteFunc(all, (*task).ended); len(left) > 0 {
		killCtx, cancel := context.WithTimeout(context.Background(), time.Duration(killWaitNS)+time.Second)
		errs = askAll(killCtx, left, request{kind: inKill, remove: true})
		cancel()
	}
	if err := errors.Join(errs...); err != nil {
		s.journal.close()
		return fmt.Errorf("shut down: %w", err)
	}
	s.thread.Close()
	s.journal.close()
	s.null.Close()
	return nil
}

// askAll asks all tasks at the same time and waits for each.
func askAll(ctx context.Context, all []*task, r request) []error {
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, t := range all {
		wait.Go(func() {
			if err := t.ask(ctx, r); err != nil {
				errs[i] = fmt.Errorf("task %s: %w", t.spec.Task, err)
			}
		})
	}
	wait.Wait()
	return errs
}
