package shm

import "testing"

// The machine itself is held to the litmus tests by which memory models are told apart:
// what real processors may show it must show, and nothing else.
func TestOrderingLitmus(t *testing.T) {
	const x, y, r1, r2 = 0, 1, reg(1), reg(2)
	store := func(at int8, v int, o order) instr {
		return instr{name: "store", op: opStore, place: place{at: at}, a: num(v), order: o}
	}
	load := func(r reg, at int8, o order) instr {
		return instr{name: "load", op: opLoad, reg: r, place: place{at: at}, order: o}
	}
	fence := func(o order) instr { return instr{name: "fence", op: opFence, order: o} }
	branch := func(r reg) instr { // to the next instruction, whatever r is
		return instr{name: "if", op: opIf, a: r.v(), b: num(0), rel: equal, target: "on"}
	}
	type threads [][]instr
	// Two threads write and read crosswise: may both miss the other's store?
	crosswise := func(s, l order, between ...instr) threads {
		side := func(mine, other int8) []instr {
			return append(append([]instr{store(mine, 1, s)}, between...), load(r1, other, l))
		}
		return threads{side(x, y), side(y, x)}
	}
	// One writes body and flag, one reads flag and body: may it see the flag alone?
	message := func(s, l order, between ...instr) threads {
		return threads{
			append(append([]instr{store(x, 1, plain)}, between...), store(y, 1, s)),
			append(append([]instr{load(r1, y, l)}, between...), load(r2, x, plain)),
		}
	}
	bothMissed := func(a, b *thread) bool { return a.regs[r1] == 0 && b.regs[r1] == 0 }
	flagAlone := func(_, b *thread) bool { return b.regs[r1] == 1 && b.regs[r2] == 0 }
	for _, row := range []struct {
		name         string
		threads      threads
		outcome      func(a, b *thread) bool
		amd64, arm64 bool // whether it may be seen
	}{
		{"SB", crosswise(plain, plain), bothMissed, true, true},
		{"SB release acquire", crosswise(release, acquire), bothMissed, true, false}, // RCsc
		{"SB release plain", crosswise(release, plain), bothMissed, true, true},
		{"SB seq_cst", crosswise(seqCst, seqCst), bothMissed, false, false},
		{"SB fence", crosswise(plain, plain, fence(seqCst)), bothMissed, false, false},
		{"SB store fence", crosswise(plain, plain, fence(release)), bothMissed, true, true},
		{"MP", message(plain, plain), flagAlone, false, true},
		{"MP release", message(release, plain), flagAlone, false, true},
		{"MP acquire", message(plain, acquire), flagAlone, false, true},
		{"MP release acquire", message(release, acquire), flagAlone, false, false},
		{"MP store fence", message(plain, acquire, fence(release)), flagAlone, false, false},
		{"MP load fence", message(release, plain, fence(acquire)), flagAlone, false, false},
		// A branch on the flag does not keep the body's load back…
		{"MP branch", threads{{store(x, 1, plain), store(y, 1, release)}, {load(r1, y, plain), branch(r1), load(r2, x, plain)}}, flagAlone, false, true},
		// …but it keeps a store back.
		{"LB branch", threads{{load(r1, x, plain), branch(r1), store(y, 1, plain)}, {load(r1, y, plain), branch(r1), store(x, 1, plain)}},
			func(a, b *thread) bool { return a.regs[r1] == 1 && b.regs[r1] == 1 }, false, false},
		{"LB", threads{{load(r1, x, plain), store(y, 1, plain)}, {load(r1, y, plain), store(x, 1, plain)}},
			func(a, b *thread) bool { return a.regs[r1] == 1 && b.regs[r1] == 1 }, false, true},
		// Stores after an STLR may overtake it, and loads before an LDAR may be overtaken.
		{"STLR store", threads{{store(x, 1, release), store(y, 1, plain)}, {load(r1, y, acquire), load(r2, x, plain)}}, flagAlone, false, true},
		{"load LDAR", threads{{store(x, 1, plain), store(y, 1, release)}, {load(r1, y, plain), load(r2, x, acquire)}}, flagAlone, false, true},
		// One word is coherent, and a processor sees its own stores.
		{"CoRR", threads{{store(x, 1, plain)}, {load(r1, x, plain), load(r2, x, plain)}},
			flagAlone, false, false},
		{"own store", threads{{store(x, 1, plain), load(r1, x, plain)}, {}}, func(a, _ *thread) bool { return a.regs[r1] == 0 }, false, false},
	} {
		for p, want := range map[processor]bool{amd64: row.amd64, arm64: row.arm64} {
			seen := false
			m := &machine{processor: p, names: []string{"a", "b"}, words: []string{"x", "y"}}
			m.final = func(w *world) { seen = seen || row.outcome(&w.threads[0], &w.threads[1]) }
			for _, code := range row.threads {
				var prog program
				for _, in := range code {
					prog.add(in)
					if in.op == opIf {
						prog.label(in.target)
					}
				}
				m.programs = append(m.programs, prog.finish())
			}
			if _, trace := m.explore(2); trace != nil {
				t.Fatalf("%s/%v: %s", row.name, p, traceText(trace))
			}
			if seen != want {
				t.Errorf("%s/%v: want seen=%v, got %v", row.name, p, want, seen)
			}
		}
	}
}
