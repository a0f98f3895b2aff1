package shm

import "sync/atomic"

// ownWords are the words of a ring that only its writer stores. Readers hold the same
// pointers into a mapping that cannot be written.
type ownWords struct {
	generation, heartbeat *atomic.Uint64
	ringEpoch, pid, state *atomic.Uint32
	streamEpoch           *atomic.Uint32
	sleep                 *atomic.Uint32
	taken, done           *atomic.Uint64
	outcomes              [NumOutcomes]*atomic.Uint64
}

func newOwnWords(b []byte, l *layout) ownWords {
	o := ownWords{
		generation: word64(b, offGeneration), heartbeat: word64(b, l.hotAt+hotHeartbeat),
		ringEpoch: word32(b, offRingEpoch), pid: word32(b, offPID), state: word32(b, l.hotAt+hotState),
		streamEpoch: word32(b, offStreamEpoch), sleep: word32(b, l.hotAt+hotSleep),
		taken: word64(b, l.hotAt+hotWork), done: word64(b, l.hotAt+hotWork+8),
	}
	for i := range o.outcomes {
		o.outcomes[i] = word64(b, l.hotAt+hotWork+16+8*i)
	}
	return o
}

// takeOver makes pid the writer and returns its ring_epoch. A predecessor that was
// killed asleep left its flag up; a flag up only costs wake-ups, but is taken down.
func (o *ownWords) takeOver(pid uint32) uint32 {
	o.state.Store(uint32(StateStarting))
	o.heartbeat.Store(0)
	o.sleep.Store(0)
	o.pid.Store(pid)
	return o.ringEpoch.Add(1)
}
