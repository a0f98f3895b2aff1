package onnx

import (
	"fmt"
	"strconv"
	"strings"

	ort "github.com/yalue/onnxruntime_go"
)

// metadataKeys are those ultralytics writes and somebody here reads or shows.
var metadataKeys = []string{"description", "author", "version", "license", "task", "stride", "batch", "imgsz", "names", "end2end"}

// readMetadata copies the known keys out of the model's own words. They can lie: what matters is
// checked against the shapes.
func readMetadata(m *ort.ModelMetadata) (map[string]string, error) {
	out := map[string]string{}
	for _, k := range metadataKeys {
		v, ok, err := m.LookupCustomMetadataMap(k)
		if err != nil {
			return nil, fmt.Errorf("read metadata %q: %w", k, err)
		}
		if ok {
			out[k] = v
		}
	}
	return out, nil
}

// parseSize reads imgsz, "[640, 640]": height, then width.
func parseSize(text string) (height, width int, err error) {
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "[")
	inner, ok2 := strings.CutSuffix(inner, "]")
	h, w, ok3 := strings.Cut(inner, ",")
	height, err1 := strconv.Atoi(strings.TrimSpace(h))
	width, err2 := strconv.Atoi(strings.TrimSpace(w))
	if !ok || !ok2 || !ok3 || err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("imgsz %.40q is not [height, width]", text)
	}
	return height, width, nil
}
