package sink

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/shm"
)

// tellEvery is within how many messages all names are told again.
const tellEvery = 64

// Ring is the sink for an output ring in shared memory. It has no queue and no reader
// can hold it up: Offer publishes at once, and who reads too slowly loses. Offer belongs
// to one goroutine, Stats to anybody.
type Ring struct {
	unit    string
	w       *shm.Writer
	tables  *tables
	told    uint32 // tables.changes when last told
	telling [][]byte
	since   int // messages since the last telling began
	body    []byte
	header  shm.SlotHeader

	written, tooLarge, invalid, afterEnd, bytes atomic.Uint64
	ended                                       atomic.Bool
}

// NewRing takes over the formatted output ring in b. Every camera gets a stream and every
// model a number; both and the names are published at now.
func NewRing(b []byte, pid uint32, unit string, cameras, models []string, now clock.Mono) (*Ring, error) {
	w, err := shm.NewWriter(b, pid, nil)
	if err != nil {
		return nil, fmt.Errorf("attach to the output ring: %w", err)
	}
	s := &Ring{unit: unit, w: w, tables: newTables(models)}
	for _, c := range cameras {
		if _, err := w.RegisterStream(unit, c, 0); err != nil {
			return nil, err
		}
	}
	if err := s.tell(int64(now)); err != nil {
		return nil, err
	}
	w.SetState(shm.StateReady)
	return s, nil
}

// Offer publishes a frame. What has no form in the ring is counted and left out.
func (s *Ring) Offer(f *Frame) {
	if s.ended.Load() {
		s.afterEnd.Add(1)
		return
	}
	if err := s.publish(f); err != nil {
		if errors.Is(err, errNotFinite) || errors.Is(err, errTooMany) {
			s.invalid.Add(1)
		} else {
			s.tooLarge.Add(1)
		}
		return
	}
	s.written.Add(1)
	s.bytes.Add(uint64(len(s.body)))
}

func (s *Ring) publish(f *Frame) error {
	if err := s.tables.learn(f, maxTableParts*(s.w.PayloadBytes()-tableHead)); err != nil {
		return err
	}
	// A whole telling lies in any tellEvery messages if the next begins this soon.
	if s.told != s.tables.changes || s.since+2*len(s.telling) > tellEvery {
		if err := s.tell(int64(f.Published)); err != nil {
			return err
		}
	}
	body, err := appendRecord(s.body[:0], &s.header, f, s.tables)
	if err != nil {
		return err
	}
	s.body = body
	if len(body) > s.w.PayloadBytes() {
		return shm.ErrTooLarge
	}
	// It is registered since the start; this notes the epoch and returns the number.
	if s.header.Stream, err = s.w.RegisterStream(f.Unit, f.Camera, f.StreamEpoch); err != nil {
		return err
	}
	s.since++
	return s.w.Publish(&s.header, body)
}

// tell publishes all names. The messages are made anew only when one was added.
func (s *Ring) tell(nowNS int64) error {
	if s.told != s.tables.changes {
		telling, err := s.tables.telling(s.unit, s.w.PayloadBytes())
		if err != nil {
			return err
		}
		s.telling, s.told = telling, s.tables.changes
	}
	s.since = len(s.telling) // the telling's own messages count
	for _, part := range s.telling {
		h := shm.SlotHeader{PublishNS: nowNS, Tag: uint64(s.told), Kind: shm.KindJSON}
		if err := s.w.Publish(&h, part); err != nil {
			return err
		}
	}
	return nil
}

// Heartbeat says that the appliance was alive at now, frames or none.
func (s *Ring) Heartbeat(now clock.Mono) { s.w.Heartbeat(int64(now)) }

// Run waits for the end and says so in the ring.
func (s *Ring) Run(ctx context.Context) {
	<-ctx.Done()
	s.ended.Store(true)
	s.w.SetState(shm.StateDraining)
}

// Stats may be called from any goroutine.
func (s *Ring) Stats() Stats {
	tooLarge, invalid, afterEnd, written := s.tooLarge.Load(), s.invalid.Load(), s.afterEnd.Load(), s.written.Load()
	st := Stats{
		Path: "shm", State: StateOK, Written: written, Bytes: s.bytes.Load(),
		Offered: tooLarge + invalid + afterEnd + written,
		Lost:    map[string]uint64{LostTooLarge: tooLarge, LostInvalid: invalid, LostShutdown: afterEnd},
	}
	if s.ended.Load() {
		st.State = StateClosed
	}
	return st
}
