package fuse

import (
	"fmt"
	"math"
	"strings"

	"github.com/valyala/fastjson"
)

// paramNames are the keys that params may hold. One that an algorithm has no use for is
// checked and ignored; only weights are refused where they would not count.
var paramNames = []string{
	"weights", "iou_thr", "skip_box_thr", "conf_type", "allows_overflow",
	"method", "sigma", "thresh", "class_agnostic", "metric", "dtype",
}

// rulesOfConfType are the references' names of the rules.
var rulesOfConfType = map[string]Rule{
	"avg": ReferenceAvg, "max": Max, "box_and_model_avg": AvgPresent, "absent_model_aware_avg": AbsentAware,
}

// parseParams reads params, with the references' defaults for what is missing or null.
func (l *Lines) parseParams(v *fastjson.Value) error {
	r, d := &l.request, l.request.dialect
	r.weights, r.skip = nil, 0
	r.plan = plan{
		algorithm: d.algorithm, lastFirst: d.lastFirst, single: d.single, undecayed: true,
		rule: ReferenceAvg, iou: d.iou, sigma: defaultSigma, minScore: defaultMinScore,
		weights: r.plan.weights[:0],
	}
	if v == nil || v.Type() == fastjson.TypeNull {
		return nil
	}
	if v.Type() != fastjson.TypeObject {
		return fmt.Errorf("params: must be an object, not %s", kind(v))
	}
	var err error
	v.GetObject().Visit(func(key []byte, v *fastjson.Value) {
		if err == nil && v.Type() != fastjson.TypeNull {
			err = l.parseParam(string(key), v)
		}
	})
	return err
}

func (l *Lines) parseParam(key string, v *fastjson.Value) (err error) {
	r, p := &l.request, &l.request.plan
	at := "params." + short(key)
	switch key {
	case "weights":
		if r.weights, err = l.numbers(v, at, []float64{}); err == nil && r.dialect.weights == noWeights {
			err = fmt.Errorf("%s: %s has no weights: leave them out", at, r.dialect.name)
		}
	case "iou_thr":
		if p.iou, err = l.param(v, at); err == nil && !within01(p.iou) {
			err = fmt.Errorf("%s: %v: must be within 0…1", at, p.iou)
		}
	case "skip_box_thr":
		r.skip, err = l.param(v, at)
	case "thresh":
		p.minScore, err = l.param(v, at)
	case "sigma":
		if p.sigma, err = l.param(v, at); err == nil && !(p.sigma > 0) {
			err = fmt.Errorf("%s: %v: must be above 0", at, p.sigma)
		}
	case "method":
		return l.parseMethod(v, at)
	case "allows_overflow":
		p.overflow, err = boolean(v, at)
	case "class_agnostic":
		p.agnostic, err = boolean(v, at)
	case "conf_type":
		rule, ok := rulesOfConfType[string(v.GetStringBytes())]
		if p.rule = rule; !ok {
			err = fmt.Errorf("%s: must be one of avg, max, box_and_model_avg, absent_model_aware_avg", at)
		}
	case "metric":
		if p.metric, err = ParseMetric(short(string(v.GetStringBytes()))); err != nil {
			err = fmt.Errorf("%s: %w", at, err)
		}
	case "dtype": // all is computed in float64; supervision's float32 overlaps are part of its dialect
		if s := string(v.GetStringBytes()); s != "float64" && s != "float32" {
			err = fmt.Errorf("%s: must be float64 or float32", at)
		}
	default:
		err = fmt.Errorf("%s: unknown: must be one of %s", at, strings.Join(paramNames, ", "))
	}
	return err
}

// parseMethod reads the number by which ensemble-boxes tells its suppressions apart.
func (l *Lines) parseMethod(v *fastjson.Value, at string) error {
	method, err := l.param(v, at)
	if err != nil {
		return err
	}
	switch soft := l.request.dialect.algorithm == SoftNMS; {
	case soft && method == 1:
		l.request.plan.decay = Linear
	case soft && method == 2:
		l.request.plan.decay = Gaussian
	case soft:
		return fmt.Errorf("%s: %v: soft_nms takes 1 (linear) or 2 (gaussian)", at, method)
	case method != 3:
		return fmt.Errorf("%s: %v: %s takes 3", at, method, l.request.dialect.name)
	}
	return nil
}

// param reads one finite number.
func (l *Lines) param(v *fastjson.Value, at string) (float64, error) {
	f, err := l.number(v)
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		err = fmt.Errorf("%v: must be finite", f)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", at, err)
	}
	return f, nil
}

func boolean(v *fastjson.Value, at string) (bool, error) {
	b, err := v.Bool()
	if err != nil {
		return false, fmt.Errorf("%s: must be true or false, not %s", at, kind(v))
	}
	return b, nil
}
