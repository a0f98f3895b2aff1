package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The Go example as its user builds and starts it.
func TestForeignDetectorInGo(t *testing.T) {
	b := newBox(t, brought())
	b.reachable()
	s := exampleGo(t, b)
	old := buildOldGo(t, b)
	s.old = func(model string) []string { return []string{old, model} }
	s.live(t, b)
}

func exampleGo(t *testing.T, b *box) *script {
	t.Helper()
	program := b.path("go/example_detector")
	buildGo(t, b, program)
	return &script{argv: func(model string) []string { return []string{program, model} }, client: "go/"}
}

func buildGo(t *testing.T, b *box, program string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", append(append([]string{"build", "-o", program}, args...), "../../shm/client/example_detector")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the Go example: %v\n%s", err, out)
	}
	openTree(t, filepath.Dir(program))
}

// buildOldGo makes the same example as another release of the package would: of ABI version 2.
func buildOldGo(t *testing.T, b *box) string {
	t.Helper()
	source, err := filepath.Abs("../../shm/abi.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	old, other := []byte("\tVersion = 1\n"), []byte("\tVersion = 2\n")
	if bytes.Count(text, old) != 1 {
		t.Fatalf("%s has no %q", source, old)
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{source: b.path("abi.go")}})
	if err == nil {
		err = os.WriteFile(b.path("abi.go"), bytes.Replace(text, old, other, 1), 0o644)
	}
	if err == nil {
		err = os.WriteFile(b.path("overlay.json"), list, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	program := b.path("old/example_detector")
	buildGo(t, b, program, "-overlay", b.path("overlay.json"))
	return program
}
