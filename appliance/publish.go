package appliance

import (
	"fmt"
	"slices"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/fuse"
	"github.com/skewgate/skewgate/appliance/hist"
	"github.com/skewgate/skewgate/appliance/sink"
)

// Fused is one published frame and what each model said of it. It is valid only
// during the call of Options.Tap; Clone keeps it.
type Fused struct {
	Frame       *sink.Frame
	FrameID     uint64
	StreamEpoch uint32
	Members     []Member
}

// Member is one model's own answer.
type Member struct {
	Model string
	Tag   uint64 // what the detector read from its pixels
	Boxes []detect.Box
	names []string // by the model's own label; of a foreign model, by the fused class
}

// Label returns the fused class name of one of the member's boxes, "" for a class
// that is dropped or not known.
func (m *Member) Label(label uint32) string {
	if uint64(label) < uint64(len(m.names)) {
		return m.names[label]
	}
	return ""
}

// Clone returns a copy that stays valid. Class names are shared: they never change.
func (f *Fused) Clone() *Fused {
	c := *f
	frame := *f.Frame
	frame.Models, frame.Missing, frame.Boxes = slices.Clone(frame.Models), slices.Clone(frame.Missing), slices.Clone(frame.Boxes)
	for i := range frame.Boxes {
		frame.Boxes[i].By = slices.Clone(frame.Boxes[i].By)
	}
	c.Frame, c.Members = &frame, slices.Clone(f.Members)
	for i := range c.Members {
		c.Members[i].Boxes = slices.Clone(c.Members[i].Boxes)
	}
	return &c
}

// pathSamples bounds the window of publish → fused times.
const pathSamples = 1 << 14

// publisher makes a fused frame of each closed group and offers it to the sinks. It
// belongs to the path's thread and reuses all its memory.
type publisher struct {
	p       *path
	fuser   *fuse.Fuser
	classes classes
	byModel []int // correlate.ModelID → index in the config

	in      []fuse.ModelBoxes
	boxes   []fuse.FusedBox
	votes   []sink.Vote
	frame   sink.Frame
	fused   Fused
	pathNS  *hist.Window
	seq     uint64
	multi   uint64
	clipped [fuse.NumReasons]uint64 // of fusers before the present one
	tooFew  uint64
	tooLow  uint64 // fused boxes below min_score
}

// classes numbers the fused class names and maps each model's own labels to them.
type classes struct {
	names []string
	ids   map[string]int32
	table [][]int32  // by model; nil until the model has said its names
	named [][]string // by model: the fused name of each label, "" = dropped
}

func (c *classes) id(name string) int32 {
	id, ok := c.ids[name]
	if !ok {
		id = int32(len(c.names))
		c.names = append(c.names, name)
		c.ids[name] = id
	}
	return id
}

// learn maps the labels of one model. Names come from its process, which has checked
// that they fit the network's outputs.
func (c *classes) learn(i int, m *config.Model, names []string) {
	table, named := make([]int32, len(names)), make([]string, len(names))
	for label, name := range names {
		fused, mapped := m.Classes[name]
		switch {
		case mapped:
		case m.Unmapped == config.UnmappedDrop:
			table[label] = -1
			continue
		default:
			fused = name
		}
		table[label], named[label] = c.id(fused), fused
	}
	c.table[i], c.named[i] = table, named
}

func (o *publisher) init(p *path) error {
	n := len(p.replicas)
	o.p = p
	o.classes = classes{ids: make(map[string]int32), table: make([][]int32, n), named: make([][]string, n)}
	o.pathNS = hist.NewWindow(skewWindowNS, pathSamples)
	for i, r := range p.replicas {
		if r.foreign == nil {
			o.classes.table[i] = []int32{} // until it is ready, every label is unknown
		} // else nil: its labels are fused classes by then
		if len(r.cfg.Network.Names) > 0 {
			o.classes.learn(i, r.cfg, r.cfg.Network.Names)
		}
		for int(r.model) >= len(o.byModel) {
			o.byModel = append(o.byModel, -1)
		}
		o.byModel[r.model] = i
	}
	return o.build()
}

// learn takes a ready detector's class names over, if they are new.
func (o *publisher) learn(r *replica) error {
	if len(r.said.Names) == 0 {
		return fmt.Errorf("%s named no classes", r.task)
	}
	before := slices.Clone(o.classes.named[r.index])
	o.classes.learn(r.index, r.cfg, r.said.Names)
	if slices.Equal(before, o.classes.named[r.index]) {
		return nil
	}
	return o.build()
}

