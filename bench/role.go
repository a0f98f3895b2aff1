package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/skewgate/skewgate/bench/load"
	"github.com/skewgate/skewgate/bench/machine"
	"github.com/skewgate/skewgate/shm"
)

// RoleArg as a program's first argument makes it one side of a run: see Role.
const RoleArg = "bench-role"

// Descriptors that a role is given.
const (
	ringFD    = 3
	controlFD = 4
	bellFD    = 5
)

// A job is what a role is told, as its one argument.
type job struct {
	Role     string  `json:"role"`
	CPU      int     `json:"cpu"`
	Slots    uint64  `json:"slots"`
	Messages uint64  `json:"messages"`
	Rate     float64 `json:"rate"`    // messages a second; 0 = flat out, without lapping the reader
	Poisson  bool    `json:"poisson"` // else evenly
	Seed     uint64  `json:"seed"`
	Wait     string  `json:"wait"`     // reader: spin or adaptive
	Bell     bool    `json:"bell"`     // writer: rings a doorbell
	Warmup   uint64  `json:"warmup"`   // reader: messages whose latency is not kept
	LimitNS  int64   `json:"limit_ns"` // of the whole role
	MayFail  bool    `json:"may_fail"` // writer: give up a rate it cannot do at twice the time
	Body     string  `json:"body"`     // intake: packed, json or fastjson
	Bodies   string  `json:"bodies"`   // intake: file of JSON bodies, a line each
	Cameras  uint64  `json:"cameras"`  // step
	Open     uint64  `json:"open"`     // step: groups that stay open; 0 = they close by quorum
	Socket   string  `json:"socket"`   // fused: attach.sock
	Models   uint64  `json:"models"`   // fused
	Boxes    uint64  `json:"boxes"`    // fused: of one message
}

// A result is what a role or a C peer says at its end, as one line of JSON.
type result struct {
	Messages  uint64          `json:"messages"` // received, or sent
	Lost      uint64          `json:"lost"`
	FirstNS   int64           `json:"first_ns"` // when the first was received, or intended
	LastNS    int64           `json:"last_ns"`
	CPUNS     int64           `json:"cpu_ns"`                // used by the process between first and last
	LateMaxNS int64           `json:"late_max_ns,omitempty"` // writer: sent after the intended time
	LateEndNS int64           `json:"late_end_ns,omitempty"` // the last of them
	CutShort  bool            `json:"cut_short,omitempty"`   // writer: hopelessly behind its schedule, gave up
	Latencies *load.Histogram `json:"latencies,omitempty"`   // from the intended time

	Closed      uint64 `json:"closed,omitempty"`      // groups
	Allocs      uint64 `json:"allocs,omitempty"`      // of all messages together
	Interpreter string `json:"interpreter,omitempty"` // of a peer in Python

	Jitter []machine.Gaps `json:"jitter,omitempty"` // fused: of its processor
}

// rate is messages a second, between the first and the last.
func (r *result) rate() float64 {
	if r.Messages < 2 || r.LastNS <= r.FirstNS {
		return 0
	}
	return float64(r.Messages-1) / float64(r.LastNS-r.FirstNS) * 1e9
}

// coreRate is messages a second of processor time: of one core, if one thread did it all and
// never waited. Neighbours that take turns on it do not count.
func (r *result) coreRate() float64 {
	if r.CPUNS <= 0 {
		return 0
	}
	return float64(r.Messages) / float64(r.CPUNS) * 1e9
}

// Role runs one side of a run, as told by args, and prints its result. Programs that
// start scenarios call it when their first argument is RoleArg.
func Role(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s is called by the bench itself, with one argument", RoleArg)
	}
	var j job
	if err := json.Unmarshal([]byte(args[0]), &j); err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	roles := map[string]func(*job) (*result, error){"writer": writerRole, "reader": readerRole, "intake": intakeRole, "step": stepRole, "fused": fusedRole}
	run := roles[j.Role]
	if run == nil {
		return fmt.Errorf("no role %q", j.Role)
	}
	// Roles allocate next to nothing once they run; a collection would be noise.
	debug.SetGCPercent(-1)
	time.AfterFunc(time.Duration(j.LimitNS), func() {
		fmt.Fprintf(os.Stderr, "%s: not done after %d ms\n", j.Role, j.LimitNS/1e6)
		os.Exit(1)
	})
	if err := machine.Pin(j.CPU); err != nil {
		return err
	}
	r, err := run(&j)
	if err != nil {
		return fmt.Errorf("%s: %w", j.Role, err)
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// mapFD maps an inherited descriptor.
func mapFD(fd int, name string, writable bool) ([]byte, error) {
	s, err := shm.MapSegment(os.NewFile(uintptr(fd), name), writable)
	if err != nil {
		return nil, err
	}
	return s.Bytes(), nil
}

// mapControl maps the control segment.
func mapControl() (control, error) {
	b, err := mapFD(controlFD, "control", true)
	if err != nil {
		return control{}, err
	}
	return newControl(b)
}

// mapBell maps the doorbell.
func mapBell() (*shm.Doorbell, error) {
	b, err := mapFD(bellFD, "doorbell", true)
	if err != nil {
		return nil, err
	}
	return shm.NewDoorbell(b)
}
