package correlate

import (
	"slices"
	"sort"
)

// naiveFigures are the running figures once more, from all that was ever said.
type naiveFigures struct {
	cameras  map[string]*naiveCamera
	final    []naiveSample
	beyond   int
	beyondNS []naiveSample
	cut      int
}

type naiveCamera struct {
	seats      []*naiveSeat // in the order in which they first spoke
	epoch      uint32
	next       int64 // when a survey is due
	interval   int64
	intervalAt int64
	marked     bool
	mark       int64
	spread     []naiveSample
	mixedNS    []naiveSample
	pairs      map[[2]string][]naiveSample
	met        map[string]bool

	pictures, apart, groups, judged, mixed, collisions, run, worst int
	runSince, worstNS                                              int64
}

type naiveSeat struct {
	model                           string
	said                            []sighting // of the present epoch
	surveyed                        int        // of those, at the last survey
	received, unparsed, late, wrong int
	lateNS, apartNS                 []naiveSample
}

func (f *naiveFigures) of(camera string) *naiveCamera {
	if f.cameras[camera] == nil {
		f.cameras[camera] = &naiveCamera{pairs: map[[2]string][]naiveSample{}, met: map[string]bool{}}
	}
	return f.cameras[camera]
}

func (n *naiveCamera) seat(model string) *naiveSeat {
	for _, s := range n.seats {
		if s.model == model {
			return s
		}
	}
	n.seats = append(n.seats, &naiveSeat{model: model})
	return n.seats[len(n.seats)-1]
}

func (v *naive) period() int64 { return min(v.cfg.SkewWindowNS/16, 1_000_000_000) }

func (v *naive) horizon() int64 { return max(10_000_000_000, 4*v.cfg.TimeoutNS) }

// finish: a frame is final once its horizon has passed since it was closed; what came within
// the horizon of its first arrival counts.
func (v *naive) finish() {
	for _, g := range v.closed {
		if g.finished || v.now-g.closedAt < v.horizon() {
			continue
		}
		g.finished = true
		within, last := 0, int64(0)
		for _, m := range g.members {
			if m.arrival-g.first <= v.horizon() || m.arrival <= g.closedAt && !m.late {
				within, last = within+1, max(last, m.arrival-g.first)
			}
		}
		if within >= 2 {
			v.figures.final = append(v.figures.final, naiveSample{v.now, last})
		}
	}
}

// forgetOld counts what is about to be forgotten unfinished.
func (v *naive) forgetOld() {
	for _, g := range v.closed {
		if v.now-g.closedAt >= v.ttl && !g.finished {
			v.figures.cut++
		}
	}
}

func (v *naive) cameLate(m naiveMessage, lag int64) {
	s := v.figures.of(m.camera).seat(m.model)
	s.late++
	s.lateNS = append(s.lateNS, naiveSample{v.now, lag})
	if lag > v.horizon() {
		v.figures.beyond++
		v.figures.beyondNS = append(v.figures.beyondNS, naiveSample{v.now, lag})
	}
}

// ended counts a closed group.
func (n *naiveCamera) ended(v *naive, g *naiveGroup, reason string) {
	n.groups++
	if reason != "stale" && len(g.members) >= 2 {
		n.run = 0
		for _, m := range g.members {
			n.met[m.model] = true
		}
		return
	}
	if n.run == 0 {
		n.runSince = g.first
	}
	n.run++
	if n.run > n.worst {
		n.worst, n.worstNS = n.run, v.now-n.runSince
	}
}

// judgeMix: two pictures are half an interval apart or more.
func (v *naive) judgeMix(g *naiveGroup) {
	n := v.figures.of(g.camera)
	T := v.interval(g.camera)
	low, high, timed := g.span()
	if T == 0 || !timed || len(g.note) > 2 && g.note[:3] == "id:" {
		return
	}
	n.judged++
	if 2*(high-low) >= T {
		n.mixed++
		n.mixedNS = append(n.mixedNS, naiveSample{v.now, high - low})
	}
}

func (v *naive) note(m naiveMessage, t int64) {
	n := v.figures.of(m.camera)
	if len(n.seats) == 0 {
		n.next = v.now + v.period()
	}
	s := n.seat(m.model)
	s.received++
	switch {
	case !m.readable:
		s.unparsed++
		return
	case m.epoch < n.epoch:
		return
	case m.epoch > n.epoch:
		n.epoch, n.marked = m.epoch, false
		for _, s := range n.seats {
			s.said, s.surveyed = nil, 0
		}
	}
	s.said = append(s.said, sighting{t, m.frame})
	if v.now >= n.next {
		v.survey(m.camera, n)
	}
}

