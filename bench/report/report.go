package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/skewgate/skewgate/bench/machine"
)

// Schema is the version of a report's JSON.
const Schema = 1

// maxReportBytes bounds what Read takes.
const maxReportBytes = 64 << 20

// A Report is what one call of the bench measured, and on what.
type Report struct {
	Schema      int                 `json:"schema"`
	Environment machine.Environment `json:"environment"`
	Logs        string              `json:"logs,omitempty"` // folder of the histogram logs
	Rows        []Row               `json:"rows"`
}

// Write prints r as JSON.
func (r *Report) Write(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Read reads a report written by Write, name for errors.
func Read(in io.Reader, name string) (*Report, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxReportBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read report %s: %w", name, err)
	}
	if len(text) > maxReportBytes {
		return nil, fmt.Errorf("read report %s: more than %d bytes, not a report", name, maxReportBytes)
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read report %s: %w (want the output of skewbench all --json)", name, err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("read report %s: schema %d, this program reads %d", name, r.Schema, Schema)
	}
	return &r, nil
}

// Missed counts rows that miss their bound, and those that have no figure.
func (r *Report) Missed() (missed, notMeasured int) {
	for i := range r.Rows {
		switch r.Rows[i].Verdict() {
		case Missed:
			missed++
		case NotMeasured:
			notMeasured++
		}
	}
	return missed, notMeasured
}
