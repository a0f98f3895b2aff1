package onnx

import (
	"errors"
	"fmt"
)

// shape is what a checked model comes down to.
type shape struct {
	input, output string // names
	width, height int
	classes       int
	candidates    int // 0: the model leaves it open
	names         []string
}

// maxOutput bounds an output tensor, in floats.
const maxOutput = 1 << 26

// checkShape holds a model's declared ports and metadata against layout yolov8. Its errors say what
// is there, what is wanted and what to do.
func checkShape(inputs, outputs []Port, meta map[string]string, override []string) (*shape, error) {
	if len(inputs) != 1 || len(outputs) != 1 {
		return nil, fmt.Errorf("the model has %d inputs and %d outputs, layout %s has one of each%s", len(inputs), len(outputs), LayoutYOLOv8, otherLayout(inputs, outputs, 0))
	}
	if task := meta["task"]; task != "" && task != "detect" {
		return nil, fmt.Errorf("the model's task is %q; this version runs detectors, task \"detect\"", task)
	}
	s := &shape{input: inputs[0].Name, output: outputs[0].Name}
	if err := s.checkInput(inputs[0], meta); err != nil {
		return nil, err
	}
	if err := s.pickNames(meta, override); err != nil {
		return nil, err
	}
	return s, s.checkOutput(outputs[0], inputs)
}

func (s *shape) checkInput(p Port, meta map[string]string) error {
	if err := checkFloat(p); err != nil {
		return err
	}
	if len(p.Dims) != 4 || p.Dims[1] != 3 {
		return fmt.Errorf("input %v is not (1,3,height,width); export it for pictures of three channels, channels first", p)
	}
	if p.Dims[0] != 1 && p.Dims[0] != -1 {
		return fmt.Errorf("input %v takes %d pictures at once; export it with batch=1", p, p.Dims[0])
	}
	h, w := int(p.Dims[2]), int(p.Dims[3])
	if h < 0 || w < 0 {
		mh, mw, err := parseSize(meta["imgsz"])
		if err != nil {
			return fmt.Errorf("input %v leaves its size open and the metadata does not give it (%w); export it with a fixed size", p, err)
		}
		if h >= 0 && h != mh || w >= 0 && w != mw {
			return fmt.Errorf("input %v and the metadata's imgsz %s disagree; export it with a fixed size", p, meta["imgsz"])
		}
		h, w = mh, mw
	}
	if min(h, w) < minInputSide || max(h, w) > maxInputSide {
		return fmt.Errorf("input %v is %d×%d; sides of %d…%d are supported", p, w, h, minInputSide, maxInputSide)
	}
	s.width, s.height = w, h
	return nil
}

func checkFloat(p Port) error {
	if p.Type == "float32" {
		return nil
	}
	cure := "export it with float32 inputs and outputs"
	if p.Type == "float16" {
		cure = "16-bit inputs and outputs are not in this version; export it with half=False (weights inside may be 16 bits)"
	}
	return fmt.Errorf("%v is not float32; %s", p, cure)
}

func (s *shape) pickNames(meta map[string]string, override []string) error {
	s.names = override
	if len(override) > 0 {
		return nil
	}
	text, ok := meta["names"]
	if !ok {
		return errors.New("the model's metadata has no class names; list them in the manifest under names")
	}
	names, err := parseNames(text)
	if err != nil {
		return fmt.Errorf("the metadata's names cannot be read (%w); list them in the manifest under names", err)
	}
	if len(names) == 0 {
		return errors.New("the metadata names no class; list them in the manifest under names")
	}
	s.names = names
	return nil
}

func (s *shape) checkOutput(p Port, inputs []Port) error {
	if err := checkFloat(p); err != nil {
		return err
	}
	if len(p.Dims) != 3 || p.Dims[0] != 1 && p.Dims[0] != -1 {
		return fmt.Errorf("output %v is not (1,4+classes,candidates) of layout %s%s", p, LayoutYOLOv8, otherLayout(inputs, []Port{p}, len(s.names)))
	}
	s.classes = len(s.names)
	if p.Dims[1] != int64(4+s.classes) {
		return fmt.Errorf("output %v and %d class names do not fit: layout %s has 4 + classes rows%s; if the names are wrong, list the right ones in the manifest under names",
			p, s.classes, LayoutYOLOv8, otherLayout(inputs, []Port{p}, s.classes))
	}
	if p.Dims[2] < 0 {
		return nil // learned by a first run
	}
	return s.setCandidates(p.Dims[2])
}

func (s *shape) setCandidates(n int64) error {
	if n < 1 || n > maxOutput/int64(4+s.classes) {
		return fmt.Errorf("the output holds %d candidates of %d rows; 1…%d floats are supported", n, 4+s.classes, maxOutput)
	}
	s.candidates = int(n)
	return nil
}

// otherLayout is what the shapes look like instead, as a half sentence, or "". nc is the number of
// class names, 0 when they are unknown.
func otherLayout(inputs, outputs []Port, nc int) string {
	name := guessLayout(inputs, outputs, nc)
	if name == "" || name == LayoutYOLOv8 {
		return ""
	}
	return fmt.Sprintf("; it looks like %s, which is not in this version", name)
}

// guessLayout names the family the ports look like, "" for none known. Shapes are ambiguous (with
// one class, 5 and 6 columns each fit two families), so this only proposes.
func guessLayout(inputs, outputs []Port, nc int) string {
	has := map[string]bool{}
	for _, p := range append(append([]Port(nil), inputs...), outputs...) {
		has[p.Name] = true
	}
	switch {
	case has["num_dets"] || has["det_boxes"]:
		return "a TensorRT export with its own NMS"
	case has["orig_target_sizes"] || has["labels"] && has["boxes"] && has["scores"]:
		return "RT-DETR or D-FINE"
	case has["dets"] && has["labels"]:
		return "RF-DETR"
	case has["detection_boxes"]:
		return "TensorFlow object detection"
	}
	if len(outputs) >= 3 && len(outputs[0].Dims) == 5 {
		return "YOLOv5 or v7 without its Detect layer"
	}
	if len(outputs) != 1 || len(outputs[0].Dims) != 3 {
		return ""
	}
	rows, cols := outputs[0].Dims[1], outputs[0].Dims[2]
	known := nc > 0
	switch {
	case known && rows == int64(4+nc):
		return LayoutYOLOv8
	case cols == 6 && rows > 0 && rows <= 1000:
		return "an end-to-end export (rows of x1,y1,x2,y2,score,class)"
	case known && cols == int64(5+nc):
		return "YOLOv5, v7 or YOLOX (rows of box, objectness, classes)"
	case known && cols == int64(4+nc):
		return "RT-DETR, or a YOLOv8 output with its axes swapped"
	case !known && rows > 4 && (cols < 0 || rows < cols):
		return LayoutYOLOv8
	case !known && cols > 5:
		return "YOLOv5, v7 or YOLOX (rows of box, objectness, classes)"
	}
	return ""
}
