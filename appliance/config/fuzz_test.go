package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzLoad: whatever the file holds, Load ends soon and says either what is wrong, with
// places inside the file and no secret, or nothing.
func FuzzLoad(f *testing.F) {
	cases, err := filepath.Glob("testdata/problems/*.txt")
	if err != nil || len(cases) == 0 {
		f.Fatal("no cases to begin with", err)
	}
	for _, path := range append(cases, "../../docs/config.example.yaml") {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		input, _, _ := strings.Cut(string(text), "----------\n")
		f.Add([]byte(input))
	}
	f.Add([]byte(small))
	dir := workshop(f)
	opts := testOptions(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(dir, "c.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		cfg, problems := Load(file, opts)
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("took %s", took)
		}
		if (cfg == nil) != HasErrors(problems) {
			t.Errorf("config %v with problems %v", cfg, problems)
		}
		lines := strings.Count(string(text), "\n") + 1
		for _, p := range problems {
			if p.File == file && (p.Line < 0 || p.Line > lines || p.Line > 0 && p.Col < 1) {
				t.Errorf("%s: outside of the file's %d lines", p, lines)
			}
			if p.Text == "" || p.Severity == "" {
				t.Errorf("%+v says nothing", p)
			}
			if strings.Contains(p.String(), "pa/ss@word") {
				t.Errorf("%s shows a secret", p)
			}
		}
	})
}
