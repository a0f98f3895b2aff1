package shm

import (
	"fmt"
	"strings"
)

// machine visits every state that its programs can reach.
type machine struct {
	processor processor
	names     []string // of the threads
	programs  [][]instr
	words     []string     // of memory, for the reader of a trace
	final     func(*world) // told of each end, if set

	seen   map[string]int32
	parent []int32  // of each state
	step   []string // that led to it
	queue  []*world // breadth first: the first trace found is a shortest one
	broken string   // what was wrong, "" while all is well
	at     int32    // the state it came from
}

// explore returns the number of states, and the steps to a broken one if there is one.
func (m *machine) explore(memory int) (states int, trace []string) {
	m.seen = map[string]int32{}
	first := &world{mem: make([]int8, memory), threads: make([]thread, len(m.programs))}
	for i := range first.threads {
		first.threads[i].known = 0xff
	}
	m.settle(first, -1, "start")
	for i := 0; i < len(m.queue) && m.broken == ""; i++ {
		w := m.queue[i]
		m.queue[i] = nil
		m.at = int32(i)
		m.successors(w)
	}
	if m.broken == "" {
		return len(m.parent), nil
	}
	for i := m.at; m.parent[i] >= 0; i = m.parent[i] {
		trace = append([]string{m.step[i]}, trace...)
	}
	return len(m.parent), append(trace, m.broken)
}

// successors performs each instruction that may be next.
func (m *machine) successors(w *world) {
	moved := false
	for i := range w.threads {
		t := &w.threads[i]
		for k := range t.window {
			if !m.mayPerform(i, t, k) {
				continue
			}
			moved = true
			next := w.clone()
			m.settle(next, m.at, m.perform(next, i, k))
			if m.broken != "" {
				return
			}
		}
	}
	if moved {
		return
	}
	for i := range w.threads {
		switch t := &w.threads[i]; {
		case t.asleep:
			m.broken = m.names[i] + " sleeps, and nobody is left to wake it"
		case m.programs[i][t.pc].op != opEnd:
			m.broken = m.names[i] + " is stuck at " + m.programs[i][t.pc].name
		}
	}
	if m.final != nil {
		m.final(w)
	}
}

func (m *machine) mayPerform(i int, t *thread, k int) bool {
	code := m.programs[i]
	in := &code[t.window[k].pc]
	if in.op == opIf {
		return false // settle resolves it
	}
	for _, earlier := range t.window[:k] {
		if m.before(&code[earlier.pc], in, earlier.loc == t.window[k].loc) {
			return false
		}
	}
	return true
}

// perform does entry k of thread i's window and says what it did.
func (m *machine) perform(w *world, i, k int) string {
	t := &w.threads[i]
	f := t.window[k]
	in := &m.programs[i][f.pc]
	value := f.value
	switch in.op {
	case opLoad:
		value = w.mem[f.loc]
		for _, earlier := range t.window[:k] {
			if m.programs[i][earlier.pc].op == opStore && earlier.loc == f.loc {
				value = earlier.value // from the store buffer, the youngest last
			}
		}
		t.regs[in.reg] = value
		t.known |= 1 << in.reg
	case opStore:
		w.mem[f.loc] = f.value
	case opAdd:
		w.mem[f.loc]++
	case opWait:
		t.asleep = w.mem[f.loc] == f.value
	case opWake:
		for j := range w.threads {
			w.threads[j].asleep = false
		}
	}
	t.window = append(t.window[:k], t.window[k+1:]...)
	return m.describe(i, in, f.loc, value)
}

// settle resolves guesses, fetches as far as it can, and queues the states that follow.
// Fetching is no choice: it has no effect that another processor could see.
func (m *machine) settle(w *world, parent int32, step string) {
	for i := range w.threads {
		if !m.resolve(i, &w.threads[i]) {
			return // a wrong guess
		}
	}
	for i := range w.threads {
		for {
			if m.broken != "" {
				return
			}
			goOn, fork := m.fetch(i, &w.threads[i])
			if fork != nil {
				other := w.clone()
				other.threads[i] = *fork
				m.settle(other, parent, step)
			}
			if !goOn {
				break
			}
		}
	}
	if m.broken != "" {
		if parent >= 0 {
			m.broken = step + "; then " + m.broken
		}
		return
	}
	key := w.key()
	if _, old := m.seen[key]; old {
		return
	}
	m.seen[key] = int32(len(m.parent))
	m.parent = append(m.parent, parent)
	m.step = append(m.step, step)
	m.queue = append(m.queue, w)
}

// resolve compares guesses whose operands have come with the truth.
func (m *machine) resolve(i int, t *thread) bool {
	kept := t.window[:0]
	for _, f := range t.window {
		in := &m.programs[i][f.pc]
		if in.op == opIf && in.a.known(t) && in.b.known(t) {
			if holds(in, t) != f.taken {
				return false
			}
			continue
		}
		kept = append(kept, f)
	}
	t.window = kept
	return true
}

func holds(in *instr, t *thread) bool {
	a, b := in.a.get(t), in.b.get(t)
	switch in.rel {
	case less:
		return a < b
	case equal:
		return a == b
	}
	return a != b
}

// fetch takes in the next instruction of thread i. A guess gives a second thread, which
// guessed otherwise. What computes waits for its operands, and a check also for guesses.
func (m *machine) fetch(i int, t *thread) (goOn bool, fork *thread) {
	in := &m.programs[i][t.pc]
	if t.asleep || in.op == opEnd {
		return false, nil
	}
	if n := len(t.window); n > 0 && m.blocksAll(&m.programs[i][t.window[n-1].pc]) {
		return false, nil
	}
	if in.op == opFence && in.order != seqCst && m.processor == amd64 {
		t.pc++ // no instruction at all
		return true, nil
	}
	known := in.a.known(t) && in.b.known(t) && in.place.index.known(t)
	f := flight{pc: t.pc}
	switch in.op {
	case opIf:
		if known {
			t.pc++
			if holds(in, t) {
				t.pc = uint8(in.to)
			}
			return true, nil
		}
		if t.guesses() == maxGuesses {
			return false, nil
		}
		f.value = guess
		other := *t
		other.window = append(append([]flight(nil), t.window...), flight{pc: t.pc, value: guess, taken: true})
		other.pc = uint8(in.to)
		t.window = append(t.window, f)
		t.pc++
		return true, &other
	case opSet:
		if !known || t.known&(1<<in.reg) == 0 {
			return false, nil
		}
		t.regs[in.reg] = in.a.get(t) + in.b.get(t)
		t.pc++
		return true, nil
	case opCheck:
		if !known || t.guesses() > 0 {
			return false, nil
		}
		if !holds(in, t) {
			m.broken = fmt.Sprintf("%s %s (%d and %d)", m.names[i], in.name, in.a.get(t), in.b.get(t))
		}
		t.pc++
		return true, nil
	}
	if !known || in.op == opLoad && t.known&(1<<in.reg) == 0 {
		return false, nil
	}
	f.loc, f.value = in.place.loc(t), in.a.get(t)
	if in.op == opFence {
		f.loc = -1
	}
	if in.op == opLoad {
		f.value = 0
		t.known &^= 1 << in.reg
	}
	t.window = append(t.window, f)
	t.pc++
	return true, nil
}

// traceText is a trace as a test prints it.
func traceText(trace []string) string { return "  " + strings.Join(trace, "\n  ") }
