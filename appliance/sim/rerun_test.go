package sim

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var (
	failure = regexp.MustCompile(`(?m)seed \d+: .*`)
	again   = regexp.MustCompile(`(?m)rerun it: (go test .*)$`)
)

// What a failing run prints, put into a shell at the root as it stands, fails once more, at the
// same instant of the same seed and over the same thing, and runs nothing else.
func TestPrintedLineRunsTheSeedAgain(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^TestSim$", "-sim.seed=21", "-sim.seeds=30", "-sim.fault=too many frames are kept open")
	out, err := cmd.CombinedOutput()
	failures, lines := failure.FindAllString(string(out), -1), again.FindAllStringSubmatch(string(out), -1)
	if err == nil || len(lines) == 0 || len(lines) != len(failures) {
		t.Fatalf("a broken correlator: %v, %d failures, %d lines to run again\n%s", err, len(failures), len(lines), out)
	}
	sh := exec.Command("sh", "-c", lines[0][1])
	sh.Dir = "../.."
	out, err = sh.CombinedOutput()
	if got := failure.FindAllString(string(out), -1); err == nil || len(got) != 1 || got[0] != failures[0] {
		t.Errorf("%s: %v\nfails over %q\nand failed over %q\n%s", lines[0][1], err, got, failures[0], out)
	}
	if !strings.Contains(string(out), lines[0][0]) {
		t.Errorf("it does not tell how to run it again:\n%s", out)
	}
}
