package advise

// Buckets is what buckets of one width make of the messages.
type Buckets struct {
	Pictures int     // of two or more models
	Split    int     // of those, in more than one bucket
	AnyPhase float64 // mean over the pictures of the share of phases that split it
	Messages int
	Collided int // found another picture of their model in the bucket
	Frames   int // buckets with two or more models
	Mixed    int // of those, with several pictures
}

// add sums the counts; AnyPhase stays a mean over all pictures.
func (b *Buckets) add(o Buckets) {
	if all := b.Pictures + o.Pictures; all > 0 {
		b.AnyPhase = (b.AnyPhase*float64(b.Pictures) + o.AnyPhase*float64(o.Pictures)) / float64(all)
	}
	b.Pictures, b.Split = b.Pictures+o.Pictures, b.Split+o.Split
	b.Messages, b.Collided = b.Messages+o.Messages, b.Collided+o.Collided
	b.Frames, b.Mixed = b.Frames+o.Frames, b.Mixed+o.Mixed
}

// At is what buckets of q nanoseconds do; with q = 0 each instant is one.
func (p *Pictures) At(q int64) Buckets {
	b := Buckets{Pictures: len(p.pictures), Messages: len(p.byTime)}
	sum := 0.0
	for _, one := range p.pictures {
		if bucketOf(one.from, q) != bucketOf(one.to, q) {
			b.Split++
		}
		switch spread := one.to - one.from; {
		case spread == 0:
		case spread >= q:
			sum++
		default:
			sum += float64(spread) / float64(q)
		}
	}
	if b.Pictures > 0 {
		b.AnyPhase = sum / float64(b.Pictures)
	}
	var members []int32 // places of each model's first arrival in the bucket in hand
	for from := 0; from < len(p.byTime); {
		stream, bucket := p.byTime[from].Stream, bucketOf(p.byTime[from].CaptureNS, q)
		to := from
		for to < len(p.byTime) && p.byTime[to].Stream == stream && bucketOf(p.byTime[to].CaptureNS, q) == bucket {
			to++
		}
		members = p.members(members[:0], from, to)
		b.count(p, members, from, to)
		from = to
	}
	return b
}

// members finds the first message of each model to arrive in a bucket: it is the one that joins.
func (p *Pictures) members(members []int32, from, to int) []int32 {
next:
	for i := from; i < to; i++ {
		for j, at := range members {
			if p.byTime[at].Model == p.byTime[i].Model {
				if p.arrived[i] < p.arrived[at] {
					members[j] = int32(i)
				}
				continue next
			}
		}
		members = append(members, int32(i))
	}
	return members
}

func (b *Buckets) count(p *Pictures, members []int32, from, to int) {
	for i := from; i < to; i++ {
		for _, at := range members {
			if p.byTime[at].Model == p.byTime[i].Model && p.byTime[at].CaptureNS != p.byTime[i].CaptureNS {
				b.Collided++
			}
		}
	}
	if len(members) < 2 {
		return
	}
	b.Frames++
	known := int64(0)
	for _, at := range members {
		switch picture := p.byTime[at].Picture; {
		case picture == 0 || picture == known:
		case known == 0:
			known = picture
		default:
			b.Mixed++
			return
		}
	}
}

// bucketOf rounds down, also below zero.
func bucketOf(t, q int64) int64 {
	if q == 0 {
		return t
	}
	k := t / q
	if t%q < 0 {
		k--
	}
	return k
}
