package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// What the correlation scenarios send: as many different bodies, in turn.
const (
	bodyCount = 256
	bodyBoxes = 8
)

// newBodies writes JSON bodies of 8 boxes, about 625 bytes each, as Python's json.dumps writes
// them, a line each, for all sides of a comparison to read.
func (h *Harness) newBodies() (path string, err error) {
	rng := rand.New(rand.NewPCG(1, 2))
	labels := []string{"person", "car", "dog"}
	var text strings.Builder
	for range bodyCount {
		text.WriteString(`{"detections": [`)
		for i := range bodyBoxes {
			if i > 0 {
				text.WriteString(", ")
			}
			x, y := 0.8*rng.Float64(), 0.8*rng.Float64()
			fmt.Fprintf(&text, `{"box": [%.4f, %.4f, %.4f, %.4f], "score": %.3f, "label": "%s"}`,
				x, y, x+0.2*rng.Float64(), y+0.2*rng.Float64(), rng.Float64(), labels[rng.IntN(len(labels))])
		}
		text.WriteString("]}\n")
	}
	path = filepath.Join(h.dir, "bodies.jsonl")
	return path, os.WriteFile(path, []byte(text.String()), 0o600)
}
