package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance/config"
)

// fact is one thing that a run needs of this machine.
type fact struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Text string `json:"text"`
	Cure string `json:"cure,omitempty"` // of a finding
}

// diagnosis is what `doctor --json` prints.
type diagnosis struct {
	Schema   int    `json:"schema"`
	OK       bool   `json:"ok"`
	Findings int    `json:"findings"`
	Facts    []fact `json:"facts"`
}

// doctor looks at the machine. What it reads and runs can be set, so that a test can
// show it a machine that is not this one.
type doctor struct {
	ctx    context.Context
	root   fs.FS // for /proc and /sys
	exe    string
	env    func(string) (string, bool)
	runDir string
	uid    int
	redact func(string) string // of the config's environment
	out    diagnosis
}

// stepLimit bounds each program that doctor runs.
const stepLimit = 60 * time.Second

func newDoctorCmd() *cobra.Command {
	var file configFlag
	var asJSON bool
	var runDir string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at this machine and say what a run would miss, each with its cure",
		Long: `Look at this machine: kernel, cores, memory, shared memory, ffmpeg, skewgate-detect,
ONNX Runtime and the folders a run writes to. With a config, also whether it is right
and whether each of its models loads and runs here.

Exit code 0 when all is fine, 3 with findings.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			exe, err := os.Executable()
			if err == nil {
				exe, err = filepath.EvalSymlinks(exe)
			}
			if err != nil {
				return fmt.Errorf("find this program's own path: %w", err)
			}
			d := &doctor{ctx: cmd.Context(), root: os.DirFS("/"), exe: exe, env: os.LookupEnv, runDir: runDir, uid: os.Geteuid()}
			d.examine(&file)
			write := d.out.print
			if asJSON {
				write = d.out.printJSON
			}
			if err := write(cmd.OutOrStdout()); err != nil {
				return fmt.Errorf("print what was found: %w", err)
			}
			if !d.out.OK {
				return exit(exitFindings, nil)
			}
			return nil
		},
	}
	file.register(cmd)
	cmd.Flags().StringVar(&runDir, "run-dir", defaultRunDir(), "folder for control.sock, as given to run")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (d *doctor) examine(file *configFlag) {
	d.out = diagnosis{Schema: 1, OK: true, Facts: []fact{}}
	d.redact = func(text string) string { return text }
	cfg := d.config(file)
	r, stateDir := config.Runtime{FFmpeg: "ffmpeg"}, config.DefaultStateDir(d.uid, d.env)
	if cfg != nil {
		d.redact = cfg.Redact
		r, stateDir = cfg.Runtime, cfg.StateDir
	}
	d.kernel()
	d.cores()
	d.memory()
	if cfg != nil {
		d.needs(cfg)
	}
	d.sharedMemory()
	d.ffmpeg(r.FFmpeg)
	d.detectors(&r, cfg)
	d.folder("state folder", stateDir, "state_dir")
	d.folder("socket folder", d.runDir, "--run-dir")
}

func (d *doctor) fine(name, format string, args ...any) {
	d.out.Facts = append(d.out.Facts, fact{Name: name, OK: true, Text: d.redact(fmt.Sprintf(format, args...))})
}

func (d *doctor) finding(name, text, cure string) {
	d.out.OK = false
	d.out.Findings++
	d.out.Facts = append(d.out.Facts, fact{Name: name, Text: d.redact(text), Cure: d.redact(cure)})
}

// config reads the config that -c names or that lies at a default place. Having none is
// no finding: doctor is what one runs first.
func (d *doctor) config(file *configFlag) *config.Config {
	path, err := file.find()
	if err != nil {
		d.fine("config", "none given")
		return nil
	}
	cfg, problems := config.Load(path, config.Options{LookupEnv: d.env})
	errs, warnings := countProblems(problems)
	if errs > 0 {
		d.finding("config", fmt.Sprintf("%s has %s", path, count(errs, "error")), fmt.Sprintf("skewgate check -c %s says what and where", path))
		return nil
	}
	d.fine("config", "%s is right, with %s", path, count(warnings, "warning"))
	return cfg
}

func (g *diagnosis) printJSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(g)
}

func (g *diagnosis) print(out io.Writer) error {
	for _, f := range g.Facts {
		sign := "ok  "
		if !f.OK {
			sign = "FIND"
		}
		if _, err := fmt.Fprintf(out, "%s  %-15s %s\n", sign, f.Name, f.Text); err != nil {
			return err
		}
		if f.Cure != "" {
			if _, err := fmt.Fprintf(out, "%22s→ %s\n", "", f.Cure); err != nil {
				return err
			}
		}
	}
	words := "all fine"
	if !g.OK {
		words = count(g.Findings, "finding")
	}
	_, err := fmt.Fprintln(out, words)
	return err
}
