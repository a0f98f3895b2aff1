package shm

import (
	"fmt"
	"testing"
)

// Nobody sleeps on a message: W5…W6 against S1…S5, on every execution of a sleeper and one
// or two writers that share its doorbell. No wait of this model ever times out, so that a
// wake-up lost is a sleeper for ever.

const (
	wordFlag   = 0
	wordBell   = 1
	wordHeads  = 2 // one a writer
	wakeMemory = 4
)

var wakeNames = []string{"flag", "bell", "head", "other head"}

// wakeChange leaves out or weakens one step. The zero value is the protocol as it is.
type wakeChange struct {
	releaseW5, plainW5, plainW6, noBell     bool
	releaseS1, plainS3, noS3, bellAfterLook bool
}

// wakeWriter publishes n messages and rings after each.
func wakeWriter(c wakeChange, head, n int) []instr {
	const flag reg = 1
	var p program
	publish, look := seqCst, seqCst
	switch {
	case c.releaseW5:
		publish = release
	case c.plainW5:
		publish = plain
	}
	if c.plainW6 {
		look = plain
	}
	for i := range n {
		awake := fmt.Sprint("awake", i)
		p.add(instr{name: "W5", op: opStore, place: place{at: int8(wordHeads + head)}, a: num(i + 1), order: publish},
			instr{name: "W6", op: opLoad, reg: flag, place: place{at: wordFlag}, order: look},
			instr{name: "W6?", op: opIf, a: flag.v(), b: num(0), rel: equal, target: awake})
		if !c.noBell {
			p.add(instr{name: "W6 bell", op: opAdd, place: place{at: wordBell}})
		}
		p.add(instr{name: "W6 wake", op: opWake})
		p.label(awake)
	}
	return p.finish()
}

// sleeper reads until it has seen all n messages of each writer, and sleeps in between.
func sleeper(c wakeChange, writers, n int) []instr {
	const bell, last reg = 1, 2 // last: of the first writer, then of the second
	head, seen := [2]reg{4, 5}, [2]reg{2, 3}
	var p program
	s1, s3 := seqCst, seqCst
	if c.releaseS1 {
		s1 = release
	}
	if c.plainS3 {
		s3 = plain
	}
	p.label("read")
	for w := range writers {
		p.add(instr{name: "R1", op: opLoad, reg: head[w], place: place{at: int8(wordHeads + w)}, order: acquire},
			instr{name: "read", op: opSet, reg: seen[w], a: head[w].v()})
	}
	for w := range writers {
		p.add(instr{name: "all?", op: opIf, a: seen[w].v(), b: num(n), rel: less, target: "sleep"})
	}
	p.add(instr{name: "goto", op: opIf, rel: equal, target: "done"})
	p.label("sleep")
	p.add(instr{name: "S1", op: opStore, place: place{at: wordFlag}, a: num(1), order: s1})
	s2 := instr{name: "S2", op: opLoad, reg: bell, place: place{at: wordBell}, order: seqCst}
	if !c.bellAfterLook {
		p.add(s2)
	}
	if !c.noS3 {
		for w := range writers {
			p.add(instr{name: "S3", op: opLoad, reg: head[w], place: place{at: int8(wordHeads + w)}, order: s3},
				instr{name: "S3?", op: opIf, a: head[w].v(), b: seen[w].v(), rel: different, target: "up"})
		}
	}
	if c.bellAfterLook {
		p.add(s2)
	}
	p.add(instr{name: "S4", op: opWait, place: place{at: wordBell}, a: bell.v()})
	p.label("up")
	p.add(instr{name: "S5", op: opStore, place: place{at: wordFlag}, a: num(0), order: seqCst},
		instr{name: "goto", op: opIf, rel: equal, target: "read"})
	p.label("done")
	return p.finish()
}

func wakeMachine(p processor, c wakeChange, writers, n int) *machine {
	m := &machine{processor: p, words: wakeNames, names: []string{"path"}, programs: [][]instr{sleeper(c, writers, n)}}
	for w := range writers {
		m.names = append(m.names, []string{"writer", "other writer"}[w])
		m.programs = append(m.programs, wakeWriter(c, w, n))
	}
	return m
}

func TestWakeOrdering(t *testing.T) {
	for _, p := range []processor{amd64, arm64} {
		for writers := 1; writers <= 2; writers++ {
			t.Run(fmt.Sprintf("%v/%d writers", p, writers), func(t *testing.T) {
				n := modelMessages() / (2 * writers)
				states, trace := wakeMachine(p, wakeChange{}, writers, n).explore(wakeMemory)
				if trace != nil {
					t.Fatalf("lost:\n%s", traceText(trace))
				}
				t.Logf("%d messages a writer: %d states, no wake-up lost", n, states)
			})
		}
	}
}

// Without any of these a wake-up is lost where the processor allows it, and the machine
// finds how: above all without the full barrier between head and sleep flag, and without
// the second look.
func TestWakeOrderingWithout(t *testing.T) {
	for _, row := range []struct {
		name         string
		change       wakeChange
		amd64, arm64 bool
	}{
		{"the full barrier of W5: MOV for XCHG", wakeChange{releaseW5: true}, true, false},
		{"any order of W5", wakeChange{plainW5: true}, true, true},
		{"the order of W6: LDR for LDAR", wakeChange{plainW6: true}, false, true},
		{"the full barrier of S1", wakeChange{releaseS1: true}, true, false},
		{"the order of S3: LDR for LDAR", wakeChange{plainS3: true}, false, false},
		{"S3", wakeChange{noS3: true}, true, true},
		{"S2 before S3", wakeChange{bellAfterLook: true}, true, true},
		{"the bell's change", wakeChange{noBell: true}, true, true},
	} {
		for p, breaks := range map[processor]bool{amd64: row.amd64, arm64: row.arm64} {
			t.Run(row.name+"/"+p.String(), func(t *testing.T) {
				states, trace := wakeMachine(p, row.change, 1, 3).explore(wakeMemory)
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
