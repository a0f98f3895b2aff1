package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
)

// Manifest says how to run one network: the YAML beside the model. Its JSON form, with
// the model's path resolved, is part of a detector's job. All else (names, shapes,
// strides) stands in the ONNX file and is checked when it is loaded.
type Manifest struct {
	Model     string   `yaml:"model" json:"model"` // the ONNX file
	SHA256    string   `yaml:"sha256" json:"sha256,omitempty"`
	Layout    Layout   `yaml:"layout" json:"layout"`
	Threshold float64  `yaml:"threshold" json:"threshold"` // boxes scored below it are left out
	NMSIoU    float64  `yaml:"nms_iou" json:"nms_iou"`
	Names     []string `yaml:"names" json:"names,omitempty"` // in place of the ONNX metadata's
	MaxBoxes  int      `yaml:"max_boxes" json:"max_boxes"`   // per picture, best first
}

// Bounds of a manifest; the detector has the same.
const (
	maxNames      = 10_000
	maxLabelBytes = 128
	maxBoxes      = 1000
)

// LoadManifest reads a manifest alone, with the same strictness as Load.
func LoadManifest(path string, opts Options) (*Manifest, []Problem) {
	opts.fill()
	var out report
	hide := redactor{}
	m := loadManifest(path, &opts, &out, hide)
	problems := out.finish(path)
	if HasErrors(problems) {
		return nil, problems
	}
	return m, problems
}

// loadManifest reads and checks one manifest and the file it names. It returns nil when
// the manifest itself cannot be read.
func loadManifest(path string, opts *Options, out *report, hide redactor) *Manifest {
	text, err := readBounded(path, maxFileBytes)
	if err != nil {
		out.add(Problem{SeverityError, hide.show(path), 0, 0, "", fmt.Sprintf("read manifest: %v", err), "correct the model's manifest path; docs/manifest.example.yaml shows what belongs into the file"})
		return nil
	}
	d := newDecoder(hide.show(path), text, opts, out, hide)
	root := d.syntaxTree(text)
	if root == nil {
		return nil
	}
	m := new(Manifest)
	d.decode(root, reflect.ValueOf(m).Elem(), "")
	c := checker{decoder: d, dir: filepath.Dir(path)}
	c.manifest(m)
	return m
}

// manifest checks the manifest's own values, then the network it names.
func (c *checker) manifest(m *Manifest) {
	c.within("threshold", m.Threshold, 0, 1)
	c.within("nms_iou", m.NMSIoU, 0, 1)
	c.withinInt("max_boxes", m.MaxBoxes, 1, maxBoxes)
	if len(m.Names) > maxNames {
		c.failAt("names", fmt.Sprintf("%d names", len(m.Names)), fmt.Sprintf("at most %d", maxNames))
	}
	for i, name := range m.Names {
		c.label(fmt.Sprintf("names[%d]", i), name)
	}
	c.need("layout", m.Layout == "", "say how the network lays out its outputs, such as layout: yolov8")
	if c.need("model", m.Model == "", "name the ONNX file, such as model: people.onnx") {
		return
	}
	m.Model = resolve(c.dir, m.Model)
	c.network(m)
}

// network checks the ONNX file: that it is there, is one, and is the one meant.
func (c *checker) network(m *Manifest) {
	f, err := os.Open(m.Model)
	if err != nil {
		c.failAt("model", fmt.Sprintf("open %s: %v", c.hide.show(m.Model), bare(err)), "correct the path (it counts from the manifest's folder) or put the file there")
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		c.failAt("model", fmt.Sprintf("%s is not a file", c.hide.show(m.Model)), "name the ONNX file itself")
		return
	}
	if m.SHA256 != "" && !c.digest(f, m) {
		return
	}
	if err := checkONNX(f, info.Size()); err != nil {
		c.failAt("model", fmt.Sprintf("%s: %v", c.hide.show(m.Model), err), "export or copy the model again")
	}
}

// digest compares the file's SHA-256 with the manifest's.
func (c *checker) digest(f *os.File, m *Manifest) bool {
	want, err := hex.DecodeString(m.SHA256)
	if err != nil || len(want) != sha256.Size {
		c.failAt("sha256", fmt.Sprintf("%s is not a SHA-256", c.shownAt("sha256")), "write its 64 hex digits, as sha256sum prints them")
		return false
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		c.failAt("model", fmt.Sprintf("read %s: %v", c.hide.show(m.Model), bare(err)), "repair the disk or copy the model again")
		return false
	}
	if got := h.Sum(nil); string(got) != string(want) {
		c.failAt("sha256", fmt.Sprintf("%s has SHA-256 %x", c.hide.show(m.Model), got), "it is another or a damaged file: copy the model again, or write its own sum here")
		return false
	}
	return true
}
