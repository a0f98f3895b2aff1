package correlate

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strings"

	"github.com/skewgate/skewgate/appliance/hist"
)

// naive is the rules of correlation once more, written to be obvious: it keeps everything in
// plain lists, looks at all of it every time, and shares no code with the Correlator. It stands
// against it in TestAgainstNaive.
type naive struct {
	cfg      Config
	ttl      int64
	limit    int
	models   int // in one group, and with progress on one timeline
	crowd    int // groups in sight of a message matched by window
	now      int64
	started  bool
	open     []*naiveGroup // in order of first arrival
	closed   []*naiveGroup // in order of closing
	expected map[string][]string
	everyone []string // after a change for all cameras
	downAll  map[string]bool
	downAt   map[string]bool  // camera|model
	progress map[string]int64 // camera|epoch|model
	broken   map[string]bool
	known    map[string]bool // expected or seen
	followed map[string]bool // has ever been expected or known dead
	n        Counters
	hand     *naiveMessage // arrives while what was due before is closed
	skew     []naiveSample
	lag      map[string][]naiveSample
	out      []string
	figures  naiveFigures
}

type naiveSample struct{ at, value int64 }

type naiveMember struct {
	model    string
	arrival  int64
	ns       int64 // matched
	readable bool
	empty    bool
	late     bool // came when the group was closed
}

type naiveGroup struct {
	camera     string // unit/camera
	epoch      uint32
	note       string // what a key_note says, which is unique for all but window matches
	anchor     int64
	first      int64
	closedAt   int64
	generation uint64
	members    []naiveMember
	turnedAway []string // of another generation
	finished   bool     // its horizon is over
}

type naiveMessage struct {
	camera, model string
	epoch         uint32
	text          string // of an unreadable timestamp
	readable      bool
	ns            int64
	frame         uint64
	generation    uint64
	hasBoxes      bool
	boxes         int
}

func newNaive(cfg Config) *naive {
	v := &naive{
		cfg: cfg, ttl: cfg.ClosedTTLNS, limit: cfg.Limits.Closed, models: cfg.Limits.GroupModels, crowd: cfg.Limits.WindowGroups,
		expected: map[string][]string{}, downAll: map[string]bool{}, downAt: map[string]bool{},
		progress: map[string]int64{}, broken: map[string]bool{}, known: map[string]bool{}, followed: map[string]bool{}, lag: map[string][]naiveSample{},
		figures: naiveFigures{cameras: map[string]*naiveCamera{}},
	}
	if v.ttl == DefaultTTL {
		v.ttl = max(60_000_000_000, 4*cfg.TimeoutNS)
	}
	if v.limit == 0 {
		v.limit = 65536
	}
	if v.models == 0 {
		v.models = 128
	}
	if v.crowd == 0 {
		v.crowd = 256
	}
	v.everyone = cfg.Camera.Expected
	for name, cc := range cfg.Cameras {
		v.expected[name] = cc.Expected
	}
	for _, names := range append([][]string{v.everyone}, mapValues(v.expected)...) {
		for _, name := range names {
			v.known[name], v.followed[name] = true, true
		}
	}
	return v
}

func mapValues(m map[string][]string) (all [][]string) {
	for _, names := range m {
		all = append(all, names)
	}
	return all
}

func (v *naive) settings(camera string) CameraConfig {
	if cc, ok := v.cfg.Cameras[camera]; ok {
		return cc
	}
	return v.cfg.Camera
}

func (v *naive) expectedOf(camera string) []string {
	if names, ok := v.expected[camera]; ok {
		return names
	}
	return v.everyone
}

func (v *naive) liveOf(camera string) (live []string) {
	for _, name := range v.expectedOf(camera) {
		if !v.downAll[name] && !v.downAt[camera+"|"+name] {
			live = append(live, name)
		}
	}
	return live
}

// advance: clamp, forget what is over, sweep in order of first arrival, stale before timeout.
func (v *naive) advance(now int64) {
	if v.started && now < v.now {
		v.n.NowRegressions++
	} else {
		v.now = now
	}
	v.started = true
	v.finish()
	v.forgetOld()
	v.closed = slices.DeleteFunc(v.closed, func(g *naiveGroup) bool { return v.now-g.closedAt >= v.ttl })
	for _, g := range slices.Clone(v.open) {
		switch age := v.now - g.first; {
		case age >= v.cfg.MaxAgeNS:
			v.close(g, "stale")
		case age >= v.cfg.TimeoutNS:
			v.close(g, "timeout")
		}
	}
}

