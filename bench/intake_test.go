package bench

import (
	"os"
	"strings"
	"testing"
)

// TestIntakeReadsWhatWasSent: every message of each kind is in a group that closed by quorum,
// and none costs an allocation.
func TestIntakeReadsWhatWasSent(t *testing.T) {
	h := tinyHarness(t)
	bodies, err := h.newBodies()
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{bodyPacked, bodyJSON, bodyFastjson} {
		r, err := intakeRole(&job{Body: body, Bodies: bodies, Messages: 5000})
		if err != nil {
			t.Fatal(err)
		}
		if r.Messages < 5000 || r.Closed*trafficModels != r.Messages || r.LastNS <= 0 {
			t.Errorf("%s: want groups of %d, got %+v", body, trafficModels, r)
		}
		if r.Allocs > 100 { // the runtime's own, and the test's
			t.Errorf("%s: %d allocations for %d messages", body, r.Allocs, r.Messages)
		}
	}
}

// TestIntakeCountsWhatIsRefused: bodies that cannot be read are no figure.
func TestIntakeCountsWhatIsRefused(t *testing.T) {
	path := t.TempDir() + "/bodies"
	if err := os.WriteFile(path, []byte("{\"boxes\":[]}\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := intakeRole(&job{Body: bodyJSON, Bodies: path, Messages: 100}); err == nil || !strings.Contains(err.Error(), "malformed") {
		t.Errorf("want the body's fault, got %v", err)
	}
}

// TestBodiesAreAsSaid: about 625 bytes of 8 boxes, and many different ones.
func TestBodiesAreAsSaid(t *testing.T) {
	h := tinyHarness(t)
	path, err := h.newBodies()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if mean := len(text) / len(lines); len(lines) != bodyCount || mean < 600 || mean > 650 {
		t.Errorf("want %d bodies of about 625 bytes, got %d of %d", bodyCount, len(lines), mean)
	}
	if n := strings.Count(lines[0], "score"); n != bodyBoxes {
		t.Errorf("want %d boxes, got %d", bodyBoxes, n)
	}
}
