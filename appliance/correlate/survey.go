package correlate

import (
	"cmp"
	"slices"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/hist"
)

// Bounds of a survey.
const (
	minIntervals   = 8             // without that many there is no estimate of the interval
	maxIntervalNS  = int64(3600e9) // what lies further apart is a jump, not an interval
	surveyPictures = 16            // samples taken of one survey; all its pictures are counted
	spreadSamples  = 1024
	pairSamples    = 1024
	cameraPairs    = 28 // all pairs of eight models
	maxPairs       = 1 << 12
)

// survey is what was found out about a camera's pictures from the capture times of its models
// alone. It does not look at groups: what a quantum keeps apart is measured all the same.
type survey struct {
	intervalNS int64 // between two pictures, 0 = not known
	intervalAt clock.Mono
	marked     bool
	markNS     int64 // pictures captured up to here have been looked at

	spread   *hist.Window // of capture times inside one picture
	pictures uint64       // answered by two models or more
	apart    uint64       // of those, pictures that this camera's setting does not join
	pairs    []pairing
}

// pairing is how far the capture clock of one model is ahead of another's.
type pairing struct {
	a, b     ModelID // a's name comes first
	offsetNS *hist.Window
}

// surveyor is the memory that surveys share.
type surveyor struct {
	lists     [][]sighting // by seat: what it holds, in order of capture time
	intervals []int64
	picture   []answer
	pairs     int // of all cameras
}

// answer is one model's capture time of the picture in hand.
type answer struct {
	seat int
	ns   int64
}

// surveyCamera estimates the interval and takes samples of the pictures that were captured
// since the last survey.
func (c *Correlator) surveyCamera(now clock.Mono, cam *camera) {
	s, sv := &cam.seats, &c.surveyor
	s.surveyAt = now + clock.Mono(c.surveyNS())
	for len(sv.lists) < len(s.taken) {
		sv.lists = append(sv.lists, make([]sighting, 0, seatMessages))
	}
	interval, ref, most := int64(0), -1, uint32(0)
	for i := range s.taken {
		sv.lists[i] = inOrder(s.appendRecent(sv.lists[i][:0], i))
		fresh := s.fresh(i)
		if fresh == 0 {
			continue
		}
		if T := sv.interval(sv.lists[i]); T > 0 && (interval == 0 || T < interval) {
			interval = T
		}
		if fresh > most {
			ref, most = i, fresh
		}
	}
	switch {
	case interval > 0:
		s.intervalNS, s.intervalAt = interval, now
	case int64(now-s.intervalAt) >= c.cfg.SkewWindowNS:
		s.intervalNS = 0
	}
	cam.setMixing()
	if ref >= 0 {
		c.lookAtPictures(now, cam, ref)
		c.lookForApart(now, cam)
	}
	for i := range s.taken {
		s.taken[i].before = s.heads[i].n
	}
}

// inOrder sorts by capture time and drops what was said twice, keeping what was said last.
func inOrder(list []sighting) []sighting {
	slices.SortStableFunc(list, func(a, b sighting) int { return cmp.Compare(a.ns, b.ns) })
	kept := list[:0]
	for i := range list {
		if i+1 < len(list) && list[i+1].ns == list[i].ns {
			continue
		}
		kept = append(kept, list[i])
	}
	return kept
}

// interval estimates the time between two pictures from those that one model answered for, 0
// if they are too few. The model may have skipped some: the tenth percentile of the distances
// is taken for one interval if all but a tenth of the distances are multiples of it, the
// median otherwise. The estimate is then the mean over the intervals that distances near to
// a multiple span, so that it is finer than the timestamps: 33 ms and 34 ms in turn give 33.3.
func (sv *surveyor) interval(list []sighting) int64 {
	d := sv.intervals[:0]
	for i := 1; i < len(list); i++ {
		if ns := subSaturating(list[i].ns, list[i-1].ns); ns <= maxIntervalNS {
			d = append(d, ns)
		}
	}
	sv.intervals = d
	if len(d) < minIntervals {
		return 0
	}
	slices.Sort(d)
	seed := d[len(d)/10]
	mean, n := meanInterval(d, seed)
	if 10*n < 9*len(d) {
		seed = d[(len(d)-1)/2]
		if mean, n = meanInterval(d, seed); 2*n < len(d) {
			return seed
		}
	}
	return mean
}