// known is what a seat has said lately: of the same instant the last word, by capture time.
func (s *naiveSeat) known() (all []sighting) {
	said := s.said[max(0, len(s.said)-64):]
	for i, one := range said {
		if !slices.ContainsFunc(said[i+1:], func(o sighting) bool { return o.ns == one.ns }) {
			all = append(all, one)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ns < all[j].ns })
	return all
}

// naiveInterval tries the tenth percentile, then the median.
func naiveInterval(all []sighting) int64 {
	var d []int64
	for i := 1; i < len(all); i++ {
		if far := all[i].ns - all[i-1].ns; far <= 3600_000*ms {
			d = append(d, far)
		}
	}
	if len(d) < 8 {
		return 0
	}
	slices.Sort(d)
	mean := func(seed int64) (int64, int) {
		var sum, of int64
		n := 0
		for _, one := range d {
			for k := int64(1); k <= 8; k++ {
				if off := one - k*seed; off <= seed/8 && -off <= seed/8 {
					sum, of, n = sum+one, of+k, n+1
					break
				}
			}
		}
		return sum / max(of, 1), n
	}
	if T, n := mean(d[len(d)/10]); float64(n) >= 0.9*float64(len(d)) {
		return T
	}
	median := d[(len(d)+1)/2-1]
	if T, n := mean(median); 2*n >= len(d) {
		return T
	}
	return median
}

func naiveNearest(all []sighting, ns int64) int {
	best := -1
	for i := range all {
		if best < 0 || max(all[i].ns-ns, ns-all[i].ns) < max(all[best].ns-ns, ns-all[best].ns) {
			best = i
		}
	}
	return best
}

func (v *naive) survey(camera string, n *naiveCamera) {
	n.next = v.now + v.period()
	known := map[*naiveSeat][]sighting{}
	fresh := func(s *naiveSeat) int { return len(s.said) - s.surveyed }
	var ref *naiveSeat
	T := int64(0)
	for _, s := range n.seats {
		known[s] = s.known()
		if fresh(s) == 0 {
			continue
		}
		if one := naiveInterval(known[s]); one > 0 && (T == 0 || one < T) {
			T = one
		}
		if ref == nil || fresh(s) > fresh(ref) {
			ref = s
		}
	}
	if T > 0 {
		n.interval, n.intervalAt = T, v.now
	} else if v.now-n.intervalAt >= v.cfg.SkewWindowNS {
		n.interval = 0
	}
	first, last := known[ref][0].ns, known[ref][len(known[ref])-1].ns
	if n.marked && last < n.mark {
		n.marked = false
	}
	upTo := last
	for _, s := range n.seats {
		if all := known[s]; fresh(s) > 0 && all[len(all)-1].ns >= first {
			upTo = min(upTo, all[len(all)-1].ns)
		}
	}
	upTo -= n.interval
	var pictures []sighting
	for _, one := range known[ref] {
		if one.ns <= upTo && (!n.marked || one.ns > n.mark) {
			pictures = append(pictures, one)
		}
	}
	for i, one := range pictures {
		every := (len(pictures) + 15) / 16
		v.picture(camera, n, known, ref, one, i%every == 0)
		n.marked, n.mark = true, one.ns
	}
	for _, s := range n.seats {
		if fresh(s) > 0 && !n.met[s.model] && slices.Contains(v.expectedOf(camera), s.model) {
			v.howFar(n, known, s)
		}
	}
	for _, s := range n.seats {
		s.surveyed = len(s.said)
	}
}

func (v *naive) picture(camera string, n *naiveCamera, known map[*naiveSeat][]sighting, ref *naiveSeat, one sighting, sample bool) {
	cc := v.settings(camera)
	byID := one.frame != 0 && (cc.Match == MatchFrameID || cc.Match == MatchAuto)
	answers := map[string]int64{ref.model: one.ns}
	for _, s := range n.seats {
		if s == ref {
			continue
		}
		if byID {
			for _, o := range known[s] {
				if o.frame == one.frame {
					answers[s.model] = o.ns
				}
			}
			continue
		}
		i := naiveNearest(known[s], one.ns)
		if i < 0 {
			continue
		}
		ns := known[s][i].ns
		back := naiveNearest(known[ref], ns)
		if 2*max(ns-one.ns, one.ns-ns) < n.interval && known[ref][back].ns == one.ns {
			answers[s.model] = ns
		}
	}
	if len(answers) < 2 {
		return
	}
	var times []int64
	notes := map[string]bool{}
	for _, ns := range answers {
		times = append(times, ns)
		note, _ := v.keyOf(naiveMessage{readable: true}, CameraConfig{Match: MatchBucket}, ns)
		notes[note] = true
	}
	low, high := slices.Min(times), slices.Max(times)
	n.pictures++
	if !byID && (cc.Match == MatchWindow && high-low > cc.WindowNS || cc.Match != MatchWindow && len(notes) > 1) {
		n.apart++
	}
	if !sample {
		return
	}
	n.spread = append(n.spread, naiveSample{v.now, high - low})
	for a := range answers {
		for b := range answers {
			if a < b {
				n.pairs[[2]string{a, b}] = append(n.pairs[[2]string{a, b}], naiveSample{v.now, answers[b] - answers[a]})
			}
		}
	}
}

