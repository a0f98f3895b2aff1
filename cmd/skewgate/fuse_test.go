package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

const fuseCases = "../../testdata/cases/fusion.jsonl"

// buildForFuse builds the program as it is shipped.
func buildForFuse(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "skewgate")
	cmd := exec.Command("go", "build", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// fused is an answer, or what a reference answered.
type fused struct {
	Boxes  [][]any
	Scores []any
	Labels []float64
	Error  any
}

// TestFuseVectors runs the references' vectors through the real program: each answer is
// the reference's to 2e-6, in any order, where that is finite and within 0…1.
func TestFuseVectors(t *testing.T) {
	bin := buildForFuse(t)
	in, err := os.ReadFile(fuseCases)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(bin, "fuse", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	fromFile, err := exec.Command(bin, "fuse", fuseCases).Output()
	if err != nil || !bytes.Equal(fromFile, stdout.Bytes()) {
		t.Errorf("from the file: %v, the same answer: %v", err, bytes.Equal(fromFile, stdout.Bytes()))
	}
	if !strings.Contains(stderr.String(), "skewgate fuse: line ") || !strings.Contains(stderr.String(), "removed: not_finite\n") {
		t.Errorf("standard error does not say what was removed:\n%.500s", &stderr)
	}

	lines := strings.Split(strings.TrimSpace(string(in)), "\n")
	answers := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	if len(answers) != len(lines) {
		t.Fatalf("%d answers to %d lines", len(answers), len(lines))
	}
	passed := map[string]int{}
	for i, line := range lines {
		var v struct {
			ID        int
			Case      string
			Algorithm string
			Params    struct{ Weights []float64 }
			Expected  fused
		}
		var got fused
		if err := errors.Join(json.Unmarshal([]byte(line), &v), json.Unmarshal([]byte(answers[i]), &got)); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		// Answered by the documented gate, see appliance/fuse/README.md and its tests.
		exempt := strings.HasPrefix(v.Case, "hand/weight_zero_") || v.Case == "hand/weights_all_zero" || v.Case == "hand/weight_negative" || v.Case == "hand/pixel_coordinates"
		if exempt || !inRange(&v.Expected) {
			passed["gate"]++
			continue
		}
		if why := fusedDiffer(&got, &v.Expected); why != "" {
			t.Errorf("vector %d, %s, %s: %s\n%.300s", v.ID, v.Case, v.Algorithm, why, answers[i])
			continue
		}
		passed[v.Algorithm]++
	}
	want := map[string]int{
		"wbf": 486, "nmw": 71, "nms": 66, "soft_nms": 85, "batched_nms": 89, "supervision_nms": 57, "supervision_nmm": 85, "gate": 188,
	}
	if fmt.Sprint(passed) != fmt.Sprint(want) {
		t.Errorf("passed %v, want %v", passed, want)
	}
}

// inRange says whether the reference's answer counts: no error, all finite and within 0…1.
func inRange(f *fused) bool {
	if f.Error != nil {
		return false
	}
	for i, b := range f.Boxes {
		for _, v := range append(b[:4:4], f.Scores[i]) {
			x, ok := v.(float64) // NaN and the infinities are strings
			if !ok || x < -2e-6 || x > 1+2e-6 {
				return false
			}
		}
	}
	return true
}

func fusedDiffer(got, want *fused) string {
	if got.Error != nil || len(got.Boxes) != len(want.Boxes) {
		return fmt.Sprintf("error %v, %d boxes, want %d", got.Error, len(got.Boxes), len(want.Boxes))
	}
	used := make([]bool, len(want.Boxes))
next:
	for i := range got.Boxes {
		for j := range want.Boxes {
			if used[j] || got.Labels[i] != want.Labels[j] {
				continue
			}
			far := math.Abs(got.Scores[i].(float64) - want.Scores[j].(float64))
			for k := range 4 {
				far = max(far, math.Abs(got.Boxes[i][k].(float64)-want.Boxes[j][k].(float64)))
			}
			if far <= 2e-6 {
				used[j] = true
				continue next
			}
		}
		return fmt.Sprintf("box %d is none of the reference's", i)
	}
	return ""
}

func TestFuseLines(t *testing.T) {
	const line = `{"algorithm":"wbf","inputs":[{"boxes":[[0,0,0.5,0.5]],"scores":[0.5],"labels":[0]}]}`
	const answer = `{"boxes":[[0,0,0.5,0.5]],"scores":[0.5],"labels":[0]}` + "\n"
	long := `{"pad":"` + strings.Repeat("x", maxFuseLine) + `"}`
	const tooLong = `{"error":"line longer than 8388608 bytes: split it"}` + "\n"
	full := line + strings.Repeat(" ", maxFuseLine-len(line))
	for name, c := range map[string]struct{ in, want string }{
		"empty":              {"", ""},
		"no end of line":     {line, answer},
		"two lines":          {line + "\n" + line + "\n", answer + answer},
		"blank lines":        {"\n \r\n" + line + "\r\n\n", answer},
		"malformed, goes on": {"{\n" + line, `{"error":"not JSON: cannot parse JSON: cannot parse object: missing '}'; unparsed tail: \"\""}` + "\n" + answer},
		"longest":            {full + "\n" + line, answer + answer},
		"too long, goes on":  {full + " \n" + line, tooLong + answer},
		"much too long":      {line + "\n" + long + long + "\n" + line + "\n", answer + tooLong + answer},
		"too long, no end":   {line + "\n" + long, answer + tooLong},
	} {
		t.Run(name, func(t *testing.T) {
			var out, log bytes.Buffer
			if err := fuseLines("test", strings.NewReader(c.in), &out, &log); err != nil || log.Len() > 0 {
				t.Errorf("%v, log %q", err, &log)
			}
			if out.String() != c.want {
				t.Errorf("got  %.400q\nwant %.400q", &out, c.want)
			}
		})
	}
	t.Run("answers at once", func(t *testing.T) {
		in, ask := pipeForFuse(t)
		out, hear := pipeForFuse(t)
		done := make(chan error, 1)
		go func() { done <- fuseLines("pipe", in, hear, os.Stderr) }()
		r := bufio.NewReader(out)
		for range 3 {
			fmt.Fprintln(ask, line)
			if got, err := r.ReadString('\n'); got != answer || err != nil {
				t.Fatalf("%q, %v", got, err)
			}
		}
		ask.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("read error", func(t *testing.T) {
		var out bytes.Buffer
		err := fuseLines("disk", iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(line))), &out, os.Stderr)
		if err == nil || !strings.HasPrefix(err.Error(), "read disk, line 1: ") {
			t.Error(err)
		}
	})
	t.Run("write error", func(t *testing.T) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		if err := fuseLines("test", strings.NewReader(line), full, os.Stderr); err == nil || !strings.HasPrefix(err.Error(), "write answers: ") {
			t.Error(err)
		}
	})
}

func pipeForFuse(t *testing.T) (*os.File, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func TestFuseUsage(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no file":        {nil, exitUsage, "got 0 arguments"},
		"two files":      {[]string{"a", "b"}, exitUsage, "got 2 arguments"},
		"unknown flag":   {[]string{"--fast", "-"}, exitUsage, "unknown flag"},
		"missing file":   {[]string{"/nonexistent/x.jsonl"}, exitFailed, "no such file"},
		"folder":         {[]string{t.TempDir()}, exitFailed, "is a directory"},
		"broken, exit 0": {[]string{writeFuseInput(t, "{")}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := newRootCmd()
			root.SetArgs(append([]string{"fuse"}, c.args...))
			root.SetOut(new(bytes.Buffer))
			err := root.Execute()
			code := 0
			if err != nil {
				code = exitFailed
				var ee *exitError
				if errors.As(err, &ee) {
					code = ee.code
				}
			}
			if code != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("exit %d, %v; want %d, …%s…", code, err, c.code, c.says)
			}
		})
	}
}

func writeFuseInput(t *testing.T, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}
