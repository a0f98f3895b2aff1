package bench

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// TestMain makes this binary one side of a run when the harness asks for it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == RoleArg {
		if err := Role(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// tinyHarness measures next to nothing: these tests show that the bench works, not how
// fast anything is.
func tinyHarness(t testing.TB) *Harness {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewHarness(Options{Reps: 1, Tries: 1, Scale: 0.0001, Source: "..", Out: t.TempDir(), Program: []string{self, RoleArg}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// within is a context for a test on a loaded machine.
func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}