// maxSkipped bounds the intervals that one distance is taken for.
const maxSkipped = 8

// meanInterval returns the mean interval of those distances that lie within an eighth of seed
// of a small multiple of seed, and how many those are.
func meanInterval(distances []int64, seed int64) (mean int64, n int) {
	sum, intervals := int64(0), int64(0)
	for _, d := range distances {
		k := (d + seed/2) / seed
		if k < 1 || k > maxSkipped || max(d-k*seed, k*seed-d) > seed/8 {
			continue
		}
		sum, intervals, n = sum+d, intervals+k, n+1
	}
	if intervals == 0 {
		return 0, 0
	}
	return sum / intervals, n
}

// lookAtPictures goes through the pictures that the reference, the model that has said most
// lately, has answered for since the last survey, up to where the other models have come.
func (c *Correlator) lookAtPictures(now clock.Mono, cam *camera, ref int) {
	s, lists := &cam.seats, c.surveyor.lists
	pictures := lists[ref]
	if len(pictures) == 0 {
		return
	}
	if s.marked && pictures[len(pictures)-1].ns < s.markNS {
		s.marked = false // the capture clock went back
	}
	upTo := pictures[len(pictures)-1].ns
	for i := range s.taken {
		list := lists[i]
		if s.fresh(i) == 0 || len(list) == 0 || list[len(list)-1].ns < pictures[0].ns {
			continue // silent, or so far behind that it will never meet the reference
		}
		upTo = min(upTo, list[len(list)-1].ns)
	}
	upTo = subSaturating(upTo, s.intervalNS)
	from := 0
	for from < len(pictures) && s.marked && pictures[from].ns <= s.markNS {
		from++
	}
	to := from
	for to < len(pictures) && pictures[to].ns <= upTo {
		to++
	}
	stride := (to - from + surveyPictures - 1) / surveyPictures
	for i := from; i < to; i++ {
		c.lookAtPicture(now, cam, ref, i, (i-from)%stride == 0)
	}
	if to > from {
		s.marked, s.markNS = true, pictures[to-1].ns
	}
}

// lookAtPicture finds what the other models have said of one picture of the reference.
func (c *Correlator) lookAtPicture(now clock.Mono, cam *camera, ref, at int, sample bool) {
	s, sv := &cam.seats, &c.surveyor
	first := sv.lists[ref][at]
	byID := first.frame != 0 && (cam.match == MatchFrameID || cam.match == MatchAuto)
	sv.picture = append(sv.picture[:0], answer{ref, first.ns})
	low, high := first.ns, first.ns
	for i := range s.taken {
		if i == ref {
			continue
		}
		var ns int64
		var ok bool
		if byID {
			ns, ok = byFrame(sv.lists[i], first.frame)
		} else {
			ns, ok = sameTime(sv.lists[ref], at, sv.lists[i], s.intervalNS)
		}
		if ok {
			sv.picture = append(sv.picture, answer{i, ns})
			low, high = min(low, ns), max(high, ns)
		}
	}
	if len(sv.picture) < 2 {
		return
	}
	s.pictures++
	if !byID && c.keepsApart(cam, low, high) {
		s.apart++
	}
	if !sample {
		return
	}
	if s.spread == nil {
		s.spread = hist.NewWindow(c.cfg.SkewWindowNS, spreadSamples)
	}
	s.spread.Add(int64(now), subSaturating(high, low))
	for i, a := range sv.picture {
		for _, b := range sv.picture[i+1:] {
			c.pair(now, cam, a, b)
		}
	}
}

// keepsApart reports whether two capture times of one picture end in different groups.
func (c *Correlator) keepsApart(cam *camera, low, high int64) bool {
	switch {
	case cam.match == MatchWindow:
		return subSaturating(high, low) > cam.windowNS
	case c.cfg.QuantumNS == 0:
		return low != high
	}
	return floorDiv(low, c.cfg.QuantumNS) != floorDiv(high, c.cfg.QuantumNS)
}

