package fuse

import (
	"fmt"
	"math"
	"strings"
)

// Algorithm says how overlapping boxes become one.
type Algorithm uint8

const (
	WBF     Algorithm = iota // weighted boxes fusion: score-weighted mean of each group
	NMS                      // non-maximum suppression: the best box of each group
	NMM                      // non-maximum merging: the union of each group
	NMW                      // non-maximum weighted: mean weighted by score and overlap with the best
	SoftNMS                  // every box stays, scores fall with overlap
)

var algorithmNames = []string{WBF: "wbf", NMS: "nms", NMM: "nmm", NMW: "nmw", SoftNMS: "soft_nms"}

func (a Algorithm) String() string { return nameOf(algorithmNames, int(a)) }

// ParseAlgorithm reads the name used in the config: wbf, nms, nmm, nmw or soft_nms.
func ParseAlgorithm(name string) (Algorithm, error) {
	i, err := indexOf("algorithm", algorithmNames, name)
	return Algorithm(i), err
}

// Rule says what score a group gets under [WBF]. In the formulas s is a box's score, w its
// model's weight, sums run over the group's boxes, N is the number of models that
// answered and W the sum of their weights.
type Rule uint8

const (
	AvgPresent   Rule = iota // Σ(s·w)/Σw · (weights of the group's models)/W
	ReferenceAvg             // mean(s·w) · min(N, boxes)/W, the original's rule; see Settings.Overflow
	Max                      // max(s·w) / (greatest weight)
	AbsentAware              // Σ(s·w) / (Σw + weights of the models absent from the group)
)

var ruleNames = []string{AvgPresent: "avg_present", ReferenceAvg: "reference_avg", Max: "max", AbsentAware: "absent_aware"}

func (r Rule) String() string { return nameOf(ruleNames, int(r)) }

// ParseRule reads the name used in the config: avg_present, reference_avg, max or absent_aware.
func ParseRule(name string) (Rule, error) {
	i, err := indexOf("rule", ruleNames, name)
	return Rule(i), err
}

// Metric is the overlap that nms and nmm compare with the threshold.
type Metric uint8

const (
	IOU Metric = iota // intersection over union
	IOS               // intersection over the smaller box: 1 for a box within another
)

var metricNames = []string{IOU: "IOU", IOS: "IOS"}

func (m Metric) String() string { return nameOf(metricNames, int(m)) }

// ParseMetric reads IOU or IOS, in either case.
func ParseMetric(name string) (Metric, error) {
	i, err := indexOf("metric", metricNames, strings.ToUpper(name))
	return Metric(i), err
}

// Decay says how [SoftNMS] lowers the score of a box that overlaps a better one.
type Decay uint8

const (
	Gaussian Decay = iota // s · exp(−overlap²/sigma), for every overlap
	Linear                // s · (1 − overlap), for overlap > iou
)

// Bounds of a Fuser. MaxModels is the width of FusedBox.Models. MaxFrameBoxes bounds the
// work of one frame, which grows with the square of the boxes that do not overlap.
const (
	MaxModels       = 64
	MaxModelBoxes   = 1000
	MaxFrameBoxes   = 16384
	minWeight       = 1e-6
	maxWeight       = 1e6
	dropClass       = -1
	defaultSigma    = 0.5
	defaultMinScore = 0.001
)

// Model is one model of a Fuser, known by its index in Settings.Models.
type Model struct {
	Name   string  // for error texts
	Weight float64 // 1e-6…1e6; only its ratio to the other weights matters

	// Classes maps the model's own label to the fused class; −1 drops the box. A label
	// beyond the table is rejected and counted. Nil takes the label as the class.
	Classes []int32
}

// Settings says how a Fuser works. They are the generation's, so a new generation gets a
// new Fuser.
type Settings struct {
	Algorithm Algorithm
	Models    []Model
	IoU       float64           // overlap threshold, 0…1
	ClassIoU  map[int32]float64 // threshold of single classes, in place of IoU
	Rule      Rule              // wbf only
	Overflow  bool              // reference_avg only: boxes/W in place of min(N, boxes)/W; the score is cut at 1
	Skip      float64           // boxes whose own score is below it are left out, 0…1
	MinModels int               // groups of fewer models are left out; 0 and 1 let all pass

	// ClassAgnostic groups boxes of all classes together. Under wbf and nmw the class is
	// voted by the sum of weighted scores; the others keep the class of the best box.
	ClassAgnostic bool

	Metric   Metric  // nms and nmm
	Decay    Decay   // soft_nms
	Sigma    float64 // soft_nms, gaussian; 0 means 0.5
	MinScore float64 // soft_nms: a box stays while its lowered score is above it; 0 means 0.001

	// MaxBoxes bounds the boxes taken of each model, in the order sent; what is beyond is
	// counted as over_cap. 0 means min(1000, 16384/models); more than 1000 is refused.
	MaxBoxes int
}

