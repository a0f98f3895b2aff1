package bench

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/skewgate/skewgate/bench/report"
)

// cLibrary times sg_ring_publish of shm/c, compiled as its users compile it.
func cLibrary(ctx context.Context, h *Harness) ([]report.Row, error) {
	row := &report.Row{
		Name: "c", What: "C library, 256 B, without clock read and doorbell", Unit: "ns", RunUnit: "ns",
	}
	if h.Source == "" {
		row.Missing = "needs the checkout: give --source"
		return []report.Row{*row}, nil
	}
	library, err := h.buildLibrary(ctx)
	if err != nil {
		return nil, err
	}
	program, err := h.compile(ctx, "publish", "-I", filepath.Join(h.Source, "shm", "c"), filepath.Join(library, "libskewgate_shm.a"))
	if err != nil {
		return nil, err
	}
	err = h.repeat(ctx, "c", []*report.Row{row}, func(ctx context.Context, rep int) ([]report.Run, error) {
		var ns float64
		err := h.inTurn(ctx, rep, func() (err error) {
			ns, err = h.publishCost(ctx, "publish.c", program, strconv.Itoa(int(writerLimit/time.Second)))
			return err
		})
		return []report.Run{{Value: ns}}, err
	})
	return []report.Row{*row}, err
}

// buildLibrary makes shm/c in a folder of ours and returns it.
func (h *Harness) buildLibrary(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, compileLimit)
	defer cancel()
	out := filepath.Join(h.dir, "libskewgate_shm")
	cmd := exec.CommandContext(ctx, "make", "-C", filepath.Join(h.Source, "shm", "c"), "OUT="+out, "CC=gcc", "all")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the C library (needs make and gcc): %w\n%s", err, strings.TrimSpace(string(text)))
	}
	return out, nil
}
