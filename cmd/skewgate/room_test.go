package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// F24: a config that cannot fit ends at once with needed and available, and allocates
// nothing: no SIGBUS, no memory killer later.
func TestNoRoomIsSaidBeforeAllocating(t *testing.T) {
	config := strings.Replace(onlyForeign, "WAIT", "adaptive", 1)
	var cameras strings.Builder
	for i := range 60 {
		fmt.Fprintf(&cameras, "  - {name: c%d, source: $DIR/film.mp4, max_picture: 8192x8192}\n", i) // 0.8 GB each
	}
	b := newBox(t, strings.Replace(config, "models:\n", cameras.String()+"models:\n", 1))
	begun := time.Now()
	b.start()
	if code := b.wait(20 * time.Second); code != 1 {
		t.Errorf("exit code: want 1, got %d", code)
	}
	for _, want := range []string{"not enough memory: needed ", " available ", "frame rings ", "max_picture"} {
		if !strings.Contains(b.stderr.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, b.stderr.String())
		}
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v, as long as allocating would", took)
	}
	if entries, err := os.ReadDir(b.path("run")); err == nil && len(entries) > 0 {
		t.Errorf("it left %v behind", entries)
	}
	got := say(t, b.dir, nil, "doctor", "--json", "-c", b.path("skewgate.yaml"), "--run-dir", b.path("run"))
	if got.code != 3 || !strings.Contains(got.stdout, "config's memory") || !strings.Contains(got.stdout, "not enough memory: needed ") {
		t.Errorf("doctor: code %d, says\n%s", got.code, got.stdout)
	}
}
