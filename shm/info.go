package shm

// RingInfo is what a ring says of itself. All but the identity is the writer's word.
type RingInfo struct {
	Model        string
	Replica      uint32
	Slots        int
	PayloadBytes int

	Generation  uint64
	PID         uint32
	RingEpoch   uint32
	State       State
	HeartbeatNS int64
	Head        uint64
	Streams     int
}

// identity is the constant part of a ring's header, as it was at attach.
type identity struct {
	b       []byte
	layout  layout
	model   string
	replica uint32
}

func readIdentity(b []byte, l layout) (identity, error) {
	model, err := readName(b, offModel, "model")
	if err != nil {
		return identity{}, err
	}
	return identity{b: b, layout: l, model: model, replica: le.Uint32(b[offReplica:])}, nil
}

// Info reads the ring's words as they are now.
func (r *Reader) Info() RingInfo {
	return RingInfo{
		Model: r.id.model, Replica: r.id.replica,
		Slots: int(r.mask + 1), PayloadBytes: r.payload,
		Generation: r.own.generation.Load(), PID: r.own.pid.Load(), RingEpoch: r.own.ringEpoch.Load(),
		State: State(r.own.state.Load()), HeartbeatNS: int64(r.own.heartbeat.Load()),
		Head: r.headAt.Load(), Streams: int(min(r.countAt.Load(), MaxStreams)),
	}
}

// Check compares the header with what it was at attach and quarantines the ring if
// its writer changed what is constant. Nothing depends on it: the reader works with
// its own copies. It is meant to be called now and then, to name a wild writer.
func (r *Reader) Check() error {
	if r.err != nil {
		return r.err
	}
	now, err := readLayout(r.id.b, r.id.layout.kind)
	if err != nil {
		r.err = err
		return err
	}
	model, err := readName(r.id.b, offModel, "model")
	if err != nil {
		r.err = err
		return err
	}
	if now != r.id.layout || model != r.id.model || le.Uint32(r.id.b[offReplica:]) != r.id.replica {
		r.fail(ReasonIdentity, "header changed under its reader")
	}
	return r.err
}

// Stream returns entry i of the stream table; ok is false beyond its end and for an
// entry that makes no sense, which quarantines the ring.
func (r *Reader) Stream(i uint32) (info StreamInfo, ok bool) {
	if i >= MaxStreams || i >= r.count && !r.knows(i) {
		return StreamInfo{}, false
	}
	if r.streams[i] == nil {
		s, err := readStream(r.table, i)
		if err != nil {
			r.err = err
			return StreamInfo{}, false
		}
		r.streams[i] = &s
	}
	info = *r.streams[i]
	info.Epoch = word32(r.table, int(i)*entryBytes+entryEpoch).Load()
	return info, true
}

// Taken is the last assignment the writer took, by its own word.
func (r *Reader) Taken() uint64 { return r.own.taken.Load() }

// Done is the last assignment the writer finished, by its own word.
func (r *Reader) Done() uint64 { return r.own.done.Load() }

// Outcomes counts finished assignments by outcome, over all writers of the ring.
func (r *Reader) Outcomes() [NumOutcomes]uint64 {
	var n [NumOutcomes]uint64
	for i, c := range r.own.outcomes {
		n[i] = c.Load()
	}
	return n
}
