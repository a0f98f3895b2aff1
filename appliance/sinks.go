package appliance

import (
	"fmt"

	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/sink"
)

// outlet is one sink and its name in status.
type outlet struct {
	name string
	*sink.JSONL
}

func openSinks(configs []config.Sink) ([]*outlet, error) {
	var all []*outlet
	for i := range configs {
		j := configs[i].JSONL
		if j == nil {
			return nil, fmt.Errorf("sinks[%d]: no kind is set; this version has jsonl", i)
		}
		s, err := sink.New(sink.Options{Path: j.Path, MaxSize: int64(j.MaxSize), Keep: j.Keep})
		if err != nil {
			return nil, err
		}
		all = append(all, &outlet{name: "jsonl:" + j.Path, JSONL: s})
	}
	return all, nil
}
