package appliance

import (
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/shm"
)

// word is the newest of what the supervisor said about one task.
type word struct {
	start uint64
	state supervise.State
	ready json.RawMessage
	note  string // of captures: streaming, retrying, ended
	why   json.RawMessage
	exit  *supervise.ExitRecord // how the last start that has ended did; nil = none has
}

// mailbox carries supervisor events to the path's thread. It keeps the newest word
// per task, so it is bounded by the number of tasks; a death between two looks shows
// as a new start number.
type mailbox struct {
	bell  *shm.Doorbell
	fresh atomic.Bool
	mu    sync.Mutex
	words map[string]word
	order []string // tasks, by their newest word
}

// put takes an event from any goroutine.
func (m *mailbox) put(e supervise.Event) {
	m.mu.Lock()
	if m.words == nil {
		m.words = make(map[string]word)
	}
	w := m.words[e.Task]
	if w.start != e.Start {
		w = word{start: e.Start, exit: w.exit}
	}
	w.state = e.State
	if e.Exit != nil {
		w.exit = e.Exit
	}
	if e.Ready != nil {
		w.ready = e.Ready
	}
	if e.Note != "" {
		w.note, w.why = e.Note, e.Detail
	}
	m.words[e.Task] = w
	m.order = append(slices.DeleteFunc(m.order, func(task string) bool { return task == e.Task }), e.Task)
	m.mu.Unlock()
	m.fresh.Store(true)
	m.bell.Ring()
}

// take calls f for every task when anything changed since the last call, in the order in which it
// was said: who of two died first may decide how a frame closes.
func (m *mailbox) take(f func(task string, w word)) bool {
	if !m.fresh.Load() || !m.fresh.Swap(false) { // asked every turn: a swap costs a barrier
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, task := range m.order {
		f(task, m.words[task])
	}
	return true
}
