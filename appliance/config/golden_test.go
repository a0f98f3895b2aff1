package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the problems found into testdata/problems")

const models = "../../testdata/models"

// workshop makes a folder with what the cases name: a film, a network and its manifest.
func workshop(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	network, err := os.ReadFile(filepath.Join(models, "proposals.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "net.onnx", string(network))
	write(t, dir, "broken.onnx", string(network[:len(network)/2]))
	write(t, dir, "net.yaml", "model: net.onnx\nlayout: yolov8\n")
	write(t, dir, "broken.yaml", "model: broken.onnx\nlayout: yolov8\n")
	write(t, dir, "film.mp4", "a film")
	return dir
}

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// testOptions know a few variables and a machine without isolated cores.
func testOptions(t testing.TB) Options {
	isolated := write(t, t.TempDir(), "isolated", "\n")
	env := map[string]string{
		"HOME": "/home/test", "GATE_USER": "admin", "GATE_PASS": "pa/ss@word", "THREADS": "two",
		"EMPTY": "", "LINES": "a\nb", "SECRET_DIR": "/no/such/sesame", "SEVEN": "7",
	}
	return Options{
		LookupEnv:    func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		IsolatedCPUs: isolated,
	}
}

// TestProblems reads each case of testdata/problems: a config, a rule of dashes, and
// every problem it must give, in order. F51, F53
func TestProblems(t *testing.T) {
	cases, err := filepath.Glob("testdata/problems/*.txt")
	if err != nil || len(cases) < 20 {
		t.Fatalf("found %d cases (%v), want at least 20", len(cases), err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			input, want, ok := strings.Cut(string(text), "----------\n")
			if !ok {
				t.Fatalf("%s has no rule of dashes", path)
			}
			dir := workshop(t)
			file := write(t, dir, "c.yaml", input)
			cfg, problems := Load(file, testOptions(t))
			var lines []string
			for _, p := range problems {
				lines = append(lines, strings.ReplaceAll(strings.ReplaceAll(p.String(), dir+"/", ""), dir, ".")+"\n")
			}
			got := strings.Join(lines, "")
			if HasErrors(problems) != (cfg == nil) {
				t.Errorf("config is nil: %t, with errors: %t; want them equal", cfg == nil, HasErrors(problems))
			}
			for _, secret := range []string{"pa/ss@word", "hunter2", "sesame"} {
				if strings.Contains(got, secret) {
					t.Errorf("a problem shows the secret %q:\n%s", secret, got)
				}
			}
			if *update {
				write(t, filepath.Dir(path), filepath.Base(path), input+"----------\n"+got)
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// plain writes a value as the config file has it.
func plain(v any) string {
	if d, ok := v.(time.Duration); ok {
		return short(d)
	}
	return fmt.Sprint(v)
}
