package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skewgate/skewgate/bench"
	"github.com/skewgate/skewgate/bench/report"
)

// asProgram makes this test binary the program itself.
const asProgram = "SKEWBENCH_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// skewbench runs the program and returns what it printed and its exit code.
func skewbench(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestListNamesAllScenarios(t *testing.T) {
	out, _, code := skewbench(t, "list")
	jsonOut, _, jsonCode := skewbench(t, "list", "--json")
	if code != 0 || jsonCode != 0 || !strings.Contains(jsonOut, `"schema": 1`) {
		t.Errorf("want two lists, got exit codes %d, %d: %s", code, jsonCode, jsonOut)
	}
	for _, s := range bench.Scenarios() {
		if !strings.Contains(out, s.Name+" ") || !strings.Contains(jsonOut, `"`+s.Name+`"`) {
			t.Errorf("%s is not listed:\n%s", s.Name, out)
		}
	}
}

func TestWrongUse(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string // in stderr
	}{
		{"unknown scenario", []string{"speed"}, "speed"},
		{"unknown flag", []string{"all", "--fast"}, "--fast"},
		{"an argument too many", []string{"publish", "x"}, "skewbench publish --help"},
		{"no repetitions", []string{"publish", "--reps", "0"}, "repetitions 0"},
		{"no checkout", []string{"publish", "--source", "/nowhere"}, "/nowhere"},
		{"one report", []string{"compare", "x.json"}, "compare"},
		{"no report", []string{"compare", "/nowhere/x.json", "y.json"}, "/nowhere/x.json"},
	}
	for _, test := range tests {
		out, stderr, code := skewbench(t, test.args...)
		if code != exitUsage && !(test.name == "unknown scenario" && code != 0) || !strings.Contains(stderr, test.want) || out != "" {
			t.Errorf("%s: want exit code %d and %q, got %d, %q, %q", test.name, exitUsage, test.want, code, stderr, out)
		}
	}
}

// TestPublishAsJSON measures for real, if for a moment, and keeps the results.
func TestPublishAsJSON(t *testing.T) {
	dir := t.TempDir()
	out, stderr, code := skewbench(t, "publish", "--json", "--reps", "1", "--scale", "0.001", "--patience", "0s", "--out", dir)
	if code != 0 && code != exitFindings { // a busy machine may miss the bound
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	rep, err := report.Read(strings.NewReader(out), "stdout")
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Rows) != 2 || rep.Rows[0].Name != "publish" || rep.Rows[0].Figure.Median <= 0 || rep.Environment.Kernel == "" || len(rep.Environment.Noise) != 2 {
		t.Errorf("report has holes: %s", out)
	}
	if rep.Rows[1].Figure.Max != 0 {
		t.Errorf("publish allocates: %+v", rep.Rows[1].Figure)
	}
	for _, name := range []string{"results.json", "environment.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !json.Valid(text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCompare(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, values ...float64) string {
		row := report.Row{Name: "publish", Unit: "ns", Bound: report.Bound{Compare: report.AtMost, Limit: 30}}
		for _, v := range values {
			row.Runs = append(row.Runs, report.Run{Value: v, Quiet: true})
		}
		row.Settle(1)
		path := filepath.Join(dir, name)
		rep := report.Report{Schema: report.Schema, Rows: []report.Row{row}}
		if err := writeFile(path, rep.Write); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fast, slow, other := file("fast.json", 20, 22), file("slow.json", 30, 33), file("other.json", 21, 23)
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, a, b string
		code       int
		want       string
	}{
		{"worse", fast, slow, exitFindings, "WORSE"},
		{"better", slow, fast, 0, "differs"},
		{"no difference", fast, other, 0, "no difference shown"},
		{"broken", fast, broken, exitUsage, ""},
	}
	for _, test := range tests {
		out, stderr, code := skewbench(t, "compare", test.a, test.b)
		if code != test.code || !strings.Contains(out, test.want) {
			t.Errorf("%s: want exit code %d and %q, got %d, %q, %q", test.name, test.code, test.want, code, out, stderr)
		}
	}
	if out, _, code := skewbench(t, "compare", "--json", fast, slow); code != exitFindings || !json.Valid([]byte(out)) || !strings.Contains(out, `"worse": true`) {
		t.Errorf("compare --json: exit code %d, %s", code, out)
	}
}

func TestEnv(t *testing.T) {
	out, stderr, code := skewbench(t, "env")
	if code != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, `"over_100us"`) {
		t.Errorf("exit code %d: %s %s", code, out, stderr)
	}
}