// build makes a fuser for the classes known now; the former one's counts are kept.
func (o *publisher) build() error {
	f := o.p.a.cfg.Fusion
	algorithm, err := fuse.ParseAlgorithm(string(f.Algorithm))
	if err != nil {
		return err
	}
	rule, err := fuse.ParseRule(string(f.Rule))
	if err != nil {
		return err
	}
	s := fuse.Settings{
		Algorithm: algorithm, Rule: rule, IoU: f.IoU, Skip: f.Skip, MinModels: f.MinModels, ClassAgnostic: f.ClassAgnostic,
	}
	for _, r := range o.p.replicas { // a model sends no more; the bound keeps a hostile one cheap
		s.MaxBoxes = max(s.MaxBoxes, r.cfg.BoxLimit())
	}
	for i, r := range o.p.replicas {
		s.Models = append(s.Models, fuse.Model{Name: r.cfg.Name, Weight: r.cfg.Weight, Classes: o.classes.table[i]})
	}
	fuser, err := fuse.New(s)
	if err != nil {
		return err
	}
	if o.fuser != nil {
		o.clipped, o.tooFew = o.rejected(), o.tooFew+o.fuser.TooFew()
	}
	o.fuser = fuser
	return nil
}

// rejected sums what the gate turned away, by reason.
func (o *publisher) rejected() [fuse.NumReasons]uint64 {
	sum := o.clipped
	for i := range o.p.replicas {
		for reason, n := range o.fuser.Counts(i).Removed {
			sum[reason] += n
		}
	}
	return sum
}

// publish is the correlator's callback: one closed group becomes one fused frame.
func (o *publisher) publish(g *correlate.Group) {
	o.seq++
	// Parts are made where they stay: a copy of what was only just written waits for it.
	answered := len(g.Members)
	f := &o.frame
	o.in, o.fused.Members = o.in[:0], resized(o.fused.Members, answered)
	f.Models, f.Missing = resized(f.Models, answered), f.Missing[:0]
	frameID := uint64(0)
	for i := range g.Members {
		m := &g.Members[i]
		model := o.byModel[m.Model]
		o.in = append(o.in, fuse.ModelBoxes{Model: model, Boxes: m.Boxes})
		r := o.p.replicas[model]
		answer, member := &f.Models[i], &o.fused.Members[i]
		answer.Model, answer.CaptureNS, answer.Raw = r.cfg.Name, m.CaptureNS, m.Raw
		member.Model, member.Tag, member.Boxes, member.names = r.cfg.Name, m.Tag, m.Boxes, o.classes.named[model]
		if r.foreign != nil {
			member.names = o.classes.names
		}
		if frameID == 0 {
			frameID = m.FrameID
		}
	}
	for _, m := range g.Missing {
		f.Missing = append(f.Missing, sink.Missing{Model: o.p.corr.ModelName(m.Model), Why: m.Reason.String()})
	}
	o.boxes = o.fuser.Fuse(o.in, o.boxes[:0])
	o.fill(f)
	f.Seq, f.Unit, f.Camera, f.StreamEpoch, f.FrameID = o.seq, g.Unit, g.Camera, g.Epoch, frameID
	f.CaptureNS, f.Reason = g.CaptureNS, g.Reason.String()
	f.FirstArrival, f.LastArrival, f.Closed = g.FirstArrival, g.LastArrival, g.ClosedAt
	f.Published = clock.Now()
	for _, s := range o.p.a.sinks {
		s.Offer(f)
	}
	o.count(g)
	if o.p.a.o.Tap != nil {
		o.fused.Frame, o.fused.FrameID, o.fused.StreamEpoch = f, frameID, g.Epoch
		o.p.a.o.Tap(&o.fused)
	}
}

// fill turns the fuser's boxes into the frame's, with names in place of numbers.
func (o *publisher) fill(f *sink.Frame) {
	f.Boxes, o.votes = resized(f.Boxes, len(o.boxes)), o.votes[:0]
	n := 0
	for i := range o.boxes {
		b := &o.boxes[i]
		if b.Score < o.p.a.cfg.Fusion.MinScore {
			o.tooLow++
			continue
		}
		first := len(o.votes)
		for model, r := range o.p.replicas {
			if score, ok := b.ScoreOf(model); ok {
				o.votes = append(o.votes, sink.Vote{Model: r.cfg.Name, Score: float64(score)})
			}
		}
		x := &f.Boxes[n]
		x.X1, x.Y1, x.X2, x.Y2, x.Score = b.X1, b.Y1, b.X2, b.Y2, b.Score
		x.Label, x.By = o.classes.names[b.Class], o.votes[first:len(o.votes):len(o.votes)]
		n++
	}
	f.Boxes = f.Boxes[:n]
}

// resized has n parts, which keep what was in them before.
func resized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// count keeps the frame's figures: per camera, and from the last publish to here when
// nothing but the last answer was waited for.
func (o *publisher) count(g *correlate.Group) {
	models := len(g.Members)
	if models > 1 {
		o.multi++
	}
	for _, c := range o.p.cameras {
		if c.cfg.Name == g.Camera {
			c.account(models)
		}
	}
	if g.Reason == correlate.Quorum {
		now := clock.Now()
		o.pathNS.Add(int64(now), int64(now.Sub(g.LastArrival)))
	}
}
