package trace

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/valyala/fastjson"
)

// maxCounters bounds the counters that a mark may carry.
const maxCounters = 256

// Mark stands beside an event, under "trace": events are missing before it, or, beside a tick,
// the trace ends with it.
type Mark struct {
	Lost uint64
	End  *End
}

// End is how a trace ends. One without it was not ended in order: its last lines are missing.
type End struct {
	Events uint64 // all that were recorded
	Lost   uint64 // all that are missing
	Cut    string // why it ended before the appliance said so, "" if it did not
	// Counters are the appliance's own at this instant, by the names of the replay contract;
	// nil if they are not known.
	Counters []Counter
}

// Counter is one counter of the correlator.
type Counter struct {
	Name  string
	Value uint64
}

// AppendEnd appends the last line of a trace: a tick at the correlator's last instant, nowMS
// being that instant as it is written.
func AppendEnd(b, nowMS []byte, end *End) []byte {
	b = append(b, `{"now_ms":`...)
	b = append(b, nowMS...)
	b = append(b, `,"tick":true,"trace":{"end":{"events":`...)
	b = strconv.AppendUint(b, end.Events, 10)
	b = append(b, `,"lost":`...)
	b = strconv.AppendUint(b, end.Lost, 10)
	if end.Cut != "" {
		b = append(b, `,"cut":`...)
		b = appendText(b, end.Cut)
	}
	for i, c := range end.Counters {
		if i == 0 {
			b = append(b, `,"counters":{`...)
		} else {
			b = append(b, ',')
		}
		b = append(appendText(b, c.Name), ':')
		b = strconv.AppendUint(b, c.Value, 10)
		if i == len(end.Counters)-1 {
			b = append(b, '}')
		}
	}
	return append(b, "}}}\n"...)
}

// ReadMark reads what stands after "trace" in an event.
func ReadMark(v *fastjson.Value) (Mark, error) {
	var m Mark
	if v == nil || v.Type() != fastjson.TypeObject {
		return m, errors.New("trace is not an object")
	}
	m.Lost = v.GetUint64("lost")
	end := v.Get("end")
	if end == nil {
		if m.Lost == 0 {
			return m, errors.New("trace says neither what is lost nor that it ends")
		}
		return m, nil
	}
	object, err := end.Object()
	if err != nil {
		return m, errors.New("trace end is not an object")
	}
	m.End = &End{Events: object.Get("events").GetUint64(), Lost: object.Get("lost").GetUint64(), Cut: textOf(object.Get("cut"))}
	counters := end.GetObject("counters")
	if counters == nil {
		return m, nil
	}
	if counters.Len() > maxCounters {
		return m, fmt.Errorf("trace end has %d counters, at most %d", counters.Len(), maxCounters)
	}
	counters.Visit(func(key []byte, value *fastjson.Value) {
		n, e := value.Uint64()
		if e != nil {
			err = fmt.Errorf("trace end: counter %.40q is no whole number", key)
		}
		m.End.Counters = append(m.End.Counters, Counter{string(key), n})
	})
	return m, err
}