// check names the first setting that cannot work, and fills in the defaults.
func (s *Settings) check() error {
	n := len(s.Models)
	if n == 0 || n > MaxModels {
		return fmt.Errorf("fusion: %d models: needs 1 to %d", n, MaxModels)
	}
	for i, m := range s.Models {
		if !(m.Weight >= minWeight && m.Weight <= maxWeight) {
			return fmt.Errorf("fusion: model %q: weight %v: must be within %g…%g; leave out a model that should not count", m.Name, m.Weight, minWeight, maxWeight)
		}
		for label, class := range m.Classes {
			if class < dropClass {
				return fmt.Errorf("fusion: model %q: label %d maps to class %d: must be -1 (drop) or above", m.Name, label, class)
			}
		}
		for _, other := range s.Models[:i] {
			if m.Name != "" && m.Name == other.Name {
				return fmt.Errorf("fusion: model %q is there twice", m.Name)
			}
		}
	}
	if int(s.Algorithm) >= len(algorithmNames) || int(s.Rule) >= len(ruleNames) || int(s.Metric) >= len(metricNames) || s.Decay > Linear {
		return fmt.Errorf("fusion: unknown algorithm %d, rule %d, metric %d or decay %d", s.Algorithm, s.Rule, s.Metric, s.Decay)
	}
	if !within01(s.IoU) {
		return fmt.Errorf("fusion: iou %v: must be within 0…1", s.IoU)
	}
	for class, iou := range s.ClassIoU {
		if !within01(iou) {
			return fmt.Errorf("fusion: iou %v of class %d: must be within 0…1", iou, class)
		}
	}
	if len(s.ClassIoU) > 0 && s.ClassAgnostic {
		return fmt.Errorf("fusion: an iou for single classes and class_agnostic exclude each other: leave out one")
	}
	if !within01(s.Skip) {
		return fmt.Errorf("fusion: skip %v: must be within 0…1", s.Skip)
	}
	if s.Overflow && (s.Algorithm != WBF || s.Rule != ReferenceAvg) {
		return fmt.Errorf("fusion: overflow works with wbf and reference_avg only")
	}
	if s.MinModels < 0 || s.MinModels > n {
		return fmt.Errorf("fusion: min_models %d: must be within 0…%d, the number of models", s.MinModels, n)
	}
	if s.MinModels > 1 && s.Algorithm == SoftNMS {
		return fmt.Errorf("fusion: min_models %d: soft_nms joins no boxes, so no box has more than one model; take another algorithm", s.MinModels)
	}
	return s.checkBounds()
}

func (s *Settings) checkBounds() error {
	if s.Sigma == 0 {
		s.Sigma = defaultSigma
	}
	if !(s.Sigma > 0) || math.IsInf(s.Sigma, 0) {
		return fmt.Errorf("fusion: sigma %v: must be a number above 0", s.Sigma)
	}
	if s.MinScore == 0 {
		s.MinScore = defaultMinScore
	}
	if !within01(s.MinScore) {
		return fmt.Errorf("fusion: lowest score %v: must be within 0…1", s.MinScore)
	}
	if s.MaxBoxes == 0 {
		s.MaxBoxes = min(MaxModelBoxes, MaxFrameBoxes/len(s.Models))
	}
	if s.MaxBoxes < 0 || s.MaxBoxes > MaxModelBoxes || s.MaxBoxes*len(s.Models) > MaxFrameBoxes {
		return fmt.Errorf("fusion: %d boxes of each of %d models: at most %d a model and %d together", s.MaxBoxes, len(s.Models), MaxModelBoxes, MaxFrameBoxes)
	}
	return nil
}

// within01 is false for NaN.
func within01(v float64) bool { return v >= 0 && v <= 1 }

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown(%d)", i)
}

func indexOf(what string, names []string, name string) (int, error) {
	for i, n := range names {
		if n == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s %q: must be one of %s", what, name, strings.Join(names, ", "))
}
