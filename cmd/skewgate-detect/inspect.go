package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/onnx"
)

// inspectRuns are timed after the warm-up; the median is told.
const inspectRuns = 15

// inspected is everything `inspect` says, and its JSON form.
type inspected struct {
	Schema int `json:"schema"`
	onnx.Inspection
	Library        string `json:"library"`
	LibraryVersion string `json:"library_version"`
	// FromManifest says that Proposal is the manifest that was given.
	FromManifest bool    `json:"from_manifest"`
	RunMS        float64 `json:"run_ms"` // median of a picture of the input's size, one thread; 0 when it did not run
}

func newInspectCmd() *cobra.Command {
	var library string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect MODEL.onnx|MANIFEST.yaml",
		Short: "Say what a model is, whether it runs here, and propose its manifest",
		Long: `Says what an ONNX file declares, whether this version can run it, and proposes a manifest.
With a manifest, says whether it fits its model. Either way the model is loaded and run a few times.
Exits 0 when it runs, 3 when it does not fit, 78 for a wrong manifest, 1 when there is nothing to look at.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := inspect(args[0], library)
			if err != nil {
				return err
			}
			if asJSON {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				err = e.Encode(in)
			} else {
				err = in.print(cmd.OutOrStdout())
			}
			if err == nil && in.Problem != "" {
				err = &exitError{exitFindings, errors.New(in.Problem)}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&library, "library", "", "ONNX Runtime's `path` (default: where skewgate looks for it)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func inspect(path, library string) (*inspected, error) {
	var given *onnx.Manifest
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".yaml" || ext == ".yml" {
		c, problems := config.LoadManifest(path, config.Options{})
		if config.HasErrors(problems) {
			var errs []error
			for _, p := range problems {
				errs = append(errs, errors.New(p.String()))
			}
			return nil, &exitError{exitConfig, errors.Join(errs...)}
		}
		given = &onnx.Manifest{
			Model: c.Model, SHA256: c.SHA256, Layout: string(c.Layout),
			Threshold: c.Threshold, NMSIoU: c.NMSIoU, Names: c.Names, MaxBoxes: c.MaxBoxes,
		}
		path = given.Model
	}
	library, err := findLibrary(library)
	if err != nil {
		return nil, err
	}
	in := &inspected{Schema: 1, Library: library, FromManifest: given != nil}
	if in.LibraryVersion, err = onnx.OpenLibrary(library); err != nil {
		return nil, err
	}
	var names []string
	if given != nil {
		names = given.Names
	}
	seen, err := onnx.Inspect(path, names)
	if err != nil {
		return nil, err
	}
	in.Inspection = *seen
	if given != nil {
		in.Proposal = given
	}
	if in.Problem == "" {
		// Shapes only suggest; running it is the proof.
		if in.RunMS, err = try(in.Proposal); err != nil {
			in.Problem = err.Error()
		}
	}
	if in.Problem != "" && given == nil {
		in.Proposal = nil
	}
	return in, nil
}

// findLibrary looks where skewgate does, named first.
func findLibrary(named string) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	r := config.Runtime{Library: named}
	path, tried := r.FindLibrary(exe, os.LookupEnv)
	if path == "" {
		return "", fmt.Errorf("no ONNX Runtime at %s; fetch it with scripts/fetch-onnxruntime.sh, or name one of version 1.24 or later with --library", strings.Join(tried, ", "))
	}
	return path, nil
}

// try loads the model as a detector would and times it.
func try(m *onnx.Manifest) (runMS float64, err error) {
	d, err := onnx.Load(m, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.WarmUp(warmUpRuns); err != nil {
		return 0, err
	}
	times := make([]float64, inspectRuns)
	for i := range times {
		start := clock.Now()
		if err := d.Run(); err != nil {
			return 0, err
		}
		times[i] = float64(clock.Now().Sub(start)) / float64(time.Millisecond)
	}
	slices.Sort(times)
	return times[inspectRuns/2], nil
}

// print writes the inspection for a person. What the model's file says is quoted: it may come from
// anywhere, and this goes to a terminal.
func (in *inspected) print(out io.Writer) error {
	var b strings.Builder
	line := func(key, format string, a ...any) { fmt.Fprintf(&b, "%-9s "+format+"\n", append([]any{key}, a...)...) }
	line("model", "%s", in.Model)
	line("sha256", "%s", in.SHA256)
	line("runtime", "ONNX Runtime %s (%s)", in.LibraryVersion, in.Library)
	for _, p := range in.Inputs {
		line("input", "%v", p)
	}
	for _, p := range in.Outputs {
		line("output", "%v", p)
	}
	keys := make([]string, 0, len(in.Metadata))
	for k := range in.Metadata {
		if k != "names" { // told below, read
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		line("metadata", "%s %.120q", k, in.Metadata[k])
	}
	line("classes", "%s", quoted(in.Names, 20))
	layout := in.LooksLike
	if layout == "" {
		layout = "none this program knows"
	}
	line("layout", "%s, by its shapes", layout)
	if in.Problem != "" {
		// The problem itself is the error the command ends with.
		line("verdict", "does not run here")
		_, err := io.WriteString(out, b.String())
		return err
	}
	line("verdict", "runs: %d warm-up runs with finite boxes and scores within 0…1, then %.1f ms a run on one thread", warmUpRuns, in.RunMS)
	m := in.Proposal
	if in.FromManifest {
		line("manifest", "fits: threshold %v, nms_iou %v, at most %d boxes", m.Threshold, m.NMSIoU, m.MaxBoxes)
	} else {
		fmt.Fprintf(&b, "\n# A manifest to put beside it, as %s; choose the threshold by measuring.\n",
			strings.TrimSuffix(filepath.Base(m.Model), filepath.Ext(m.Model))+".yaml")
		fmt.Fprintf(&b, "model: %s\nsha256: %s\nlayout: %s\nthreshold: %v\nnms_iou: %v\nmax_boxes: %d\n",
			strconv.Quote(filepath.Base(m.Model)), m.SHA256, m.Layout, m.Threshold, m.NMSIoU, m.MaxBoxes)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// quoted lists at most n of names.
func quoted(names []string, n int) string {
	if names == nil {
		return "not told by the model; list them in the manifest under names"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", len(names))
	for i, name := range names {
		if i == n {
			b.WriteString(" …")
			break
		}
		fmt.Fprintf(&b, " %q", name)
	}
	return b.String()
}
