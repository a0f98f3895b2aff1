package web

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/status"
)

// filled is a document in which everything is set: each number has a value of its own, each text
// is the name of its field. So whatever is told of it can be found again.
type filled struct {
	doc     status.Document
	numbers map[string]figure // by the name of the field
	next    uint64
}

// figure is what a field holds and what it should be told as.
type figure struct{ value, told float64 }

func fill(t *testing.T) *filled {
	t.Helper()
	f := &filled{numbers: map[string]figure{}, next: 1_000_003}
	f.set(t, "", false, reflect.ValueOf(&f.doc).Elem())
	// These are compared with words of ours.
	f.doc.Models[0].HangsOn = f.doc.Models[0].Cameras
	f.doc.Models[0].Foreign = false
	return f
}

// set fills v. What is below a field in milliseconds is in milliseconds, counts apart.
func (f *filled) set(t *testing.T, name string, inMS bool, v reflect.Value) {
	t.Helper()
	inMS = inMS || strings.HasSuffix(name, "MS")
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.set(t, name, inMS, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			below := strings.TrimPrefix(name+"."+field.Name, ".")
			if field.Anonymous { // its fields are those of the document
				below = name
			}
			f.set(t, below, inMS && field.Name != "Count", v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.set(t, name, inMS, v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, key := range keysOf(name) {
			value := reflect.New(v.Type().Elem()).Elem()
			f.set(t, name+"."+key, inMS, value)
			v.SetMapIndex(reflect.ValueOf(key), value)
		}
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(true)
	default:
		f.next += 1009
		v.Set(reflect.ValueOf(f.next).Convert(v.Type()))
		n := figure{float64(f.next), float64(f.next)}
		if inMS {
			n.told /= 1000
		}
		f.numbers[name] = n
	}
}

// keysOf names the keys of a map of the document.
func keysOf(name string) (keys []string) {
	if name != "Correlation.Counters" {
		return []string{"one", "two"}
	}
	(&correlate.Counters{}).Each(func(key string, _ uint64) { keys = append(keys, key) })
	return keys
}

// gather asks for all families of ours, without those of the library.
func gather(t *testing.T, src Source) []*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(newCollector(src))
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// samples are the values of all samples by name and labels, as name{label="value",…}.
func samples(all []*dto.MetricFamily) map[string]float64 {
	found := map[string]float64{}
	for _, f := range all {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			name := f.GetName()
			if labels != nil {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			found[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() // one of them is set
		}
	}
	return found
}

// labelValues are all values of labels.
func labelValues(all []*dto.MetricFamily) []string {
	found := map[string]bool{}
	for _, f := range all {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				found[l.GetValue()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
