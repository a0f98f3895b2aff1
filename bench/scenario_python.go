package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/skewgate/skewgate/bench/report"
)

// python times publishing from Python, attached as a detector of somebody else's is.
func python(ctx context.Context, h *Harness) (rows []report.Row, err error) {
	buffer := &report.Row{
		Name: "python_buffer", What: "Python, publish of 8 boxes in one contiguous buffer", Unit: "ns", RunUnit: "ns",
		Bound: report.Bound{Compare: report.AtMost, Limit: 3000},
	}
	list := &report.Row{
		Name: "python_list", What: "Python, publish of a list of 8 boxes", Unit: "ns", RunUnit: "ns",
		Bound: report.Bound{Compare: report.AtMost, Limit: 6000},
	}
	both := []*report.Row{buffer, list}
	if h.Source == "" {
		buffer.Missing, list.Missing = "needs the checkout: give --source", "needs the checkout: give --source"
		return settled(both), nil
	}
	library, err := h.buildLibrary(ctx)
	if err != nil {
		return nil, err
	}
	a, err := newAttachment(h.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	err = h.repeat(ctx, "python", both, func(ctx context.Context, rep int) ([]report.Run, error) {
		var bufferNS, listNS float64
		err := h.inTurn(ctx, rep, func() (err error) {
			bufferNS, listNS, err = h.pythonCost(ctx, a.path, library)
			return err
		})
		return []report.Run{{Value: bufferNS}, {Value: listNS}}, err
	})
	return settled(both), err
}

// pythonCost runs peers/publish.py.
func (h *Harness) pythonCost(ctx context.Context, socket, library string) (bufferNS, listNS float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, writerLimit)
	defer cancel()
	n := h.count(300_000, 1000)
	cmd := exec.CommandContext(ctx, "python3", filepath.Join(h.dir, "peers", "publish.py"), socket, strconv.Itoa(h.writerCPU), strconv.FormatUint(n, 10))
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+filepath.Join(h.Source, "shm", "python"),
		"SKEWGATE_SHM_LIB="+filepath.Join(library, "libskewgate_shm.so"))
	var words strings.Builder
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("publish from Python (needs python3): %w\n%s", err, strings.TrimSpace(words.String()))
	}
	var cost struct {
		Buffer float64 `json:"buffer_ns"`
		List   float64 `json:"list_ns"`
	}
	if err := json.Unmarshal(out, &cost); err != nil {
		return 0, 0, fmt.Errorf("read what Python measured: %w", err)
	}
	return cost.Buffer, cost.List, nil
}