// byFrame returns the last capture time with a frame id.
func byFrame(list []sighting, frame uint64) (ns int64, ok bool) {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].frame == frame {
			return list[i].ns, true
		}
	}
	return 0, false
}

// sameTime returns the capture time of list that is of the same picture as pictures[at]: each
// is the nearest to the other, and they differ by less than half an interval.
func sameTime(pictures []sighting, at int, list []sighting, intervalNS int64) (ns int64, ok bool) {
	i := nearestTo(list, pictures[at].ns)
	if i < 0 {
		return 0, false
	}
	ns = list[i].ns
	if far := distance(ns, pictures[at].ns); far >= (intervalNS+1)/2 || nearestTo(pictures, ns) != at {
		return 0, false
	}
	return ns, true
}

// nearestTo returns the place of the capture time nearest to ns, the earlier of two, −1 for an
// empty list.
func nearestTo(list []sighting, ns int64) int {
	i, _ := slices.BinarySearchFunc(list, ns, func(s sighting, ns int64) int { return cmp.Compare(s.ns, ns) })
	switch {
	case i == len(list):
		return i - 1
	case i > 0 && distance(ns, list[i-1].ns) <= distance(list[i].ns, ns):
		return i - 1
	}
	return i
}

func distance(a, b int64) int64 { return subSaturating(max(a, b), min(a, b)) }

// pair notes how far b's capture time is ahead of a's, or the other way round: the name that
// comes first is the one that the other is measured against.
func (c *Correlator) pair(now clock.Mono, cam *camera, a, b answer) {
	s := &cam.seats
	ma, mb := s.taken[a.seat].mod, s.taken[b.seat].mod
	if ma.name > mb.name {
		a, b, ma, mb = b, a, mb, ma
	}
	i := slices.IndexFunc(s.pairs, func(p pairing) bool { return p.a == ma.id && p.b == mb.id })
	if i < 0 {
		if len(s.pairs) >= cameraPairs || c.surveyor.pairs >= maxPairs {
			return
		}
		c.surveyor.pairs++
		i = len(s.pairs)
		s.pairs = append(s.pairs, pairing{ma.id, mb.id, hist.NewWindow(c.cfg.SkewWindowNS, pairSamples)})
	}
	s.pairs[i].offsetNS.Add(int64(now), subSaturating(b.ns, a.ns))
}

// lookForApart measures how far the capture times of a model that has met nobody are from
// those of the others: one sample a survey.
func (c *Correlator) lookForApart(now clock.Mono, cam *camera) {
	s, lists := &cam.seats, c.surveyor.lists
	for i := range s.taken {
		one := &s.taken[i]
		if one.mod.bit&cam.expected == 0 || s.hasMet(i) || s.fresh(i) == 0 {
			continue
		}
		best, found := int64(0), false
		for j := range s.taken {
			if j == i || len(lists[j]) == 0 {
				continue
			}
			if far := apart(lists[i], lists[j]); !found || distance(far, 0) < distance(best, 0) {
				best, found = far, true
			}
		}
		if !found {
			continue
		}
		if one.apartNS == nil {
			one.apartNS = hist.NewWindow(c.cfg.SkewWindowNS, rareSamples)
		}
		one.apartNS.Add(int64(now), best)
	}
}

// apart returns how far mine are ahead of theirs: by the distance of the one in the middle to
// the nearest of theirs, or, if all of mine lie before or behind all of theirs, by that of the
// last ones.
func apart(mine, theirs []sighting) int64 {
	last := len(mine) - 1
	if mine[0].ns > theirs[len(theirs)-1].ns || mine[last].ns < theirs[0].ns {
		return subSaturating(mine[last].ns, theirs[len(theirs)-1].ns)
	}
	middle := mine[len(mine)/2].ns
	return subSaturating(middle, theirs[nearestTo(theirs, middle)].ns)
}
