package shm

import (
	"fmt"
	"strings"
)

// A machine of a few processors with store buffers, small enough that every execution of
// a short program can be visited. ABI.md argues the orderings in words; ordering_*_test.go
// has them judged by this machine.
//
// A processor fetches its program in order and keeps what it has fetched in flight until
// it is performed. A store in flight lies in the store buffer: its own processor reads it
// from there, the others do not see it. Performed means done for all at once; both amd64
// and arm64 are multi-copy atomic, so there is one memory. Which instructions in flight may
// overtake which is the difference between the two (see before). A branch whose operands
// are still being loaded is guessed, both ways; a wrong guess ends that execution, and no
// store is performed behind a guess.
type processor int

const (
	amd64 processor = iota // TSO
	arm64                  // ARMv8, without dependencies: fewer orderings than the real one has
)

func (p processor) String() string { return [...]string{"amd64", "arm64"}[p] }

type opcode uint8

const (
	opLoad opcode = iota
	opStore
	opAdd   // atomic read-modify-write: memory += 1
	opFence // order says which: acquire = earlier loads, release = stores among each other
	opIf    // goto to if a < b, a == b or a != b
	opSet   // register = a + b
	opCheck // a < b, a == b or a != b, or the protocol is broken
	opWait  // FUTEX_WAIT: sleep if memory == a. A full barrier, as the kernel's lock is.
	opWake  // FUTEX_WAKE, also a full barrier
	opEnd
)

// What an access is compiled to: amd64 MOV, or XCHG for a seqCst store; arm64 LDR, STR,
// or LDAR for acquire and seqCst loads, STLR for release and seqCst stores.
type order uint8

const (
	plain order = iota
	acquire
	release
	seqCst
)

type relation uint8

const (
	less relation = iota
	equal
	different
)

// reg is a register; noReg is always 0, so that val{noReg, 5} is the number 5.
type reg int8

const (
	noReg   reg = 0
	maxRegs     = 8
)

type val struct {
	reg  reg
	plus int8
}

func num(n int) val                { return val{noReg, int8(n)} }
func (r reg) plus(n int) val       { return val{r, int8(n)} }
func (r reg) v() val               { return val{r, 0} }
func (v val) get(t *thread) int8   { return v.plus + t.regs[v.reg] }
func (v val) known(t *thread) bool { return t.known&(1<<v.reg) != 0 }

// place is a word of memory: at, or, with a stride, at + stride · (index mod slots).
type place struct {
	at            int8
	index         val
	slots, stride int8
}

func (p place) loc(t *thread) int8 {
	if p.stride == 0 {
		return p.at
	}
	return p.at + p.stride*(p.index.get(t)%p.slots)
}

type instr struct {
	name   string // as in ABI.md
	op     opcode
	place  place
	order  order
	reg    reg
	a, b   val
	rel    relation
	target string
	to     int // target's number
}

// program is a thread's instructions; a label names the next one.
type program struct {
	code   []instr
	labels map[string]int
}

func (p *program) add(in ...instr) { p.code = append(p.code, in...) }

func (p *program) label(name string) {
	if p.labels == nil {
		p.labels = map[string]int{}
	}
	p.labels[name] = len(p.code)
}

func (p *program) finish() []instr {
	p.add(instr{name: "end", op: opEnd})
	for i := range p.code {
		if in := &p.code[i]; in.op == opIf {
			to, ok := p.labels[in.target]
			if !ok {
				panic("no label " + in.target)
			}
			in.to = to
		}
	}
	return p.code
}

// flight is one fetched instruction that is not performed yet.
type flight struct {
	pc    uint8
	loc   int8
	value int8 // of a store, a wait
	taken bool // of a branch: the guess
}

type thread struct {
	pc     uint8
	known  uint8 // registers whose load is not in flight
	regs   [maxRegs]int8
	asleep bool
	window []flight
}

