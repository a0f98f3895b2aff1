package onnx

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// LayoutYOLOv8 is the one output layout of this version: YOLOv8, v9, 11, 12 and what is exported
// like them. One output (1, 4+nc, N), channel-major: rows cx, cy, w, h in input pixels, then nc
// rows of scores that are already through the sigmoid; no objectness.
const LayoutYOLOv8 = "yolov8"

// Bounds of a manifest. MaxBoxes is also what one message may hold.
const (
	MaxBoxes     = 1000
	maxNames     = 10_000
	maxNameBytes = 128
	// The names travel to the appliance in one control packet of at most 64 KiB.
	maxNamesJSON = 48 << 10
)

// Manifest says how one model is to be used: the JSON form of config.Manifest, which a detector's
// job carries. Everything else comes from the model's metadata and shapes and is checked when it
// is loaded.
type Manifest struct {
	Model     string   `json:"model"`            // path of the ONNX file
	SHA256    string   `json:"sha256,omitempty"` // hex; checked when given
	Layout    string   `json:"layout"`           // LayoutYOLOv8
	Threshold float64  `json:"threshold"`        // smallest score kept, 0…1
	NMSIoU    float64  `json:"nms_iou"`          // boxes of one class that overlap more are one; 0…1
	Names     []string `json:"names,omitempty"`  // class names, overriding the metadata's
	MaxBoxes  int      `json:"max_boxes"`        // most boxes a picture, 1…MaxBoxes; the best scores stay
}

// Check says every way in which the manifest cannot be used, without looking at the model.
func (m *Manifest) Check() error {
	var errs []error
	add := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if m.Model == "" {
		add("manifest: model is empty; name the ONNX file")
	}
	if m.SHA256 != "" && !isSHA256(m.SHA256) {
		add("manifest: sha256 %q is not 64 hexadecimal digits; sha256sum prints them", m.SHA256)
	}
	if m.Layout != LayoutYOLOv8 {
		add("manifest: layout %q is not in this version; it decodes %q", m.Layout, LayoutYOLOv8)
	}
	if !(m.Threshold >= 0 && m.Threshold <= 1) { // refuses NaN too
		add("manifest: threshold %v is not within 0…1", m.Threshold)
	}
	if !(m.NMSIoU >= 0 && m.NMSIoU <= 1) {
		add("manifest: nms_iou %v is not within 0…1", m.NMSIoU)
	}
	if m.MaxBoxes < 1 || m.MaxBoxes > MaxBoxes {
		add("manifest: max_boxes %d is not within 1…%d", m.MaxBoxes, MaxBoxes)
	}
	if err := checkNames(m.Names); err != nil {
		add("manifest: names: %w", err)
	}
	return errors.Join(errs...)
}

func isSHA256(s string) bool {
	return len(s) == 64 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

// checkNames bounds class names from any source; they go into logs, messages and pages.
func checkNames(names []string) error {
	if len(names) > maxNames {
		return fmt.Errorf("%d names, at most %d", len(names), maxNames)
	}
	for i, n := range names {
		switch {
		case n == "":
			return fmt.Errorf("name %d is empty", i)
		case len(n) > maxNameBytes:
			return fmt.Errorf("name %d has %d bytes, at most %d", i, len(n), maxNameBytes)
		case !utf8.ValidString(n):
			return fmt.Errorf("name %d is not UTF-8", i)
		}
	}
	if j, err := json.Marshal(names); err != nil || len(j) > maxNamesJSON {
		return fmt.Errorf("the names take %d bytes as JSON, at most %d; shorten them", len(j), maxNamesJSON)
	}
	return nil
}
