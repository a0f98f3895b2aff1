package supervise

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/skewgate/skewgate/appliance/clock"
)

const second = clock.Mono(time.Second)

func testMachine() *machine {
	return &machine{timing: timing{
		startTimeoutNS: int64(30 * second), stopTimeoutNS: int64(10 * second), killWaitNS: killWaitNS,
		backoff: Backoff{FirstNS: int64(second / 2), MaxNS: int64(30 * second), ResetNS: int64(60 * second)},
	}}
}

// at is one input of a story, at an instant in seconds.
type at struct {
	s  float64
	in input
}

var (
	sigkill = ending{signal: unix.SIGKILL, code: -1}
	crash   = ending{code: 3}
)

func TestMachineStories(t *testing.T) {
	start, stop, tick := input{kind: inStart}, input{kind: inStop}, input{kind: inTick}
	spawned := func(n uint64) input { return input{kind: inSpawned, start: n} }
	says := func(n uint64, s State) input { return input{kind: inReport, start: n, state: s} }
	gone := func(n uint64, e ending) input { return input{kind: inGone, start: n, end: e} }
	up := []at{{0, start}, {0.1, spawned(1)}, {1, says(1, StateReady)}}
	after := func(head []at, tail ...at) []at { return append(append([]at{}, head...), tail...) }

	for _, tt := range []struct {
		name  string
		story []at
		want  []string // transitions as "from>to cause"
	}{
		{"all the way up and down", []at{
			{0, start}, {0.1, spawned(1)}, {1, says(1, StateBuilding)}, {2, says(1, StateWarming)}, {3, says(1, StateReady)},
			{9, stop}, {10, gone(1, ending{})},
		}, []string{
			"stopped>starting asked", "starting>building report", "building>warming report", "warming>ready report",
			"ready>draining asked", "draining>exited stop", "exited>stopped stop",
		}},
		{"killed from outside", after(up, at{5, gone(1, sigkill)}, at{5.4, tick}, at{5.5, tick}), []string{
			"stopped>starting asked", "starting>ready report", "ready>exited signal", "exited>backoff signal", "backoff>starting restart",
		}},
		{"F2 exits 0 unasked", after(up, at{5, gone(1, ending{})}), []string{
			"stopped>starting asked", "starting>ready report", "ready>exited unexpected_exit", "exited>backoff unexpected_exit",
		}},
		{"F5 deaf to drain and SIGTERM", after(up, at{10, stop}, at{15, tick}, at{19.9, tick}, at{20, tick}, at{20.1, gone(1, sigkill)}), []string{
			"stopped>starting asked", "starting>ready report", "ready>draining asked", "draining>stopping asked",
			"stopping>stopping stop_timeout", "stopping>exited stop_timeout", "exited>stopped stop_timeout",
		}},
		{"F7 stuck in the kernel", after(up, at{10, stop}, at{15, tick}, at{20, tick}, at{25, tick}, at{99, start}, at{99, tick}, at{100, gone(1, sigkill)}), []string{
			"stopped>starting asked", "starting>ready report", "ready>draining asked", "draining>stopping asked",
			"stopping>stopping stop_timeout", "stopping>kill_pending killed",
			"kill_pending>exited stop_timeout", "exited>starting asked",
		}},
		{"F11 stopped in back-off", after(up, at{5, gone(1, crash)}, at{5.2, stop}, at{6, tick}, at{99, tick}), []string{
			"stopped>starting asked", "starting>ready report", "ready>exited code", "exited>backoff code", "backoff>stopped asked",
		}},
		{"F14 never ready", []at{{0, start}, {0.1, spawned(1)}, {29.9, tick}, {30, tick}, {30.1, gone(1, sigkill)}}, []string{
			"stopped>starting asked", "starting>stopping start_timeout", "stopping>exited start_timeout", "exited>backoff start_timeout",
		}},
		{"F14 warming does not stretch the start timeout", []at{{0, start}, {0.1, spawned(1)}, {29, says(1, StateWarming)}, {30, tick}}, []string{
			"stopped>starting asked", "starting>warming report", "warming>stopping start_timeout",
		}},
		{"F15 ready of an earlier start", after(up, at{5, gone(1, crash)}, at{6, tick}, at{6, spawned(2)}, at{6.1, says(1, StateReady)}), []string{
			"stopped>starting asked", "starting>ready report", "ready>exited code", "exited>backoff code", "backoff>starting restart",
		}},
		{"F26 end of an earlier start", after(up, at{5, gone(1, crash)}, at{6, tick}, at{6, spawned(2)}, at{6.1, gone(1, crash)}), []string{
			"stopped>starting asked", "starting>ready report", "ready>exited code", "exited>backoff code", "backoff>starting restart",
		}},
		{"F17 program missing", []at{{0, start}, {0.1, gone(1, ending{startErr: unix.ENOENT, permanent: true})}, {99, tick}, {100, start}}, []string{
			"stopped>starting asked", "starting>exited permanent", "exited>failed permanent", "failed>starting asked",
		}},
		{"F17 program busy", []at{{0, start}, {0.1, gone(1, ending{startErr: unix.ETXTBSY})}, {0.6, tick}}, []string{
			"stopped>starting asked", "starting>exited start_error", "exited>backoff start_error", "backoff>starting restart",
		}},
		{"a crash while draining is a crash", after(up, at{5, stop}, at{6, gone(1, ending{signal: unix.SIGSEGV})}), []string{
			"stopped>starting asked", "starting>ready report", "ready>draining asked", "draining>exited signal", "exited>stopped signal",
		}},
		{"SIGTERM ends one that knows no drain", after(up, at{5, stop}, at{10, tick}, at{10, gone(1, ending{signal: unix.SIGTERM})}), []string{
			"stopped>starting asked", "starting>ready report", "ready>draining asked", "draining>stopping asked",
			"stopping>exited stop", "exited>stopped stop",
		}},
		{"wanted again while it stops", after(up, at{5, stop}, at{5.1, start}, at{6, gone(1, ending{})}), []string{
			"stopped>starting asked", "starting>ready report", "ready>draining asked", "draining>exited stop", "exited>starting asked",
		}},
		{"killed now", after(up, at{5, input{kind: inKill}}, at{5.1, gone(1, sigkill)}), []string{
			"stopped>starting asked", "starting>ready report", "ready>draining asked", "draining>stopping stop_timeout",
			"stopping>exited stop_timeout", "exited>stopped stop_timeout",
		}},
		{"stopped before it exists", []at{{0, start}, {0.1, stop}, {0.2, spawned(1)}, {0.3, gone(1, ending{})}}, []string{
			"stopped>starting asked", "starting>stopping asked", "stopping>exited stop", "exited>stopped stop",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := testMachine()
			var got []string
			for _, e := range tt.story {
				do := m.step(clock.Mono(e.s*float64(second))+1, e.in)
				for _, mv := range do.moves {
					got = append(got, mv.from.String()+">"+mv.to.String()+" "+string(mv.cause))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("transitions (-want +got):\n%s", diff)
			}
		})
	}
}

// What a stop asks of the process, and when: drain, SIGTERM at half, SIGKILL at the end.
func TestMachineStopEffects(t *testing.T) {
	m := testMachine()
	m.step(0, input{kind: inStart})
	m.step(1, input{kind: inSpawned, start: 1})
	m.step(1, input{kind: inReport, start: 1, state: StateReady})
	if do := m.step(2, input{kind: inStop}); !do.drain || do.term || do.kill {
		t.Errorf("stop: %+v, want only drain", do)
	}
	if do := m.step(m.deadline, input{kind: inTick}); do.drain || !do.term || do.kill {
		t.Errorf("at half: %+v, want only term", do)
	}
	if want := 2 + 10*second; m.deadline != want {
		t.Errorf("kill is due at %d, want %d", m.deadline, want)
	}
	if do := m.step(m.deadline, input{kind: inTick}); do.drain || do.term || !do.kill {
		t.Errorf("at the end: %+v, want only kill", do)
	}
}

// A child that is not ready holds nothing, so SIGTERM comes at once, also when the stop
// overtakes the process.
func TestMachineStopBeforeReady(t *testing.T) {
	for _, spawnFirst := range []bool{true, false} {
		m := testMachine()
		m.step(0, input{kind: inStart})
		term := 0
		inputs := []input{{kind: inSpawned, start: 1}, {kind: inStop}}
		if !spawnFirst {
			slices.Reverse(inputs)
		}
		for i, in := range inputs {
			do := m.step(clock.Mono(i+1), in)
			if do.term {
				term++
			}
		}
		if term != 1 || m.state != StateStopping {
			t.Errorf("spawned first %v: %d SIGTERM, state %v", spawnFirst, term, m.state)
		}
	}
}

// A process that comes to be after its task was given up is killed at once.
func TestMachineKillsLateSpawn(t *testing.T) {
	m := testMachine()
	m.step(0, input{kind: inStart})
	if do := m.step(30*second, input{kind: inTick}); do.kill {
		t.Error("kill before there is a process")
	}
	if do := m.step(31*second, input{kind: inSpawned, start: 1}); !do.kill {
		t.Error("process of a start that timed out lives on")
	}
}

// life runs one start of m from its begin to its end and returns the back-off after it.
func life(m *machine, now *clock.Mono, readyFor clock.Mono) int64 {
	*now += second
	m.step(*now, input{kind: inSpawned, start: m.start})
	if readyFor > 0 {
		m.step(*now, input{kind: inReport, start: m.start, state: StateReady})
		*now += readyFor
	}
	backoffNS := m.step(*now, input{kind: inGone, start: m.start, end: sigkill}).backoffNS
	*now = m.deadline
	m.step(*now, input{kind: inTick})
	return backoffNS
}

func TestMachineBackoff(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, tt := range []struct {
		name   string
		ready  []clock.Mono // how long each start is ready; 0: never
		wantMS []int64
	}{
		{"never ready", make([]clock.Mono, 9), []int64{500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000}},
		{"dies soon after ready", []clock.Mono{1, 1, 1, 1, 1, 1}, []int64{500, 500, 500, 500, 1000, 2000}},
		{"healthy and killed", []clock.Mono{60 * second, 60 * second, 60 * second, 60 * second, 60 * second}, []int64{500, 500, 500, 500, 500}},
		{"healthy after a bad time", []clock.Mono{0, 0, 0, 60 * second, 0, 0}, []int64{500, 1000, 2000, 500, 500, 1000}},
		{"59 s do not reset", []clock.Mono{0, 0, 59 * second, 0}, []int64{500, 1000, 500, 2000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, now := testMachine(), clock.Mono(1)
			m.step(now, input{kind: inStart})
			var got []int64
			for _, ready := range tt.ready {
				got = append(got, life(m, &now, ready)/ms)
			}
			if diff := cmp.Diff(tt.wantMS, got); diff != "" {
				t.Errorf("back-off in ms (-want +got):\n%s", diff)
			}
		})
	}
}

// Any order of inputs: the machine never starts a second process beside one, never
// starts what is not wanted, and waits without a deadline only where it may.
// R002-12: no state without a supervisor, a known process and, at the end, a status.
func TestMachineProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := testMachine()
		now := clock.Mono(1)
		pending, exists := false, false // a spawn under way; a process that exists
		starts, ends := 0, 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			in := input{
				kind:  inputKind(rapid.IntRange(0, int(numInputs)-1).Draw(t, "kind")),
				start: m.start - uint64(rapid.IntRange(0, 1).Draw(t, "age")),
				state: State(rapid.IntRange(int(StateBuilding), int(StateReady)).Draw(t, "state")),
			}
			switch rapid.IntRange(0, 3).Draw(t, "end") {
			case 0:
				in.end = sigkill
			case 1:
				in.end = crash
			}
			current := in.start == m.start
			switch in.kind {
			case inSpawned: // the world: at most one answer for each spawn
				if !current || !pending {
					continue
				}
				pending, exists = false, true
			case inGone:
				if current && !exists && !pending {
					continue
				}
				if current {
					if pending {
						in.end = ending{startErr: unix.ENOENT, permanent: rapid.Bool().Draw(t, "permanent")}
					}
					pending, exists = false, false
				}
			case inTick:
				if rapid.Bool().Draw(t, "due") && m.deadline != 0 {
					now = max(now, m.deadline)
				}
			}
			now += clock.Mono(rapid.Int64Range(0, int64(second)).Draw(t, "dt"))
			do := m.step(now, in)
			if do.gone {
				ends++
			}
			if do.spawn {
				if pending || exists {
					t.Fatalf("start %d while the one before is still there", m.start)
				}
				if !m.wanted {
					t.Fatal("started what is not wanted")
				}
				pending = true
				starts++
			}
			if (do.drain || do.term || do.kill) && !exists {
				t.Fatalf("signal to no process: %+v", do)
			}
			if m.state.occupied() != (pending || exists) {
				t.Fatalf("state %v with pending %v, exists %v", m.state, pending, exists)
			}
			if m.state == StateExited {
				t.Fatal("exited is not left")
			}
			switch m.state {
			case StateStopped, StateReady, StateFailed, StateKillPending:
				if m.deadline != 0 {
					t.Fatalf("state %v has a deadline", m.state)
				}
			default:
				if m.deadline == 0 {
					t.Fatalf("state %v has no deadline", m.state)
				}
			}
			if in.kind == inStop && !m.state.going() && m.state != StateStopped {
				t.Fatalf("stop leads to %v", m.state)
			}
			open := 0
			if m.state.occupied() {
				open = 1
			}
			if starts != ends+open {
				t.Fatalf("%d starts, %d ends, %d open", starts, ends, open)
			}
		}
	})
}

func TestLimiter(t *testing.T) {
	l := limiter{burst: 3, intervalNS: 10}
	var got []int64
	for _, now := range []clock.Mono{100, 100, 100, 100, 105, 110, 110, 1000, 1000, 1000, 1000} {
		got = append(got, l.take(now))
	}
	if diff := cmp.Diff([]int64{0, 0, 0, 10, 5, 0, 10, 0, 0, 0, 10}, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}
