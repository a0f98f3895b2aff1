package fuse

import (
	"math"
	"strings"
	"testing"
)

func models(weights ...float64) []Model {
	m := make([]Model, len(weights))
	for i, w := range weights {
		m[i] = Model{Name: string(rune('a' + i)), Weight: w}
	}
	return m
}

func TestSettingsRefused(t *testing.T) {
	many := make([]Model, MaxModels+1)
	for i := range many {
		many[i].Weight = 1
	}
	for name, c := range map[string]struct {
		s    Settings
		says string
	}{
		"no models":            {Settings{}, "0 models: needs 1 to 64"},
		"too many models":      {Settings{Models: many}, "65 models: needs 1 to 64"},
		"weight missing":       {Settings{Models: []Model{{Name: "people"}}}, `model "people": weight 0: must be within 1e-06…1e+06`},
		"weight negative":      {Settings{Models: models(1, -1)}, `model "b": weight -1`},
		"weight NaN":           {Settings{Models: models(math.NaN())}, "weight NaN"},
		"weight infinite":      {Settings{Models: models(math.Inf(1))}, "weight +Inf"},
		"class below drop":     {Settings{Models: []Model{{Name: "a", Weight: 1, Classes: []int32{0, -2}}}}, "label 1 maps to class -2"},
		"model twice":          {Settings{Models: []Model{{Name: "a", Weight: 1}, {Name: "a", Weight: 1}}}, `model "a" is there twice`},
		"algorithm":            {Settings{Models: models(1), Algorithm: 9}, "unknown algorithm 9"},
		"iou above 1":          {Settings{Models: models(1), IoU: 1.1}, "iou 1.1: must be within 0…1"},
		"iou NaN":              {Settings{Models: models(1), IoU: math.NaN()}, "iou NaN"},
		"class iou":            {Settings{Models: models(1), ClassIoU: map[int32]float64{3: -1}}, "iou -1 of class 3"},
		"class iou, agnostic":  {Settings{Models: models(1), ClassIoU: map[int32]float64{3: 0.5}, ClassAgnostic: true}, "exclude each other"},
		"skip":                 {Settings{Models: models(1), Skip: 2}, "skip 2: must be within 0…1"},
		"overflow, other rule": {Settings{Models: models(1), Overflow: true}, "overflow works with wbf and reference_avg only"},
		"min_models too many":  {Settings{Models: models(1, 1), MinModels: 3}, "min_models 3: must be within 0…2"},
		"min_models, soft_nms": {Settings{Models: models(1, 1), MinModels: 2, Algorithm: SoftNMS}, "soft_nms joins no boxes"},
		"sigma":                {Settings{Models: models(1), Sigma: -1}, "sigma -1: must be a number above 0"},
		"lowest score":         {Settings{Models: models(1), MinScore: 2}, "lowest score 2"},
		"max boxes":            {Settings{Models: models(1), MaxBoxes: 1001}, "1001 boxes of each of 1 models: at most 1000 a model"},
		"max boxes together":   {Settings{Models: many[:20], MaxBoxes: 1000}, "16384 together"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(c.s)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want …%s…", err, c.says)
			}
		})
	}
}

func TestSettingsDefaults(t *testing.T) {
	many := make([]Model, MaxModels)
	for i := range many {
		many[i].Weight = 1
	}
	for n, want := range map[int]int{1: 1000, 16: 1000, 17: 963, 64: 256} {
		f, err := New(Settings{Models: many[:n]})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.settings.MaxBoxes; got != want {
			t.Errorf("%d models: %d boxes a model, want %d", n, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for i, name := range []string{"wbf", "nms", "nmm", "nmw", "soft_nms"} {
		if a, err := ParseAlgorithm(name); err != nil || a != Algorithm(i) || a.String() != name {
			t.Errorf("%s: %v %v", name, a, err)
		}
	}
	for i, name := range []string{"avg_present", "reference_avg", "max", "absent_aware"} {
		if r, err := ParseRule(name); err != nil || r != Rule(i) || r.String() != name {
			t.Errorf("%s: %v %v", name, r, err)
		}
	}
	if m, err := ParseMetric("ios"); err != nil || m != IOS || m.String() != "IOS" {
		t.Errorf("ios: %v %v", m, err)
	}
	for _, err := range []error{
		second(ParseAlgorithm("WBF")), second(ParseRule("avg")), second(ParseMetric("giou")),
	} {
		if err == nil || !strings.Contains(err.Error(), "must be one of") {
			t.Errorf("got %v", err)
		}
	}
	if got := Algorithm(77).String() + Reason(77).String() + Units.String(); got != "unknown(77)unknownunits" {
		t.Error(got)
	}
}

func second[T any](_ T, err error) error { return err }
