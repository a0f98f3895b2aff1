package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/skewgate/skewgate/bench/report"
)

// A Scenario measures one thing and gives one row or more.
type Scenario struct {
	Name  string
	Short string
	run   func(ctx context.Context, h *Harness) ([]report.Row, error)
}

// Scenarios lists all, in the order of the report.
func Scenarios() []Scenario {
	return []Scenario{
		{"publish", "cost of one publish of 256 bytes in Go, without clock read and doorbell", publish},
		{"throughput", "messages delivered between two processes, nothing lost, against a plain C ring", throughput},
		{"openloop", "highest rate at which a reader of a 64 Ki ring loses nothing, found by bisection", openLoop},
		{"latency", "one-way latency, both sides spinning, 10,000 messages/s, against a plain C ring", latency},
		{"adaptive", "reader that sleeps in between, 177 messages/s: its processor time, and latency against a bare futex", adaptive},
		{"correlate", "from the rings to closed groups on one core, packed and JSON, against a plain correlator in Python", correlateScenario},
		{"scaling", "cost of a message over more cameras and more open groups, the correlator alone", scaling},
		{"fused", "from a detector's publish to the fused record, through a running appliance that spins", fused},
		{"python", "cost of one publish of 8 boxes in Python, as a buffer and as a list", python},
		{"probe", "what the probe's site costs a publish when nobody listens", probe},
		{"c", "cost of one publish of 256 bytes in C", cLibrary},
	}
}

// Find returns the scenario of that name.
func Find(name string) (Scenario, error) {
	var names []string
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scenario{}, fmt.Errorf("no scenario %q: there are %s", name, strings.Join(names, ", "))
}

// Run measures s. A scenario whose parts are not there gives rows that say so. One that
// fails gives the rows of what it measured before, or one of its name, beside the error.
func (h *Harness) Run(ctx context.Context, s Scenario) ([]report.Row, error) {
	rows, err := s.run(ctx, h)
	if err == nil {
		return rows, nil
	}
	if len(rows) == 0 {
		rows = []report.Row{{Name: s.Name, What: s.Short, Failed: err.Error()}}
	}
	return rows, fmt.Errorf("scenario %s: %w", s.Name, err)
}

// settled turns what repeat has filled into values.
func settled(rows []*report.Row) []report.Row {
	out := make([]report.Row, len(rows))
	for i, r := range rows {
		out[i] = *r
	}
	return out
}
