package sim

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

var (
	oneSeed  = flag.Uint64("sim.seed", 0, "run this seed alone, or as many from it on as -sim.seeds says")
	oneFault = flag.String("sim.fault", "", "break what TestFaultsAreFound breaks under this name")
	seeds    = flag.Int("sim.seeds", 0, "how many seeds to run; 0 = 3,000, or 30,000 with SKEWGATE_LONG")
)

// TestSim runs thousands of small worlds, each twice.
func TestSim(t *testing.T) {
	first, n := uint64(1), *seeds
	switch {
	case *oneSeed != 0:
		first, n = *oneSeed, max(n, 1)
	case n == 0 && os.Getenv("SKEWGATE_LONG") != "":
		n = 30_000
	case n == 0:
		n = 3000
	}
	var sum Result
	had := coverage{}
	for seed := first; seed < first+uint64(n); seed++ {
		sum.add(check(t, seed, had))
	}
	if n >= 1000 {
		had.check(t, n)
	}
	t.Logf("%d seeds: %+v", n, sum)
}

// check runs one seed twice.
func check(t *testing.T, seed uint64, had coverage) Result {
	t.Helper()
	p := Draw(seed)
	j := newJudge(p)
	mk, h := sound, habits{}
	if *oneFault != "" {
		mk, h = faultNamed(t, *oneFault)
	}
	r, err := runWith(p, mk, h, j)
	had.add(p, j, &r)
	if err == nil {
		var again Result
		again, err = run(Draw(seed), mk, h)
		if err == nil && again != r {
			t.Errorf("seed %d came to %+v, and then to %+v", seed, r, again)
		}
	}
	if err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, rerun(seed))
	}
	return r
}

// rerun is the line that runs a seed again as it was run.
func rerun(seed uint64) string {
	line := fmt.Sprintf("rerun it: go test ./appliance/sim -run TestSim -sim.seed=%d", seed)
	if *oneFault != "" {
		line += fmt.Sprintf(" -sim.fault=%q", *oneFault)
	}
	return line
}

func (r *Result) add(o Result) {
	r.Messages += o.Messages
	r.Pictures += o.Pictures
	r.Mixed += o.Mixed
	r.Lost += o.Lost
	c, d := &r.Counters, &o.Counters
	for _, f := range []struct{ sum, add *uint64 }{
		{&c.Received, &d.Received}, {&c.Accepted, &d.Accepted}, {&c.Late, &d.Late}, {&c.DupResend, &d.DupResend},
		{&c.DupCollision, &d.DupCollision}, {&c.WrongGeneration, &d.WrongGeneration}, {&c.Unexpected, &d.Unexpected},
		{&c.Unparsed, &d.Unparsed}, {&c.FlushedQuorum, &d.FlushedQuorum}, {&c.FlushedSettled, &d.FlushedSettled},
		{&c.FlushedTimeout, &d.FlushedTimeout}, {&c.FlushedEviction, &d.FlushedEviction}, {&c.Stale, &d.Stale},
		{&c.Opened, &d.Opened}, {&c.Published, &d.Published}, {&c.Refused, &d.Refused}, {&c.ProgressBroken, &d.ProgressBroken},
		{&c.ClosedForgotten, &d.ClosedForgotten}, {&c.NoFrameID, &d.NoFrameID}, {&c.SuppressedEmpty, &d.SuppressedEmpty},
	} {
		*f.sum += *f.add
	}
}
