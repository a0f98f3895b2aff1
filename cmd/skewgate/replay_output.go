package main

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/hist"
)

// printGroup writes one published group. A write error stays in r.out until the end.
func (r *replay) printGroup(g *correlate.Group) {
	r.models = r.models[:0]
	for i := range g.Members {
		r.models = append(r.models, r.c.ModelName(g.Members[i].Model))
	}
	slices.Sort(r.models)
	b := append(r.line[:0], `{"key_note":`...)
	r.note = r.c.AppendNote(r.note[:0], g.Key)
	b = appendJSONText(b, string(r.note))
	b = append(b, `,"unit":`...)
	b = appendJSONText(b, g.Unit)
	b = append(b, `,"camera":`...)
	b = appendJSONText(b, g.Camera)
	b = append(b, `,"models":[`...)
	for i, name := range r.models {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONText(b, name)
	}
	b = append(b, `],"reason":"`...)
	b = append(b, g.Reason.String()...)
	b = append(b, `","at_ms":`...)
	b = clock.AppendMillis(b, int64(g.ClosedAt))
	r.line = append(b, '}', '\n')
	_, _ = r.out.Write(r.line)
}

// printSummary writes all counters, zeros too, and the skew figures of the last window.
func (r *replay) printSummary() {
	b := append(r.line[:0], `{"summary":{"counters":{`...)
	counters, first := r.c.Counters(), true
	counters.Each(func(name string, value uint64) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendJSONText(b, name), ':')
		b = strconv.AppendUint(b, value, 10)
	})
	const last = clock.Mono(math.MinInt64) // the correlator takes the last now that it saw
	b = append(b, `},"skew":`...)
	b = appendSummary(b, r.c.Skew(last))
	b = append(b, `,"lag_by_model":{`...)
	models := slices.DeleteFunc(r.c.Models(last), func(m correlate.ModelStats) bool { return !m.Expected && !m.Seen })
	slices.SortFunc(models, func(a, b correlate.ModelStats) int { return cmp.Compare(a.Name, b.Name) })
	for i, m := range models {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendJSONText(b, m.Name), ':')
		b = appendSummary(b, m.Lag)
	}
	r.line = append(b, "}}}\n"...)
	_, _ = r.out.Write(r.line)
}

func (r *replay) printConfigError(err error) {
	b := append(r.line[:0], `{"config_error":`...)
	b = appendJSONText(b, configErrorText(err))
	r.line = append(b, '}', '\n')
	_, _ = r.out.Write(r.line)
}

// appendSummary writes figures in milliseconds, null where there is no sample.
func appendSummary(b []byte, s hist.Summary) []byte {
	b = append(b, `{"count":`...)
	b = strconv.AppendInt(b, int64(s.Count), 10)
	for _, figure := range []struct {
		name string
		ns   int64
	}{{"p50", s.P50}, {"p99", s.P99}, {"max", s.Max}} {
		b = append(b, `,"`...)
		b = append(b, figure.name...)
		b = append(b, `":`...)
		if s.Count == 0 {
			b = append(b, "null"...)
		} else {
			b = clock.AppendMillis(b, figure.ns)
		}
	}
	return append(b, '}')
}

// appendJSONText writes a JSON string. Bytes that are not UTF-8, as where a long raw text was
// cut, become one replacement character.
func appendJSONText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, c := range []byte(strings.ToValidUTF8(s, "\uFFFD")) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
