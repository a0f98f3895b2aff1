package shm

import (
	"fmt"
	"os"
	"testing"
)

// The slot protocol, W1…W5 against R1…R5, on every execution of a few messages through a
// ring of two slots whose bodies are two words.

const (
	modelSlots = 2
	wordHead   = 0
	wordSlot   = 1 // sequence and body of slot 0, then of slot 1
	slotWords  = 3
	slotMemory = wordSlot + modelSlots*slotWords
)

var slotNames = []string{"head", "sequence 0", "body 0", "body 0'", "sequence 1", "body 1", "body 1'"}

func slotWord(word int, sequence val) place {
	return place{at: int8(wordSlot + word), index: sequence, slots: modelSlots, stride: slotWords}
}

// slotChange leaves out or weakens one step. The zero value is the protocol as it is.
type slotChange struct {
	noW1, noW2, plainW4, headFirst, plainW5 bool
	plainR1, plainR2, noR4, noR5            bool
	beyondHead                              bool // slots are looked at before head shows them
}

// slotWriter publishes messages until there are n, going on at the head it finds. What it
// writes into a body is sign + sequence, so that two writers of one number differ.
func slotWriter(p *program, c slotChange, n, sign int) {
	const k reg = 1 // own copy of head
	p.add(instr{name: "attach", op: opLoad, reg: k, place: place{at: wordHead}, order: acquire})
	again, done := fmt.Sprint("again", sign), fmt.Sprint("done", sign)
	p.label(again)
	p.add(instr{name: "more", op: opIf, a: k.v(), b: num(n), rel: equal, target: done})
	m := k.plus(1)
	store := func(name string, at place, v val, o order) {
		p.add(instr{name: name, op: opStore, place: at, a: v, order: o})
	}
	weak := func(plainly bool) order {
		if plainly {
			return plain
		}
		return release
	}
	if !c.noW1 {
		store("W1", slotWord(0, m), num(0), release)
	}
	if !c.noW2 {
		p.add(instr{name: "W2", op: opFence, order: release})
	}
	store("W3", slotWord(1, m), k.plus(1+sign), plain)
	store("W3'", slotWord(2, m), k.plus(1+sign), plain)
	if c.headFirst {
		store("W5", place{at: wordHead}, m, weak(c.plainW5))
	}
	store("W4", slotWord(0, m), m, weak(c.plainW4))
	if !c.headFirst {
		store("W5", place{at: wordHead}, m, weak(c.plainW5))
	}
	p.add(instr{name: "next", op: opSet, reg: k, a: m},
		instr{name: "loop", op: opIf, rel: equal, target: again})
	p.label(done)
}

// slotReader is Reader.Next until all n messages are read or counted lost.
func slotReader(c slotChange, n int) []instr {
	const p, h, s, a, b, read, lost reg = 1, 2, 3, 4, 5, 6, 7
	var r program
	weak := func(plainly bool) order {
		if plainly {
			return plain
		}
		return acquire
	}
	jump := func(target string) { r.add(instr{name: "goto", op: opIf, rel: equal, target: target}) }
	load := func(name string, to reg, at place, o order) {
		r.add(instr{name: name, op: opLoad, reg: to, place: at, order: o})
	}
	set := func(to reg, x, y val) { r.add(instr{name: "set", op: opSet, reg: to, a: x, b: y}) }
	// skip loses all before h − slots + 1: lost and p rise by h − slots + 1 − p. The machine
	// has no minus, so it goes message by message.
	skip := func(name string, then string) {
		r.label(name)
		r.add(instr{name: "lapped?", op: opIf, a: h.plus(1), b: p.plus(modelSlots + 1), rel: less, target: then})
		set(lost, lost.plus(1), num(0))
		set(p, p.plus(1), num(0))
		jump(name)
	}

	r.add(instr{name: "first", op: opSet, reg: p, a: num(1)})
	r.label("next")
	r.add(instr{name: "all?", op: opIf, a: p.v(), b: num(n + 1), rel: equal, target: "done"})
	if !c.beyondHead {
		r.add(instr{name: "seen?", op: opIf, a: p.v(), b: h.plus(1), rel: less, target: "slot"})
	}
	load("R1", h, place{at: wordHead}, weak(c.plainR1))
	if !c.beyondHead {
		r.add(instr{name: "new?", op: opIf, a: h.v(), b: p.v(), rel: less, target: "next"})
	}
	skip("skip", "slot")
	r.label("slot")
	load("R2", s, slotWord(0, p.v()), weak(c.plainR2))
	r.add(instr{name: "R2?", op: opIf, a: s.v(), b: p.v(), rel: different, target: "lapped"})
	load("R3", a, slotWord(1, p.v()), plain)
	load("R3'", b, slotWord(2, p.v()), plain)
	if !c.noR4 {
		r.add(instr{name: "R4", op: opFence, order: acquire})
	}
	if !c.noR5 {
		load("R5", s, slotWord(0, p.v()), acquire)
		r.add(instr{name: "R5?", op: opIf, a: s.v(), b: p.v(), rel: different, target: "lapped"})
	}
	r.add(instr{name: "torn: the two halves of a body", op: opCheck, a: a.v(), b: b.v(), rel: equal})
	r.add(instr{name: "of this writer?", op: opIf, a: a.v(), b: p.v(), rel: equal, target: "whole"})
	r.add(instr{name: "torn: body and sequence", op: opCheck, a: a.v(), b: p.plus(secondWriter), rel: equal})
	r.label("whole")
	set(read, read.plus(1), num(0))
	set(p, p.plus(1), num(0))
	jump("next")

	r.label("lapped")
	if c.beyondHead { // then a mismatch may just mean that it is not there yet
		jump("next")
	}
	load("h'", h, place{at: wordHead}, acquire)
	r.add(instr{name: "nonsense: an honest writer quarantined", op: opCheck, a: p.plus(modelSlots - 1), b: h.plus(1), rel: less})
	r.add(instr{name: "a lap or more?", op: opIf, a: p.plus(modelSlots - 1), b: h.v(), rel: less, target: "skip"})
	set(lost, lost.plus(1), num(0))
	set(p, p.plus(1), num(0))
	jump("next")

	r.label("done")
	set(read, read.v(), lost.v())
	r.add(instr{name: "written = read + lost", op: opCheck, a: read.v(), b: num(n), rel: equal})
	return r.finish()
}

