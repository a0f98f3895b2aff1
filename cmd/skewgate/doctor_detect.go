package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/skewgate/skewgate/appliance/config"
)

// knownLibraries are the SHA-256 of the builds that scripts/fetch-onnxruntime.sh pins.
var knownLibraries = map[string]string{
	"d8aff4aa8abee8fb2abb2f2f2459ffc94461e781e41b9f7c072829dd0d470221": "1.27.0 for amd64",
	"c36bc200e7e6c093b8abb0b34590fbdd8c52fd3fb5e33795b9523ffdde2fce0f": "1.27.0 for arm64",
}

// detectors looks at skewgate-detect and ONNX Runtime, and has the one load the other
// and run a network: each model of the config, else a tiny one.
func (d *doctor) detectors(r *config.Runtime, cfg *config.Config) {
	if cfg != nil && !cfg.Managed() {
		d.fine("skewgate-detect", "not needed: every model of the config attaches by itself")
		return
	}
	detect, tried := r.FindDetect(d.exe)
	if detect == "" {
		d.finding("skewgate-detect", "not at "+strings.Join(tried, ", "), "build it with make build and keep it beside skewgate, or name it in runtime.detect")
	} else if out, err := d.run(detect, "--version"); err != nil {
		d.finding("skewgate-detect", fmt.Sprintf("run %s: %v", detect, err), "build it anew with make build")
		detect = ""
	} else if theirs := strings.TrimPrefix(strings.TrimSpace(string(out)), "skewgate-detect version "); theirs != version {
		d.finding("skewgate-detect", fmt.Sprintf("%s is version %.60q, this is %q", detect, theirs, version), "build or install both together: they share memory")
	} else {
		d.fine("skewgate-detect", "%s, version %s", detect, theirs)
	}
	library, tried := r.FindLibrary(d.exe, d.env)
	if library == "" {
		d.finding("ONNX Runtime", "not at "+strings.Join(tried, ", "), "fetch it with scripts/fetch-onnxruntime.sh (docs/onnxruntime.md has other ways), or name it in runtime.library")
		return
	}
	sum, err := fileSHA256(library)
	if err != nil {
		d.finding("ONNX Runtime", fmt.Sprintf("read %s: %v", library, err), "repair its permissions")
		return
	}
	known := "a build of your own (its SHA-256 is none of ours)"
	if release := knownLibraries[sum]; release != "" {
		known = "the pinned build " + release
	}
	if detect == "" {
		d.finding("ONNX Runtime", fmt.Sprintf("%s, %s; without skewgate-detect it cannot be tried", library, known), "mend skewgate-detect first")
		return
	}
	release, err := d.tryLibrary(detect, library)
	if err != nil {
		d.finding("ONNX Runtime", fmt.Sprintf("%s, %s, does not load: %v", library, known, err), "take a build of 1.24 or newer for this processor: docs/onnxruntime.md")
		return
	}
	d.fine("ONNX Runtime", "%s loads, version %s, %s", library, release, known)
	if cfg != nil {
		for i := range cfg.Models {
			if cfg.Models[i].Foreign() {
				continue
			}
			d.model(detect, library, &cfg.Models[i])
		}
	}
}

// inspection is what doctor reads of `skewgate-detect inspect --json`.
type inspection struct {
	LibraryVersion string  `json:"library_version"`
	Problem        string  `json:"problem"`
	RunMS          float64 `json:"run_ms"`
}

// tryLibrary has a child load the library and parse a network of one node. That it is no
// detector is known; that the library could say so is the test.
func (d *doctor) tryLibrary(detect, library string) (release string, err error) {
	dir, err := os.MkdirTemp("", "skewgate-doctor-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "identity.onnx")
	if err := os.WriteFile(path, identityONNX(), 0o600); err != nil {
		return "", err
	}
	in, err := d.inspect(detect, library, path)
	if err != nil {
		return "", err
	}
	return in.LibraryVersion, nil
}

// model loads and runs one model of the config.
func (d *doctor) model(detect, library string, m *config.Model) {
	name := "model " + m.Name
	in, err := d.inspect(detect, library, m.Manifest)
	switch {
	case err != nil:
		d.finding(name, err.Error(), fmt.Sprintf("skewgate-detect inspect %s says more", m.Manifest))
	case in.Problem != "":
		d.finding(name, in.Problem, fmt.Sprintf("skewgate-detect inspect %s says more", m.Manifest))
	default:
		d.fine(name, "%s loads and runs, %.1f ms a picture on one thread", m.Network.Model, in.RunMS)
	}
}

// inspect has skewgate-detect look at a network or manifest. What it found is in the
// answer; an error means that there is no answer.
func (d *doctor) inspect(detect, library, path string) (*inspection, error) {
	out, err := d.run(detect, "inspect", "--json", "--library", library, path)
	in := new(inspection)
	// An inspection that found something prints it and ends with the code of findings.
	if jsonErr := json.Unmarshal(out, in); jsonErr == nil && in.LibraryVersion != "" {
		return in, nil
	}
	if err == nil {
		err = errors.New("skewgate-detect inspect did not answer in JSON")
	}
	return nil, err
}

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// identityONNX is the smallest network: y = x, one float. Fields as in onnx.proto3.
func identityONNX() []byte {
	field := func(number byte, content ...[]byte) []byte {
		var body []byte
		for _, c := range content {
			body = append(body, c...)
		}
		return append([]byte{number<<3 | 2, byte(len(body))}, body...)
	}
	number := func(field, v byte) []byte { return []byte{field << 3, v} }
	text := func(number byte, s string) []byte { return field(number, []byte(s)) }
	value := func(name string) []byte { // ValueInfoProto: name, type → tensor → element, shape → dimension
		const float = 1
		return append(text(1, name), field(2, field(1, number(1, float), field(2, field(1, number(1, 1)))))...)
	}
	graph := field(7,
		field(1, text(1, "x"), text(2, "y"), text(4, "Identity")), // node: input, output, op
		text(2, "doctor"), field(11, value("x")), field(12, value("y")))
	model := append(number(1, 8), graph...)          // ir_version
	return append(model, field(8, number(2, 13))...) // opset
}
