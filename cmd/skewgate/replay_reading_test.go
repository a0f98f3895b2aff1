package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Replays drawn for each seed of TestReplayAgainstReading, and how many seeds.
const (
	readingReplays   = 1000
	readingSeeds     = 2
	readingSeedsLong = 40
)

// reading is what testdata/reading.py has drawn, and what it says of it.
type reading struct {
	Input   string           `json:"input"`
	Refused bool             `json:"refused"`
	Groups  []map[string]any `json:"groups"`
	Summary replaySummary    `json:"summary"`
}

// R000-4, R000-5 and the rest of the contract: random replays, in all the ways in which one can
// be written, against a reading of the rules in another language that shares nothing with ours.
func TestReplayAgainstReading(t *testing.T) {
	seeds := readingSeeds
	if os.Getenv("SKEWGATE_LONG") != "" {
		seeds = readingSeedsLong
	}
	seen := map[string]int{}
	for seed := range seeds {
		cmd := exec.Command(pythonProgram(), "testdata/reading.py", fmt.Sprint(seed+1), fmt.Sprint(readingReplays))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("reading.py: %v\n%s", err, stderr.String())
		}
		lines := bufio.NewScanner(bytes.NewReader(out))
		lines.Buffer(nil, 1<<20)
		n := 0
		for ; lines.Scan(); n++ {
			var r reading
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			if diff := r.differs(t, seen); diff != "" {
				t.Fatalf("replay %d of seed %d (-reading +replay):\n%s\nof:\n%s", n, seed+1, diff, r.Input)
			}
		}
		if n != readingReplays {
			t.Fatalf("%d replays drawn, want %d", n, readingReplays)
		}
	}
	// A generator that no longer reaches a rule would agree with anything.
	for _, what := range append(replayCounterNames, "refused config", "id", "raw", "w", "q", "q0") {
		if what != "closed_forgotten" && seen[what] < 5*seeds { // needs more records than a replay has messages
			t.Errorf("%s: %d times in %d replays", what, seen[what], seeds*readingReplays)
		}
	}
}

// differs runs one and says in what it comes out otherwise. seen counts what has happened in it.
func (r *reading) differs(t *testing.T, seen map[string]int) string {
	out, _, code := runReplay(t, r.Input)
	groups, summary, configError := replayOutput(t, out)
	if r.Refused || configError != "" {
		seen["refused config"]++
		return cmp.Diff(r.Refused, code == exitConfig && configError != "")
	}
	for _, g := range groups {
		note := g["key_note"].(string)
		kind, _, _ := strings.Cut(note, ":")
		if strings.HasPrefix(kind, "q") && kind != "q0" {
			kind = "q"
		}
		seen[kind]++
	}
	for name, n := range summary.Counters {
		if n != 0.0 {
			seen[name]++
		}
	}
	if len(r.Groups)+len(groups) == 0 {
		groups, r.Groups = nil, nil
	}
	return cmp.Diff(r.Groups, groups) + cmp.Diff(r.Summary, summary)
}