// secondWriter marks the bodies of a successor.
const secondWriter = 50

// slotMachine has one writer; die says after how many of its instructions it is killed and
// followed by another. What it had stored by then is performed: the kernel has seen it end.
func slotMachine(p processor, c slotChange, n, die int) *machine {
	var w program
	slotWriter(&w, c, n, 0)
	if die >= 0 {
		first := unrolled(w.finish(), n)
		w = program{code: first[:min(die, len(first))]}
		w.add(instr{name: "killed", op: opFence, order: seqCst})
		slotWriter(&w, c, n, secondWriter)
	}
	return &machine{
		processor: p, names: []string{"writer", "reader"}, words: slotNames,
		programs: [][]instr{w.finish(), slotReader(c, n)},
	}
}

// unrolled is a writer's program without its loop: n times its body, the tests left out.
func unrolled(code []instr, n int) []instr {
	flat := []instr{code[0]}
	for range n {
		flat = append(flat, code[2:len(code)-2]...)
	}
	return flat
}

// modelMessages bounds the model: four laps around the ring, or eight. The broken protocols
// below need no more than two to show.
func modelMessages() int {
	switch {
	case os.Getenv("SKEWGATE_LONG") != "":
		return 16
	case raceEnabled: // one goroutine, ten times slower
		return 6
	}
	return 8
}

func TestSlotOrdering(t *testing.T) {
	for _, p := range []processor{amd64, arm64} {
		t.Run(p.String(), func(t *testing.T) {
			states, trace := slotMachine(p, slotChange{}, modelMessages(), -1).explore(slotMemory)
			if trace != nil {
				t.Fatalf("broken:\n%s", traceText(trace))
			}
			t.Logf("%d messages, %d slots: %d states, nothing torn, nothing miscounted", modelMessages(), modelSlots, states)
		})
	}
}

// The same with a writer that is killed after each of its instructions. F21
func TestSlotOrderingKilled(t *testing.T) {
	n := modelMessages() / 2
	for _, p := range []processor{amd64, arm64} {
		t.Run(p.String(), func(t *testing.T) {
			sum, points := 0, 0
			for die := 0; ; die++ {
				m := slotMachine(p, slotChange{}, n, die)
				states, trace := m.explore(slotMemory)
				if trace != nil {
					t.Fatalf("killed after %d instructions:\n%s", die, traceText(trace))
				}
				sum, points = sum+states, points+1
				var w program
				slotWriter(&w, slotChange{}, n, 0)
				if die >= len(unrolled(w.finish(), n)) {
					break
				}
			}
			t.Logf("%d places to be killed: %d states, nothing torn, nothing miscounted", points, sum)
		})
	}
}

// Each step is there for a reason, and the machine finds it. What a processor does not
// need, TSO above all, it does not miss.
func TestSlotOrderingWithout(t *testing.T) {
	for _, row := range []struct {
		name         string
		change       slotChange
		amd64, arm64 bool // whether it breaks there
	}{
		{"W1", slotChange{noW1: true}, true, true},
		{"W2", slotChange{noW2: true}, false, true},
		// Head is what publishes: with a reader that stays behind it, W5 covers W3 and W4.
		{"the release of W4", slotChange{plainW4: true}, false, false},
		{"the release of W4, beyond head", slotChange{plainW4: true, beyondHead: true}, false, true},
		{"the release of W5", slotChange{plainW5: true}, false, true},
		{"W4 before W5", slotChange{headFirst: true}, true, true},
		{"the acquire of R1", slotChange{plainR1: true}, false, true},
		{"the acquire of R2", slotChange{plainR2: true}, false, true},
		{"R4", slotChange{noR4: true}, false, true},
		{"R5", slotChange{noR5: true}, true, true},
	} {
		for p, breaks := range map[processor]bool{amd64: row.amd64, arm64: row.arm64} {
			t.Run(row.name+"/"+p.String(), func(t *testing.T) {
				states, trace := slotMachine(p, row.change, 4, -1).explore(slotMemory)
				if breaks != (trace != nil) {
					t.Fatalf("want broken=%v after %d states, got\n%s", breaks, states, traceText(trace))
				}
				if breaks {
					t.Logf("found after %d states:\n%s", states, traceText(trace))
				} else {
					t.Logf("not missed: %d states", states)
				}
			})
		}
	}
}