func (v *naive) close(g *naiveGroup, reason string) {
	v.open = slices.DeleteFunc(v.open, func(o *naiveGroup) bool { return o == g })
	g.closedAt = v.now
	v.figures.of(g.camera).ended(v, g, reason)
	if v.ttl <= 0 {
		v.figures.cut++
	}
	if v.ttl > 0 {
		if len(v.closed) >= v.limit {
			if !v.closed[0].finished {
				v.figures.cut++
			}
			v.closed = v.closed[1:]
			v.n.ClosedForgotten++
		}
		v.closed = append(v.closed, g)
	}
	switch reason {
	case "quorum":
		v.n.FlushedQuorum++
	case "settled":
		v.n.FlushedSettled++
	case "timeout":
		v.n.FlushedTimeout++
	case "eviction":
		v.n.FlushedEviction++
	case "stale":
		v.n.Stale++
		return
	}
	allEmpty := true
	var names []string
	last := g.first
	for _, m := range g.members {
		allEmpty = allEmpty && m.empty
		names = append(names, m.model)
		last = max(last, m.arrival)
	}
	if allEmpty && !v.cfg.EmitEmpty {
		v.n.SuppressedEmpty++
		return
	}
	v.n.Published++
	if len(g.members) >= 2 {
		v.judgeMix(g)
		v.skew = append(v.skew, naiveSample{v.now, last - g.first})
		for _, m := range g.members {
			v.lag[m.model] = append(v.lag[m.model], naiveSample{v.now, m.arrival - g.first})
		}
	}
	sort.Strings(names)
	v.out = append(v.out, fmt.Sprintf("%s %d %s [%s] %s gen %d at %d%s",
		g.camera, g.epoch, g.note, strings.Join(names, " "), reason, g.generation, v.now, v.missing(g, reason)))
}

// verdict says why a group can be closed early, "" if it cannot.
func (v *naive) verdict(g *naiveGroup) string {
	live := v.liveOf(g.camera)
	if len(live) == 0 {
		return ""
	}
	allIn, allInOrPast := true, true
	for _, name := range live {
		if g.has(name) != nil {
			continue
		}
		allIn = false
		if !v.past(g, name) {
			allInOrPast = false
		}
	}
	switch {
	case allIn:
		return "quorum"
	case allInOrPast:
		return "settled"
	}
	return ""
}

// past: bucket k: W ≥ (k+1)·q − 1; id and t: W ≥ the largest capture time; w: W ≥ anchor + τ.
func (v *naive) past(g *naiveGroup, model string) bool {
	key := fmt.Sprintf("%s|%d|%s", g.camera, g.epoch, model)
	w, ok := v.progress[key]
	if !ok || v.broken[key] {
		return false
	}
	largest, timed := int64(0), false
	for _, m := range g.members {
		if m.readable && (!timed || m.ns > largest) {
			largest, timed = m.ns, true
		}
	}
	switch {
	case strings.HasPrefix(g.note, "raw:"):
		return false
	case strings.HasPrefix(g.note, "w:"):
		return w >= g.anchor+v.settings(g.camera).WindowNS
	case strings.HasPrefix(g.note, "id:"), strings.HasPrefix(g.note, "q0:"):
		return timed && w >= largest
	}
	return w >= (g.anchor+1)*v.cfg.QuantumNS-1 // anchor is the bucket's number here
}

func (g *naiveGroup) has(model string) *naiveMember {
	for i := range g.members {
		if g.members[i].model == model {
			return &g.members[i]
		}
	}
	return nil
}

func (v *naive) judgeAll() {
	for _, g := range slices.Clone(v.open) {
		if reason := v.verdict(g); reason != "" {
			v.close(g, reason)
		}
	}
}

func (v *naive) heard(camera, model string) {
	delete(v.downAll, model)
	delete(v.downAt, camera+"|"+model)
}

func (v *naive) say(camera string, epoch uint32, model string, w int64) {
	if v.wordless(camera, epoch, model) {
		v.judgeAll()
		return
	}
	key := fmt.Sprintf("%s|%d|%s", camera, epoch, model)
	if old, ok := v.progress[key]; !ok || w > old {
		v.progress[key] = w
	}
	v.judgeAll()
}

func (v *naive) watermark(now int64, camera string, epoch uint32, model string, w int64) {
	v.advance(now)
	if v.wordless(camera, epoch, model) {
		v.n.Refused++
		return
	}
	v.heard(camera, model)
	v.say(camera, epoch, model, w-v.settings(camera).OffsetNS[model])
}