// howFar measures how far a model that has met nobody is from the others.
func (v *naive) howFar(n *naiveCamera, known map[*naiveSeat][]sighting, s *naiveSeat) {
	var all []int64
	mine := known[s]
	for _, o := range n.seats {
		theirs := known[o]
		if o == s || len(theirs) == 0 {
			continue
		}
		newest := mine[len(mine)-1].ns
		if mine[0].ns > theirs[len(theirs)-1].ns || newest < theirs[0].ns {
			all = append(all, newest-theirs[len(theirs)-1].ns)
			continue
		}
		middle := mine[len(mine)/2].ns
		all = append(all, middle-theirs[naiveNearest(theirs, middle)].ns)
	}
	if len(all) == 0 {
		return
	}
	best := all[0]
	for _, far := range all[1:] {
		if max(far, -far) < max(best, -best) {
			best = far
		}
	}
	s.apartNS = append(s.apartNS, naiveSample{v.now, best})
}

// values are the samples of the window, of which at most limit are kept.
func (v *naive) values(samples []naiveSample, limit int) (values []int64) {
	for _, s := range samples[max(0, len(samples)-limit):] {
		if v.now-s.at < v.cfg.SkewWindowNS {
			values = append(values, s.value)
		}
	}
	return values
}

// look makes what AppendFigures says of a camera.
func (n *naiveCamera) look(v *naive, camera string) Figures {
	cc := v.settings(camera)
	f := Figures{
		Match: cc.Match, QuantumNS: v.cfg.QuantumNS, WindowNS: cc.WindowNS, ConfiguredNS: cc.FrameIntervalNS,
		SpreadNS: v.values(n.spread, 1024), MixedNS: v.values(n.mixedNS, 64), Pictures: uint64(n.pictures), Apart: uint64(n.apart),
		Groups: uint64(n.groups), Judged: uint64(n.judged), Mixed: uint64(n.mixed), Collisions: uint64(n.collisions),
		Expected: len(v.expectedOf(camera)), Run: uint64(n.run), LongestRun: uint64(n.worst), LongestNS: n.worstNS,
	}
	if v.now-n.intervalAt < v.cfg.SkewWindowNS {
		f.IntervalNS = n.interval
	}
	for names, samples := range n.pairs {
		f.Pairs = append(f.Pairs, Pair{names[0], names[1], v.values(samples, 1024)})
	}
	for _, name := range v.expectedOf(camera) {
		if !n.met[name] {
			f.Apartness = append(f.Apartness, n.why(v, camera, name))
		}
	}
	return f
}

func (n *naiveCamera) why(v *naive, camera, name string) Alone {
	i := slices.IndexFunc(n.seats, func(s *naiveSeat) bool { return s.model == name })
	if i < 0 {
		if slices.Contains(v.liveOf(camera), name) {
			return Alone{Model: name, Why: "absent"}
		}
		return Alone{Model: name, Why: "dead"}
	}
	s := n.seats[i]
	others, punctual := 0, 0
	for _, o := range n.seats {
		if o == s {
			continue
		}
		others++
		if 2*o.late <= o.received {
			punctual++
		}
	}
	a := Alone{Model: name, Received: uint64(s.received), Count: uint64(s.received)}
	switch {
	case 2*s.unparsed > s.received:
		a.Why, a.Count = "unreadable_time", uint64(s.unparsed)
	case 2*s.late > s.received:
		a.Why, a.Count, a.NS = "late", uint64(s.late), v.values(s.lateNS, 64)
	case 2*s.wrong > s.received:
		a.Why, a.Count = "wrong_generation", uint64(s.wrong)
	case others == 0:
		a.Why = "others_absent"
	case punctual == 0:
		a.Why = "others_late"
	default:
		a.Why, a.NS = "other_bucket", v.values(s.apartNS, 64)
	}
	return a
}
