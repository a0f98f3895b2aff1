package advise

import (
	"cmp"
	"slices"
)

// Message is what matters of one message for matching by capture time. Messages of one camera
// are given in the order in which they arrived.
type Message struct {
	Stream    int32 // the camera's timeline; messages of different ones never meet
	Model     int32
	Picture   int64 // which picture it is of, within its stream; 0 = not known
	CaptureNS int64 // less the model's configured offset
}

// Method is how it is known which messages are of one picture.
type Method string

const (
	ByFrameID Method = "frame_ids" // the source says so
	ByTime    Method = "estimated" // what lies nearer than half an interval is taken for one
	Unknown   Method = "unknown"   // there are not two models to compare
)

// Pictures are the messages of one camera, with the picture that each is of.
type Pictures struct {
	Method   Method
	Skipped  int   // messages without a frame id, where others have one
	Interval int64 // between two pictures, in ns; 0 = not known

	byTime   []Message // by stream, capture time, arrival
	arrived  []int32   // of byTime: which arrived first, second…
	pictures []picture // of two or more models
	spreads  []int64   // of those, sorted
	gaps     []int64   // between messages of different pictures that are next to each other, sorted
}

// picture is one picture of two or more models: its first and last capture time.
type picture struct{ from, to int64 }

// NewPictures tells the messages of one camera apart. It takes the slice over.
func NewPictures(ms []Message) *Pictures {
	p := &Pictures{Method: Unknown}
	named := map[int32]bool{}
	models := map[int32]bool{}
	withID := 0
	for i := range ms {
		models[ms[i].Model] = true
		if ms[i].Picture != 0 {
			withID++
			named[ms[i].Model] = true
		}
	}
	p.arrived = make([]int32, len(ms))
	for i := range p.arrived {
		p.arrived[i] = int32(i)
	}
	slices.SortFunc(p.arrived, func(a, b int32) int {
		return cmp.Or(cmp.Compare(ms[a].Stream, ms[b].Stream), cmp.Compare(ms[a].CaptureNS, ms[b].CaptureNS), cmp.Compare(a, b))
	})
	p.byTime = make([]Message, len(ms))
	for i, at := range p.arrived {
		p.byTime[i] = ms[at]
	}
	switch {
	case len(named) > 1:
		p.Method, p.Skipped = ByFrameID, len(ms)-withID
	case len(models) > 1:
		p.Method = ByTime
		p.Interval = p.interval()
		p.estimate()
	default:
		p.Interval = p.interval()
	}
	p.measure()
	return p
}

// interval is the median distance of a model's successive messages, of the model that skips
// least.
func (p *Pictures) interval() int64 {
	type who struct{ stream, model int32 }
	last := map[who]int64{}
	distances := map[int32][]int64{}
	for _, m := range p.byTime {
		at := who{m.Stream, m.Model}
		if was, ok := last[at]; ok && m.CaptureNS > was {
			distances[m.Model] = append(distances[m.Model], m.CaptureNS-was)
		}
		last[at] = m.CaptureNS
	}
	best := int64(0)
	for _, all := range distances {
		slices.Sort(all)
		if d := rank(all, 500); best == 0 || d < best {
			best = d
		}
	}
	return best
}

// estimate gives messages without ids a picture: those of the model that speaks most are one
// each, and what another model took nearer than half an interval to one of them is of it.
// What is near to none is a picture of its own.
func (p *Pictures) estimate() {
	count := map[int32]int{}
	for _, m := range p.byTime {
		count[m.Model]++
	}
	reference, most := int32(0), -1
	for model, n := range count {
		if n > most || n == most && model < reference {
			reference, most = model, n
		}
	}
	next := int64(1)
	for from := 0; from < len(p.byTime); {
		to := from
		for to < len(p.byTime) && p.byTime[to].Stream == p.byTime[from].Stream {
			to++
		}
		next = p.estimateStream(p.byTime[from:to], reference, next)
		from = to
	}
}

