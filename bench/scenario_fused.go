package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/skewgate/skewgate/bench/machine"
	"github.com/skewgate/skewgate/bench/report"
)

// What the fused scenario sends.
const (
	fusedFrames = 100_000
	fusedWarmup = 2000
	fusedLimit  = 2 * time.Minute
	fusedEnd    = 10 * time.Second // for the appliance to drain
)

// fused times publish → fused record through a running appliance, spinning, by a process that
// is its detectors and its consumer.
func fused(ctx context.Context, h *Harness) ([]report.Row, error) {
	row := func(name, what string, limit float64) *report.Row {
		r := &report.Row{Name: name, What: what, Unit: "ns", RunUnit: "ns"}
		if limit > 0 {
			r.Bound = report.Bound{Compare: report.AtMost, Limit: limit}
		}
		return r
	}
	one := row("fused_one", "last publish → record in the output ring, path.wait spin, 1 model × 1 box, p50", 2000)
	oneP99 := row("fused_one_p99", "the same, p99; it tells of the machine", 0)
	three := row("fused_three", "the same, 3 models × 8 boxes, p50", 4000)
	threeP99 := row("fused_three_p99", "the same, p99; it tells of the machine", 0)
	rows := []*report.Row{one, oneP99, three, threeP99}
	missing := ""
	if h.Source == "" {
		missing = "needs the checkout: give --source"
	} else if _, err := exec.LookPath("ffmpeg"); err != nil {
		missing = "needs ffmpeg, which plays the camera: install it"
	}
	if missing != "" {
		for _, r := range rows {
			r.Missing = missing
		}
		return settled(rows), nil
	}
	program, err := h.buildGo(ctx, "skewgate", "./cmd/skewgate", sameProfile()...)
	if err == nil {
		err = h.stillFilm(ctx)
	}
	if err != nil {
		return nil, err
	}
	err = h.repeat(ctx, "fused", rows, func(ctx context.Context, rep int) ([]report.Run, error) {
		var results [2]*result
		side := func(i int, models, boxes uint64) func() error {
			return func() (err error) {
				began := time.Now()
				if results[i], err = h.fusedSide(ctx, program, models, boxes); err == nil {
					h.keep("fused", fmt.Sprintf("%dx%d", models, boxes), began, results[i].Latencies)
				}
				return err
			}
		}
		if err := h.inTurn(ctx, rep, side(0, 1, 1), side(1, 3, 8)); err != nil {
			return nil, err
		}
		oneP99.Note, threeP99.Note = jitter(results[0]), jitter(results[1])
		var runs []report.Run
		for _, r := range results {
			runs = append(runs, report.Run{Value: float64(r.Latencies.Quantile(0.5))}, report.Run{Value: float64(r.Latencies.Quantile(0.99))})
		}
		return runs, nil
	})
	return settled(rows), err
}

// sameProfile is the flag that builds an appliance with the path's profile, as make does, if
// this program was built so.
func sameProfile() []string {
	info, ok := debug.ReadBuildInfo()
	if ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-pgo" }) {
		return []string{"-pgo=cmd/skewgate/path.pgo"}
	}
	return nil
}

// jitter says what the role's processor did to a thread that only reads the clock.
func jitter(r *result) string {
	var g machine.Gaps
	if len(r.Jitter) > 0 {
		g = r.Jitter[0]
	}
	return fmt.Sprintf("just after the last run a thread that only reads the clock was kept from it for more than 10 µs %d times in %d ms, at most %d µs",
		g.Over10us, g.SpunNS/1e6, g.LongestNS/1e3)
}

// stillFilm makes a film of one grey picture a second, so that the camera costs next to nothing.
func (h *Harness) stillFilm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, compileLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-f", "lavfi", "-i", "color=gray:size=64x48:rate=1", "-t", "600",
		"-c:v", "mpeg4", filepath.Join(h.dir, "film.mp4"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make a film (needs ffmpeg): %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// fusedSide runs an appliance and the process that feeds it.
func (h *Harness) fusedSide(ctx context.Context, program string, models, boxes uint64) (r *result, err error) {
	ctx, cancel := context.WithTimeout(ctx, fusedLimit)
	defer cancel()
	folder, err := os.MkdirTemp(h.dir, "fused-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for an appliance: %w", err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "unit: bench\nstate_dir: state\npath: {wait: spin}\ncameras:\n  - {name: %s, source: ../film.mp4, loop: true, max_picture: 64x48}\nmodels:\n", fusedCamera)
	for m := range models {
		fmt.Fprintf(&text, "  - {name: model-%d, command: attach, frame_ids: true, max_boxes: 32, cameras: [%s]}\n", m, fusedCamera)
	}
	text.WriteString("sinks:\n  - shm: {}\n")
	if err := os.WriteFile(filepath.Join(folder, "skewgate.yaml"), []byte(text.String()), 0o600); err != nil {
		return nil, fmt.Errorf("write a config: %w", err)
	}
	run := filepath.Join(folder, "run")
	a, err := start(ctx, "skewgate run", []string{program, "run", "-c", filepath.Join(folder, "skewgate.yaml"), "--run-dir", run}, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.end()) }()
	j := job{
		Role: "fused", Socket: filepath.Join(run, "attach.sock"), Models: models, Boxes: boxes,
		Messages: h.count(fusedFrames, 1000), Warmup: fusedWarmup,
	}
	r, err = h.aloneOn(ctx, h.writerCPU, j)
	if err != nil { // its reason may be the appliance's
		err = fmt.Errorf("%w\nskewgate run: %s", err, strings.TrimSpace(a.err.String()))
	}
	return r, err
}

// end asks a process to end, and after a while makes it.
func (p *process) end() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return errors.Join(fmt.Errorf("end %s: %w", p.name, err), p.cmd.Wait())
	}
	kill := time.AfterFunc(fusedEnd, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s did not end in order: %w: %s", p.name, err, strings.TrimSpace(p.err.String()))
	}
	return nil
}
