package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/skewgate/skewgate/appliance/config"
)

// demoFilms lists the demo's cameras: what is shown, who looks at it, what is true.
func demoFilms(dir string) []*film {
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	object := map[string]string{"circle": "object", "square": "object", "triangle": "object"}
	return []*film{
		{
			camera: "road", source: at("people", "people.mp4"), truth: at("people", "people.truth.jsonl"),
			width: 768, height: 576, fps: 10,
			models: []filmModel{
				{name: "people", manifest: at("people.yaml")},
				{name: "people_small", manifest: at("people_small.yaml")},
			},
		},
		{
			camera: "shapes", source: at("shapes_video.mp4"), truth: at("shapes_video.truth.jsonl"),
			width: 640, height: 360, fps: 30, barcode: true,
			models: []filmModel{
				{name: "shapes_yolo", manifest: at("shapes_yolo.yaml"), classes: object},
				{name: "proposals", manifest: at("proposals.yaml")},
			},
			// proposals knows no kinds of shapes, so the two can only agree on "object".
			classes: []string{"object", "object", "object"},
		},
	}
}

// demoConfig writes the demo's config file and loads it as any other: what the user
// has just seen can be looked at, changed and run with `skewgate run -c`.
func demoConfig(o demoOptions, films []*film) (*config.Config, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by skewgate demo. Run it with: skewgate run -c %s\n", filepath.Join(o.out, "skewgate.yaml"))
	fmt.Fprintf(&b, "unit: demo\nstate_dir: %q\ncameras:\n", filepath.Join(o.out, "state"))
	for _, f := range films {
		tag := config.TagNone
		if f.barcode {
			tag = config.TagBarcode
		}
		fmt.Fprintf(&b, "  - name: %s\n    source: %q\n    pace: %s\n    loop: true\n    tag: %s\n    max_picture: %dx%d\n", f.camera, f.source, o.pace, tag, f.width, f.height)
	}
	b.WriteString("models:\n")
	for _, f := range films {
		for _, m := range f.models {
			fmt.Fprintf(&b, "  - name: %s\n    manifest: %q\n    cameras: [%s]\n", m.name, m.manifest, f.camera)
			if len(m.classes) > 0 {
				fmt.Fprintf(&b, "    classes: {circle: %s, square: %s, triangle: %s}\n", m.classes["circle"], m.classes["square"], m.classes["triangle"])
			}
		}
	}
	// A box that only one of two models saw keeps half of its score, which has to be high then.
	fmt.Fprintf(&b, "fusion: {min_score: 0.25}\n")
	fmt.Fprintf(&b, "sinks:\n  - jsonl: {path: %q, max_size: 100MB, keep: 1}\n", filepath.Join(o.out, "fused.jsonl"))
	return loadWritten(filepath.Join(o.out, "skewgate.yaml"), b.String())
}

// loadWritten writes a config and loads it.
func loadWritten(path, text string) (*config.Config, error) {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return nil, fmt.Errorf("write the demo's config: %w", err)
	}
	cfg, problems := config.Load(path, config.Options{})
	if cfg == nil {
		var errs []error
		for _, p := range problems {
			errs = append(errs, errors.New(p.String()))
		}
		return nil, exit(exitConfig, errors.Join(errs...))
	}
	return cfg, nil
}