// wordless reports whether a timeline has no room for another model's progress.
func (v *naive) wordless(camera string, epoch uint32, model string) bool {
	line := fmt.Sprintf("%s|%d|", camera, epoch)
	_, known := v.progress[line+model]
	n := 0
	for key := range v.progress {
		if strings.HasPrefix(key, line) {
			n++
		}
	}
	return !known && n >= v.models
}

func (v *naive) message(now int64, m naiveMessage) {
	regressions := v.n.NowRegressions
	v.hand = &m
	v.advance(now)
	v.hand = nil
	cc := v.settings(m.camera)
	if v.full(m, cc) {
		v.n.NowRegressions = regressions
		v.n.Refused++
		return
	}
	v.n.Received++
	v.known[m.model] = true
	if !m.readable {
		v.n.Unparsed++
	}
	if !slices.Contains(v.expectedOf(m.camera), m.model) {
		v.n.Unexpected++
	}
	v.heard(m.camera, m.model)
	t := m.ns - cc.OffsetNS[m.model]
	v.note(m, t)
	progressKey := fmt.Sprintf("%s|%d|%s", m.camera, m.epoch, m.model)
	if w, ok := v.progress[progressKey]; ok && m.readable && t <= w {
		v.n.ProgressBroken++
		v.broken[progressKey] = true
	}
	if cc.Match == MatchFrameID && m.frame == 0 {
		v.n.NoFrameID++
	}
	g := v.place(m, cc, t)
	if v.cfg.ImplicitProgress && m.readable {
		v.say(m.camera, m.epoch, m.model, t-1)
	} else if g != nil {
		if reason := v.verdict(g); reason != "" {
			v.close(g, reason)
		}
	}
	if len(v.open) > v.cfg.MaxPending {
		v.close(v.open[0], "eviction")
	}
}

// full reports whether a message needs room that there is not.
func (v *naive) full(m naiveMessage, cc CameraConfig) bool {
	t := m.ns - cc.OffsetNS[m.model]
	g, isClosed := v.find(m, cc, t)
	switch {
	case g == nil && cc.Match == MatchWindow && m.readable:
		crowd := 0
		for _, o := range append(slices.Clone(v.open), v.closed...) {
			if v.window(o, m) && o.anchor >= t-cc.WindowNS && o.anchor <= t+cc.WindowNS {
				crowd++
			}
		}
		return crowd >= v.crowd
	case g == nil || g.has(m.model) != nil:
		return false
	case !isClosed && g.generation != 0 && m.generation != 0 && g.generation != m.generation:
		return false
	}
	return len(g.members) >= v.models
}

// find returns the group, open or closed, that a message belongs to, nil if it makes a new one.
func (v *naive) find(m naiveMessage, cc CameraConfig, t int64) (g *naiveGroup, isClosed bool) {
	note, _ := v.keyOf(m, cc, t)
	if cc.Match == MatchWindow && m.readable {
		for _, o := range append(slices.Clone(v.open), v.closed...) {
			if mem := o.has(m.model); v.window(o, m) && mem != nil && mem.ns == t {
				g, isClosed = o, slices.Contains(v.closed, o)
			}
		}
		if g == nil {
			g, isClosed = v.nearest(m, cc.WindowNS, t)
		}
	} else {
		for _, o := range v.open {
			if o.camera == m.camera && o.epoch == m.epoch && o.note == note {
				g = o
			}
		}
		for _, o := range v.closed {
			if o.camera == m.camera && o.epoch == m.epoch && o.note == note {
				g, isClosed = o, true
			}
		}
	}
	return g, isClosed
}

