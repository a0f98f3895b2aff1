package appliance

import (
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/shm"
)

// replica is one detector process as the path's thread sees it. It takes its work from
// the dispatcher, or it is foreign and takes pictures when it likes.
type replica struct {
	index       int
	cfg         *config.Model
	task        string
	cameras     []*camera // in the order of its job
	segment     *shm.Segment
	ring        *shm.Reader
	queue       int          // the dispatcher's number; noQueue = foreign
	workSegment *shm.Segment // nil = foreign
	work        *shm.DispatchWriter
	foreign     *foreign // nil = one of the appliance's own

	// The oldest message read and not yet stepped: the path merges rings by arrival.
	have    bool
	head    shm.SlotHeader
	length  int
	body    []byte
	arrival clock.Mono

	lastArrival clock.Mono // of the last message
	lastEmpty   clock.Mono // when the ring was last found empty
	mark        ringMark   // what was in the ring at some time since then
	promised    uint64     // how far it has to be read before the progress that was looked at is told
	streams     [shm.MaxStreams]streamCache
	owes        []silence    // by camera
	others      [][]*silence // by camera: what the others who look at it owe
	endings     endings

	model          correlate.ModelID
	word           word
	ready          bool // takes work
	leaving        bool // was asked to go: no new work, in the quorum until its process ends
	settled        bool // has been ready or lost once: no longer on its first way up
	said           readyReport
	quarantine     string // why the ring is not read now
	quarantines    uint64
	quarantineLast string
	replacing      bool          // its process is being replaced
	base           ringAccount   // of readers before the ring was laid out anew
	frame          uint64        // id of the last message
	lastFrame      atomic.Uint64 // the same, for other threads, once a turn
	messages       uint64        // that joined a frame
	refused        uint64        // malformed
	refusal        string        // why, of the last one
}

// noQueue is the queue of a replica that the dispatcher does not know.
const noQueue = -1

// ringMark is a head and a time at which it was not passed yet: what has a higher sequence
// was published after that time, whatever its writer says.
type ringMark struct {
	head uint64
	at   clock.Mono
}

// ringAccount sums a ring's messages over its readers.
type ringAccount struct{ written, read, lost uint64 }

// streamCache remembers what the correlator calls a ring's stream of one epoch.
type streamCache struct {
	known bool
	epoch uint32
	id    correlate.StreamID
	local int // the replica's number of the camera
}

// readyReport is what a detector says of itself when it is ready. It is a child's
// word: only shown, and used for class names within their bounds.
type readyReport struct {
	Names    []string `json:"names"`
	Provider string   `json:"provider"`
}

// Bounds on a detector's class names.
const (
	maxNames     = 10_000
	maxNameBytes = 128
)

func parseReady(raw json.RawMessage) (readyReport, error) {
	var r readyReport
	if err := json.Unmarshal(raw, &r); err != nil {
		return readyReport{}, fmt.Errorf("decode ready report: %w", err)
	}
	if len(r.Names) > maxNames {
		return readyReport{}, fmt.Errorf("ready report names %d classes, at most %d", len(r.Names), maxNames)
	}
	for i, n := range r.Names {
		if n == "" || len(n) > maxNameBytes {
			return readyReport{}, fmt.Errorf("ready report: class %d has a name of %d bytes, want 1 to %d", i, len(n), maxNameBytes)
		}
	}
	return r, nil
}

// peek makes sure that the oldest unread message, if any, is at hand. Its arrival is
// the publish time its writer gave, clamped into what can be true: not before this
// ring's last message, the last time it was seen empty or its mark, and not after now. By
// the mark no writer, however fast and whatever it stamps, is ahead of the others by more
// than two rings full: a time that stands still would come first for ever.
func (r *replica) peek(now clock.Mono) bool {
	if r.have || r.quarantine != "" || !r.attached() {
		return r.have
	}
	n, ok, err := r.ring.Next(&r.head, r.body)
	if err != nil {
		r.quarantine = err.Error()
		return false
	}
	if !ok {
		r.lastEmpty = now
		return false
	}
	r.have, r.length = true, n
	if r.head.Sequence > r.mark.head {
		r.lastArrival = max(r.lastArrival, r.mark.at)
		r.mark = ringMark{r.head.Sequence + r.ring.Pending(), now}
	}
	r.arrival = min(max(clock.Mono(r.head.PublishNS), r.lastArrival, r.lastEmpty), now)
	r.lastArrival = r.arrival
	return true
}

// attached says whether the ring has a writer that counts. What is written into a foreign
// ring after its detector's end would make a dead model look alive.
func (r *replica) attached() bool { return r.foreign == nil || r.foreign.open }

// account is the ring's sum since the appliance's start: written = read + lost (+ unread).
func (r *replica) account() ringAccount {
	return ringAccount{
		written: r.base.written + r.ring.Written() - r.ring.Start(),
		read:    r.base.read + r.ring.Read(),
		lost:    r.base.lost + r.ring.Lost(),
	}
}

// layOut gives a quarantined ring back its first state. Its process has ended, and what the
// next one publishes is published after the given instant.
func (r *replica) layOut(index int, now clock.Mono) error {
	r.closeAccount()
	if err := shm.FormatRing(r.segment.Bytes(), ringLayout(index, r.cfg, 0)); err != nil {
		return err
	}
	ring, err := shm.NewReader(r.segment.Bytes())
	if err != nil {
		return err
	}
	r.ring, r.have, r.quarantine, r.replacing = ring, false, "", false
	r.streams, r.mark, r.promised = [shm.MaxStreams]streamCache{}, ringMark{}, 0
	r.lastEmpty = max(r.lastEmpty, now)
	return nil
}

// closeAccount keeps a broken ring's sums; what it still held is lost.
func (r *replica) closeAccount() {
	r.base = r.account()
	r.base.lost += r.base.written - r.base.read - r.base.lost
}

// beginReplacing keeps the reason for status and the replacement from beginning twice.
func (r *replica) beginReplacing() {
	r.replacing = true
	r.quarantines++
	r.quarantineLast = r.quarantine
}
