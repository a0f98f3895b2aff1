package supervise

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	journalEntries = 512
	// Lines of one start passed on to the log: a burst, then ten a second.
	lineBurst      = 50
	lineIntervalNS = int64(100 * time.Millisecond)
	// journalWait bounds what close waits for a log that does not take its entries.
	journalWait = time.Second
)

// journal stands between the tasks and the log, so that a log nobody reads stalls
// neither a child's output nor a restart. What does not fit is counted and said later.
type journal struct {
	log     *slog.Logger
	entries chan entry
	lost    atomic.Uint64
	closed  chan struct{}
	done    chan struct{}
}

type entry struct {
	level slog.Level
	text  string
	attrs []slog.Attr
}

func newJournal(log *slog.Logger) *journal {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	j := &journal{
		log: log, entries: make(chan entry, journalEntries),
		closed: make(chan struct{}), done: make(chan struct{}),
	}
	go j.run()
	return j
}

// add never blocks.
func (j *journal) add(level slog.Level, text string, attrs ...slog.Attr) {
	select {
	case j.entries <- entry{level, text, attrs}:
	default:
		j.lost.Add(1)
	}
}

func (j *journal) run() {
	defer close(j.done)
	for {
		select {
		case e := <-j.entries:
			j.put(e)
		case <-j.closed:
			for len(j.entries) > 0 {
				j.put(<-j.entries)
			}
			return
		}
	}
}

func (j *journal) put(e entry) {
	j.log.LogAttrs(context.Background(), e.level, e.text, e.attrs...)
	if n := j.lost.Swap(0); n > 0 {
		j.log.LogAttrs(context.Background(), slog.LevelWarn, "log entries lost", slog.Uint64("count", n))
	}
}

func (j *journal) close() {
	close(j.closed)
	timer := time.NewTimer(journalWait)
	defer timer.Stop()
	select {
	case <-j.done:
	case <-timer.C:
	}
}

// event logs a transition. An end is a warning unless it was asked for.
func (j *journal) event(e Event) {
	attrs := []slog.Attr{slog.String("task", e.Task), slog.Uint64("start", e.Start), slog.String("cause", string(e.Cause))}
	level := slog.LevelDebug
	switch e.State {
	case StateReady, StateStopped:
		level = slog.LevelInfo
	case StateExited:
		level = slog.LevelWarn
		if e.Cause == CauseStop {
			level = slog.LevelInfo
		}
		attrs = append(attrs, slog.Int("pid", e.Exit.PID), slog.String("end", e.Exit.String()))
	case StateBackoff:
		level = slog.LevelWarn
		attrs = append(attrs, slog.Duration("next_start_in", time.Duration(e.BackoffNS)))
	case StateFailed, StateKillPending:
		level = slog.LevelError
	}
	j.add(level, "child "+e.State.String(), attrs...)
}
