package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/skewgate/skewgate/bench/report"
)

// What the correlate scenario sends, at full scale: a second or so of each side.
const (
	packedMessages   = 4_000_000
	jsonMessages     = 800_000
	fastjsonMessages = 300_000
	pythonMessages   = 60_000
	correlateLimit   = 2 * time.Minute
)

// correlateScenario takes messages from rings to closed groups, 3 models × 16 cameras × 8
// boxes, by the path's own code, and the same boxes as JSON through a correlator in Python.
func correlateScenario(ctx context.Context, h *Harness) ([]report.Row, error) {
	const perSecond = "msg/s"
	atLeast := func(limit float64) report.Bound { return report.Bound{Compare: report.AtLeast, Limit: limit} }
	packed := &report.Row{Name: "correlate_packed", What: "ring to closed group, 3 models × 16 cameras × 8 boxes, packed, a second of one core's time", Unit: perSecond, RunUnit: perSecond, Bound: atLeast(6e6)}
	fastjson := &report.Row{Name: "correlate_fastjson", What: "the same, JSON bodies of about 625 B, all by fastjson", Unit: perSecond, RunUnit: perSecond, Bound: atLeast(0.35e6)}
	plain := &report.Row{Name: "correlate_json", What: "the same as the appliance reads them: the usual form by a reader of its own", Unit: perSecond, RunUnit: perSecond}
	twice := &report.Row{Name: "correlate_json_vs_fastjson", What: "that, against fastjson", RunUnit: perSecond, PeerName: "fastjson", Bound: atLeast(2)}
	allocs := &report.Row{Name: "correlate_allocs", What: "allocations a message, the most of these", Unit: "allocs", RunUnit: "allocs", Bound: report.Bound{Compare: report.AtMost, Limit: 0}}
	packedPython := &report.Row{Name: "correlate_packed_vs_python", What: "packed, against dicts and json.loads in Python", RunUnit: perSecond, PeerName: "Python", Bound: atLeast(70)}
	jsonPython := &report.Row{Name: "correlate_json_vs_python", What: "JSON, against the same boxes in Python", RunUnit: perSecond, PeerName: "Python", Bound: atLeast(4)}
	fastjsonPython := &report.Row{Name: "correlate_fastjson_vs_python", What: "JSON by fastjson alone, against the same", RunUnit: perSecond, PeerName: "Python"}
	rows := []*report.Row{packed, fastjson, plain, twice, allocs, packedPython, jsonPython, fastjsonPython}
	bodies, err := h.newBodies()
	if err != nil {
		return nil, err
	}
	err = h.repeat(ctx, "correlate", rows, func(ctx context.Context, rep int) ([]report.Run, error) {
		var ours [3]*result
		var python *result
		side := func(i int, body string, messages uint64) func() error {
			return func() (err error) {
				ours[i], err = h.alone(ctx, job{Role: "intake", Body: body, Bodies: bodies, Messages: h.count(messages, 10_000)})
				return err
			}
		}
		err := h.inTurn(ctx, rep,
			side(0, bodyPacked, packedMessages), side(1, bodyJSON, jsonMessages), side(2, bodyFastjson, fastjsonMessages),
			func() (err error) {
				python, err = h.pythonCorrelator(ctx, bodies)
				return err
			})
		if err != nil {
			return nil, err
		}
		fast, json, judged, theirs, most := ours[0].coreRate(), ours[1].coreRate(), ours[2].coreRate(), python.coreRate(), 0.0
		for _, r := range ours {
			most = max(most, float64(r.Allocs/r.Messages)) // a few in all are the runtime's own
		}
		note := "Python is " + python.Interpreter
		packedPython.Note, jsonPython.Note, fastjsonPython.Note = note, note, note
		return []report.Run{
			{Value: fast}, {Value: judged}, {Value: json}, {Value: json, Peer: judged}, {Value: most},
			{Value: fast, Peer: theirs}, {Value: json, Peer: theirs}, {Value: judged, Peer: theirs},
		}, nil
	})
	return settled(rows), err
}

// alone runs a role that needs no other side, on the reader's processor.
func (h *Harness) alone(ctx context.Context, j job) (*result, error) {
	return h.aloneOn(ctx, h.readerCPU, j)
}

func (h *Harness) aloneOn(ctx context.Context, cpu int, j job) (*result, error) {
	ctx, cancel := context.WithTimeout(ctx, correlateLimit)
	defer cancel()
	j.CPU, j.LimitNS = cpu, int64(correlateLimit)
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, j.Role, append(append([]string{}, h.Program...), string(text)), nil)
	if err != nil {
		return nil, err
	}
	return p.wait()
}

// pythonCorrelator runs peers/correlate.py with the same boxes.
func (h *Harness) pythonCorrelator(ctx context.Context, bodies string) (*result, error) {
	ctx, cancel := context.WithTimeout(ctx, correlateLimit)
	defer cancel()
	p, err := start(ctx, "correlate.py (needs python3)", []string{
		"python3", filepath.Join(h.dir, "peers", "correlate.py"), strconv.Itoa(h.readerCPU), strconv.FormatUint(h.count(pythonMessages, 2000), 10),
		bodies, strconv.Itoa(trafficCameras), strconv.Itoa(trafficModels),
	}, nil)
	if err != nil {
		return nil, err
	}
	r, err := p.wait()
	if err == nil && r.Closed*trafficModels != r.Messages {
		err = fmt.Errorf("correlate.py closed %d groups of %d messages, want %d each", r.Closed, r.Messages, trafficModels)
	}
	return r, err
}
