package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/skewgate/skewgate/bench/report"
)

// probeCheck is the part of Publish that asks whether somebody listens.
var probeCheck = regexp.MustCompile(`(?m)^\tif probeSemaphore != 0 \{\n(?:\t\t.*\n)+\t\}\n`)

// probe builds the publisher twice, once with that part cut out of shm/writer.go by an
// overlay, and takes the difference.
func probe(ctx context.Context, h *Harness) ([]report.Row, error) {
	row := &report.Row{
		Name: "probe", What: "publish with the probe's site, nobody listening, minus publish without", Unit: "ns", RunUnit: "ns",
		Bound: report.Bound{Compare: report.AtMost, Limit: 1},
	}
	if h.Source == "" {
		row.Missing = "needs the checkout: give --source"
		return []report.Row{*row}, nil
	}
	with, err := h.buildGo(ctx, "publisher", "./bench/publisher")
	if err != nil {
		return nil, err
	}
	overlay, err := h.cutProbe()
	if err != nil {
		return nil, err
	}
	without, err := h.buildGo(ctx, "publisher-without-probe", "./bench/publisher", "-overlay", overlay)
	if err != nil {
		return nil, err
	}
	err = h.repeat(ctx, "probe", []*report.Row{row}, func(ctx context.Context, rep int) ([]report.Run, error) {
		var cost [2]float64
		side := func(i int, program string) func() error {
			return func() (err error) {
				cost[i], err = h.publishCost(ctx, filepath.Base(program), program, strconv.Itoa(messageBytes))
				return err
			}
		}
		err := h.inTurn(ctx, rep, side(0, with), side(1, without))
		return []report.Run{{Value: cost[0] - cost[1]}}, err
	})
	return []report.Row{*row}, err
}

// cutProbe writes an overlay for go build and returns its path.
func (h *Harness) cutProbe() (string, error) {
	source, err := filepath.Abs(filepath.Join(h.Source, "shm", "writer.go"))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return "", fmt.Errorf("read the writer's source: %w", err)
	}
	if n := len(probeCheck.FindAll(text, -1)); n != 1 {
		return "", fmt.Errorf("%s asks for the probe's semaphore %d times, want once: scenario_probe.go no longer knows it", source, n)
	}
	cut, overlay := filepath.Join(h.dir, "writer.go"), filepath.Join(h.dir, "overlay.json")
	if err := os.WriteFile(cut, probeCheck.ReplaceAll(text, nil), 0o600); err != nil {
		return "", fmt.Errorf("write the source without the probe: %w", err)
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{source: cut}})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// buildGo builds a program of the checkout; more are further flags of go build.
func (h *Harness) buildGo(ctx context.Context, name, pkg string, more ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	program := filepath.Join(h.dir, name)
	args := []string{"build", "-buildvcs=false", "-o", program}
	cmd := exec.CommandContext(ctx, "go", append(append(args, more...), pkg)...)
	cmd.Dir = h.Source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s (needs go): %w\n%s", name, err, strings.TrimSpace(string(out)))
	}
	return program, nil
}