func (p *Pictures) estimateStream(ms []Message, reference int32, next int64) int64 {
	last := -1
	for i := range ms {
		m := &ms[i]
		if m.Model != reference {
			continue
		}
		if last >= 0 && ms[last].CaptureNS == m.CaptureNS {
			m.Picture = ms[last].Picture // sent twice
			continue
		}
		last, m.Picture = i, next
		next++
	}
	// after[i] is the next of the reference behind i, len(ms) if there is none.
	after := make([]int32, len(ms))
	for i, behind := len(ms)-1, int32(len(ms)); i >= 0; i-- {
		if after[i] = behind; ms[i].Model == reference {
			behind = int32(i)
		}
	}
	before := -1 // the last of the reference in front of i
	for i := range ms {
		m := &ms[i]
		if m.Model == reference {
			before = i
			continue
		}
		best, distance := -1, p.Interval/2
		if before >= 0 && m.CaptureNS-ms[before].CaptureNS <= distance {
			best, distance = before, m.CaptureNS-ms[before].CaptureNS
		}
		if j := int(after[i]); j < len(ms) {
			if d := ms[j].CaptureNS - m.CaptureNS; d < distance || best < 0 && d == distance {
				best = j
			}
		}
		if best >= 0 {
			m.Picture = ms[best].Picture
		}
	}
	first := -1 // of the present picture without the reference
	for i := range ms {
		m := &ms[i]
		switch {
		case m.Picture != 0:
		case first >= 0 && m.CaptureNS-ms[first].CaptureNS <= p.Interval/2:
			m.Picture = ms[first].Picture
		default:
			first, m.Picture = i, next
			next++
		}
	}
	return next
}

// measure finds the pictures of two or more models and what lies between any two.
func (p *Pictures) measure() {
	order := make([]int32, 0, len(p.byTime))
	for i := range p.byTime {
		if p.byTime[i].Picture != 0 {
			order = append(order, int32(i))
		}
	}
	for i := 1; i < len(order); i++ {
		if a, b := &p.byTime[order[i-1]], &p.byTime[order[i]]; a.Stream == b.Stream && a.Picture != b.Picture {
			p.gaps = append(p.gaps, b.CaptureNS-a.CaptureNS)
		}
	}
	slices.Sort(p.gaps)
	slices.SortFunc(order, func(a, b int32) int {
		x, y := &p.byTime[a], &p.byTime[b]
		return cmp.Or(cmp.Compare(x.Stream, y.Stream), cmp.Compare(x.Picture, y.Picture), cmp.Compare(p.arrived[a], p.arrived[b]))
	})
	var models []int32
	var one picture
	var begins []Message // each picture, by its first message to arrive
	for i, at := range order {
		m := &p.byTime[at]
		if i == 0 || m.Stream != p.byTime[order[i-1]].Stream || m.Picture != p.byTime[order[i-1]].Picture {
			p.add(one, len(models))
			models, one = append(models[:0], m.Model), picture{m.CaptureNS, m.CaptureNS}
			begins = append(begins, *m)
		} else if !slices.Contains(models, m.Model) { // a model's first message of a picture counts
			models = append(models, m.Model)
			one.from, one.to = min(one.from, m.CaptureNS), max(one.to, m.CaptureNS)
		}
	}
	p.add(one, len(models))
	slices.Sort(p.spreads)
	if p.Method == ByFrameID {
		p.Interval = between(begins)
	}
}

// between is the median distance of successive pictures.
func between(begins []Message) int64 {
	slices.SortFunc(begins, func(a, b Message) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.CaptureNS, b.CaptureNS))
	})
	var distances []int64
	for i := 1; i < len(begins); i++ {
		if begins[i].Stream == begins[i-1].Stream {
			distances = append(distances, begins[i].CaptureNS-begins[i-1].CaptureNS)
		}
	}
	if len(distances) == 0 {
		return 0
	}
	slices.Sort(distances)
	return rank(distances, 500)
}

func (p *Pictures) add(one picture, models int) {
	if models > 1 {
		p.pictures = append(p.pictures, one)
		p.spreads = append(p.spreads, one.to-one.from)
	}
}

// Spread is of the capture times inside one picture.
func (p *Pictures) Spread() *Summary { return summarize(p.spreads) }

// Safe is the widest quantum that can never join messages of two pictures, whatever the phase:
// the smallest distance between two of them. ok is false where there are not two.
func (p *Pictures) Safe() (ns int64, ok bool) {
	if len(p.gaps) == 0 {
		return 0, false
	}
	return p.gaps[0], true
}
