package config

// A key that takes one word of a list has a type of its own here. words returns what
// this version takes; later what another version will, with what it is.
type wordList interface {
	words() []string
	later() map[string]string
}

// Wait is how the path's thread waits for work.
type Wait string

const (
	WaitAdaptive Wait = "adaptive"
	WaitSpin     Wait = "spin"
	WaitInterval Wait = "interval"
)

func (Wait) words() []string          { return []string{"adaptive", "spin", "interval"} }
func (Wait) later() map[string]string { return nil }

// Sched is how the kernel schedules the path's thread.
type Sched string

const (
	SchedOther Sched = "other"
	SchedNice  Sched = "nice"
	SchedFIFO  Sched = "fifo"
)

func (Sched) words() []string          { return []string{"other", "nice", "fifo"} }
func (Sched) later() map[string]string { return nil }

// Match is what makes messages of several models belong to one frame.
type Match string

const (
	MatchAuto    Match = "auto"
	MatchFrameID Match = "frame_id"
	MatchBucket  Match = "bucket"
	MatchWindow  Match = "window"
)

func (Match) words() []string          { return []string{"auto", "frame_id", "bucket", "window"} }
func (Match) later() map[string]string { return nil }

// Pace is how fast a film is played.
type Pace string

const (
	PaceRealtime Pace = "realtime"
	PaceFast     Pace = "fast"
)

func (Pace) words() []string          { return []string{"realtime", "fast"} }
func (Pace) later() map[string]string { return nil }

// Tag is what is read out of the pixels of each picture.
type Tag string

const (
	TagNone    Tag = "none"
	TagBarcode Tag = "barcode"
)

func (Tag) words() []string          { return []string{"none", "barcode"} }
func (Tag) later() map[string]string { return nil }

// Command is what runs a model.
type Command string

const (
	CommandBuiltin Command = "builtin" // skewgate-detect
	CommandAttach  Command = "attach"  // a foreign detector that attaches by itself
)

func (Command) words() []string          { return []string{"builtin", "attach"} }
func (Command) later() map[string]string { return nil }

// Unmapped is what happens to a class that a model's class map does not name.
type Unmapped string

const (
	UnmappedPass Unmapped = "pass"
	UnmappedDrop Unmapped = "drop"
)

func (Unmapped) words() []string          { return []string{"pass", "drop"} }
func (Unmapped) later() map[string]string { return nil }

// Algorithm joins boxes.
type Algorithm string

// AlgorithmWBF is weighted boxes fusion.
const AlgorithmWBF Algorithm = "wbf"

func (Algorithm) words() []string { return []string{"wbf"} }
func (Algorithm) later() map[string]string {
	return map[string]string{
		"nms": "non-maximum suppression", "nmw": "non-maximum weighted", "nmm": "non-maximum merging",
		"soft_nms": "soft suppression",
	}
}

// Rule makes one score of several.
type Rule string

const (
	RuleAvgPresent   Rule = "avg_present"
	RuleReferenceAvg Rule = "reference_avg"
	RuleMax          Rule = "max"
	RuleAbsentAware  Rule = "absent_aware"
)

func (Rule) words() []string {
	return []string{"avg_present", "reference_avg", "max", "absent_aware"}
}
func (Rule) later() map[string]string { return nil }

// Layout is how a network lays out its outputs.
type Layout string

// LayoutYOLOv8 is (1, 4+classes, candidates), as YOLOv8, v9, 11 and 12 export it.
const LayoutYOLOv8 Layout = "yolov8"

func (Layout) words() []string { return []string{"yolov8"} }
func (Layout) later() map[string]string {
	return map[string]string{
		"yolov5": "YOLOv5 and v7", "end2end": "networks with suppression inside", "yolox": "YOLOX",
		"rtdetr": "RT-DETR and D-FINE", "rfdetr": "RF-DETR", "torchvision": "torchvision",
		"tf_od": "TensorFlow object detection", "ssd": "SSD and BlazeFace",
	}
}