// place returns the group that the message joined, if it did.
func (v *naive) place(m naiveMessage, cc CameraConfig, t int64) *naiveGroup {
	g, isClosed := v.find(m, cc, t)
	note, anchor := v.keyOf(m, cc, t)
	mine := naiveMember{model: m.model, arrival: v.now, ns: t, readable: m.readable, empty: m.hasBoxes && m.boxes == 0}
	if g != nil && !isClosed && g.generation != 0 && m.generation != 0 && g.generation != m.generation {
		v.n.WrongGeneration++
		if v.followed[m.model] {
			g.turnedAway = append(g.turnedAway, m.model)
		}
		v.figures.of(m.camera).seat(m.model).wrong++
		return nil
	}
	if g != nil {
		if mem := g.has(m.model); mem != nil {
			if mem.readable && m.readable && mem.ns != t {
				v.n.DupCollision++
				v.figures.of(m.camera).collisions++
			} else {
				v.n.DupResend++
			}
			return nil
		}
	}
	if isClosed {
		v.n.Late++
		v.skew = append(v.skew, naiveSample{v.now, v.now - g.first})
		v.lag[m.model] = append(v.lag[m.model], naiveSample{v.now, v.now - g.first})
		mine.late = true
		g.members = append(g.members, mine)
		v.cameLate(m, v.now-g.first)
		return nil
	}
	if g == nil {
		g = &naiveGroup{camera: m.camera, epoch: m.epoch, note: note, anchor: anchor, first: v.now}
		v.open = append(v.open, g)
		v.n.Opened++
	}
	v.n.Accepted++
	if g.generation == 0 {
		g.generation = m.generation
	}
	g.members = append(g.members, mine)
	return g
}

func (v *naive) window(o *naiveGroup, m naiveMessage) bool {
	return o.camera == m.camera && o.epoch == m.epoch && strings.HasPrefix(o.note, "w:")
}

// nearest picks by distance of the anchor; an open one before a closed one, then the earlier.
func (v *naive) nearest(m naiveMessage, window, t int64) (best *naiveGroup, isClosed bool) {
	bestDistance := int64(0)
	look := func(groups []*naiveGroup, closed bool) {
		sorted := slices.Clone(groups)
		sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].anchor < sorted[j].anchor })
		for _, o := range sorted {
			if !v.window(o, m) || o.has(m.model) != nil {
				continue
			}
			low, high := t, t
			for _, mem := range o.members {
				low, high = min(low, mem.ns), max(high, mem.ns)
			}
			distance := max(o.anchor-t, t-o.anchor)
			if high-low <= window && (best == nil || distance < bestDistance) {
				best, bestDistance, isClosed = o, distance, closed
			}
		}
	}
	look(v.open, false)
	look(v.closed, true)
	return best, isClosed
}

func (v *naive) keyOf(m naiveMessage, cc CameraConfig, t int64) (note string, anchor int64) {
	useID := m.frame != 0 && (cc.Match == MatchFrameID || cc.Match == MatchAuto)
	switch {
	case useID:
		return fmt.Sprintf("id:%d", m.frame), 0
	case !m.readable:
		if len(m.text) > 40 {
			return fmt.Sprintf("raw:%s…%x", m.text[:24], sha256.Sum256([]byte(m.text)))[:len("raw:")+24+len("…")+16], 0
		}
		return "raw:" + m.text, 0
	case cc.Match == MatchWindow:
		return fmt.Sprintf("w:%dns", t), t
	case v.cfg.QuantumNS == 0:
		return fmt.Sprintf("q0:%dns", t), t
	}
	k := new(big.Int).Div(big.NewInt(t), big.NewInt(v.cfg.QuantumNS)) // floors for a positive divisor
	q := new(big.Rat).SetFrac64(v.cfg.QuantumNS, 1e6).FloatString(6)
	return fmt.Sprintf("q%s:%d", strings.TrimRight(strings.TrimRight(q, "0"), "."), k), k.Int64()
}

func (v *naive) setExpected(now int64, names []string) {
	v.advance(now)
	v.everyone, v.expected = names, map[string][]string{}
	for _, name := range names {
		v.known[name], v.followed[name] = true, true
	}
	v.judgeAll()
}

func (v *naive) down(now int64, model string) {
	v.advance(now)
	v.downAll[model], v.followed[model] = true, true
	v.judgeAll()
}

func (v *naive) downOn(now int64, camera, model string) {
	v.advance(now)
	v.downAt[camera+"|"+model], v.followed[model] = true, true
	v.judgeAll()
}

func (v *naive) summary(samples []naiveSample) hist.Summary {
	var values []int64
	for _, s := range samples {
		if v.now-s.at < v.cfg.SkewWindowNS {
			values = append(values, s.value)
		}
	}
	if len(values) == 0 {
		return hist.Summary{}
	}
	slices.Sort(values)
	// Nearest rank: the smallest value such that at least p percent are at or below it.
	rank := func(p int) int64 {
		for i, value := range values {
			if (i+1)*100 >= p*len(values) {
				return value
			}
		}
		return values[len(values)-1]
	}
	return hist.Summary{Count: len(values), P50: rank(50), P99: rank(99), Max: values[len(values)-1]}
}