// guesses counts the branches in flight.
func (t *thread) guesses() (n int) {
	for _, f := range t.window {
		if f.value == guess {
			n++
		}
	}
	return n
}

const (
	guess      = -128 // in flight.value marks a branch; no protocol here stores it
	maxGuesses = 3
)

type world struct {
	mem     []int8
	threads []thread
}

func (w *world) clone() *world {
	n := &world{mem: append([]int8(nil), w.mem...), threads: append([]thread(nil), w.threads...)}
	for i := range n.threads {
		n.threads[i].window = append([]flight(nil), n.threads[i].window...)
	}
	return n
}

// key is all of a world, so that equal keys are the same state.
func (w *world) key() string {
	var b strings.Builder
	for _, v := range w.mem {
		b.WriteByte(byte(v))
	}
	for i := range w.threads {
		t := &w.threads[i]
		b.WriteByte(t.pc)
		b.WriteByte(t.known)
		for r, v := range t.regs {
			if t.known&(1<<r) == 0 {
				v = 0 // what was there before the load in flight is gone
			}
			b.WriteByte(byte(v))
		}
		last := byte(0)
		if t.asleep {
			last = 1
		}
		b.WriteByte(last)
		b.WriteByte(byte(len(t.window)))
		for _, f := range t.window {
			taken := byte(0)
			if f.taken {
				taken = 1
			}
			b.Write([]byte{f.pc, byte(f.loc), byte(f.value), taken})
		}
	}
	return b.String()
}

// before says whether b must wait for a, which is earlier in the program and in flight.
func (m *machine) before(a, b *instr, sameLoc bool) bool {
	memory := func(in *instr) (load, store bool) {
		return in.op == opLoad || in.op == opAdd, in.op == opStore || in.op == opAdd
	}
	aLoad, aStore := memory(a)
	bLoad, bStore := memory(b)
	whole := func(in *instr) bool { return in.op == opWait || in.op == opWake }
	switch {
	case whole(a) || whole(b):
		return true
	case a.op == opIf || b.op == opIf:
		return bStore // nothing is stored on a guess
	case a.op == opFence && b.op == opFence:
		return true
	case a.op == opFence:
		return a.order == seqCst || a.order == acquire || bStore
	case b.op == opFence:
		return b.order == seqCst || b.order == acquire && aLoad || b.order == release && aStore
	case a.op == opAdd || b.op == opAdd:
		return true // LOCK ADD; LDADDAL is acquire and release
	case sameLoc && !(aStore && bLoad):
		return true // coherence; a load finds its own processor's store in the buffer
	}
	if m.processor == amd64 {
		xchg := func(in *instr) bool { return in.op == opStore && in.order == seqCst }
		return aLoad || bStore || xchg(a)
	}
	ldar := func(in *instr) bool { return in.op == opLoad && (in.order == acquire || in.order == seqCst) }
	stlr := func(in *instr) bool { return in.op == opStore && (in.order == release || in.order == seqCst) }
	return ldar(a) || stlr(b) || stlr(a) && ldar(b)
}

// blocksAll says whether nothing fetched behind in could be performed before it, so that
// there is no use in fetching.
func (m *machine) blocksAll(in *instr) bool {
	switch in.op {
	case opWait, opWake, opAdd:
		return true
	case opFence:
		return in.order != release
	case opLoad:
		return m.processor == amd64 || in.order == acquire || in.order == seqCst
	case opStore:
		return m.processor == amd64 && in.order == seqCst
	}
	return false
}

// describe says what thread i did when it performed instruction pc.
func (m *machine) describe(i int, in *instr, loc, value int8) string {
	switch in.op {
	case opLoad:
		return fmt.Sprintf("%s %s: %s is %d", m.names[i], in.name, m.words[loc], value)
	case opStore:
		return fmt.Sprintf("%s %s: %s = %d", m.names[i], in.name, m.words[loc], value)
	}
	return fmt.Sprintf("%s %s", m.names[i], in.name)
}
