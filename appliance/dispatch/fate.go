package dispatch

import (
	"reflect"
	"slices"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/shm"
)

// Fate is what became of a picture on its way to a replica.
type Fate uint8

// Fates of a picture. What a replica made of one that it finished, its own outcomes count.
const (
	FateUnknown    Fate = iota // never offered, or too long ago
	FateWaiting                // for room in the replica's queue
	FateAssigned               // handed over, and not done
	FateFinished               // handed over, and done
	FateDied                   // handed over, and the process ended before it was done
	FateSuperseded             // dropped, as the three of Drop
	FateNotReady
	FateFault
	numFates
)

var fateNames = [numFates]string{"unknown", "waiting", "assigned", "finished", "died", "superseded", "not_ready", "fault"}

func (f Fate) String() string { return fateNames[f] }

// fatesKept is how many pictures of each camera a replica's fates are kept of: several seconds.
const fatesKept = 256

// fate is that of one picture.
type fate struct {
	epoch     uint32
	fate      Fate
	frameID   uint64
	captureNS int64
	at        clock.Mono // since when
	number    uint64     // of the assignment
}

// fates are those of the newest pictures of one route, in a ring.
type fates struct {
	ring [fatesKept]fate
	made uint64
}

// RouteBytes is what a dispatcher keeps of each camera that a replica looks at.
func RouteBytes() int {
	return int(reflect.TypeFor[fates]().Size() + reflect.TypeFor[waiting]().Size() + reflect.TypeFor[lane]().Size() + reflect.TypeFor[target]().Size())
}

// begin notes a picture and returns its number for change.
func (f *fates) begin(now clock.Mono, p *shm.FrameMeta, is Fate) uint64 {
	n := f.made
	f.ring[n%fatesKept] = fate{epoch: p.StreamEpoch, fate: is, frameID: p.FrameID, captureNS: p.CaptureNS, at: now}
	f.made++
	return n
}

// change notes what became of a picture. The newest is never pushed out by others: only one
// picture of a route waits, and what is handed over was waiting.
func (f *fates) change(now clock.Mono, n uint64, to Fate, number uint64) {
	if f.made-n <= fatesKept {
		e := &f.ring[n%fatesKept]
		e.fate, e.at, e.number = to, now, number
	}
}

// die notes that a process ended with the assignments from one number on.
func (r *replica) die(from uint64) {
	for i := range r.fates {
		for j := range r.fates[i].ring {
			if e := &r.fates[i].ring[j]; e.fate == FateAssigned && e.number >= from {
				e.fate = FateDied
			}
		}
	}
}

// Fate returns what became of a camera's picture on its way to replica i, and since when. The
// picture is the one with that frame id or, if that is 0, with one of the capture times.
func (d *Dispatcher) Fate(i, camera int, epoch uint32, frameID uint64, captureNS []int64) (Fate, clock.Mono) {
	r := &d.replicas[i]
	for route := range r.Routes {
		if r.Routes[route].Camera != camera {
			continue
		}
		f := &r.fates[route]
		for n := f.made; n > 0 && f.made-n < fatesKept; n-- {
			e := &f.ring[(n-1)%fatesKept]
			if e.epoch != epoch || frameID != e.frameID && frameID != 0 || frameID == 0 && !slices.Contains(captureNS, e.captureNS) {
				continue
			}
			if e.fate == FateAssigned && !r.owes(e.number) {
				return FateFinished, e.at
			}
			return e.fate, e.at
		}
	}
	return FateUnknown, 0
}

// owes reports whether an assignment is not done yet.
func (r *replica) owes(number uint64) bool {
	if !r.works() {
		return false
	}
	outstanding := min(r.Out.Enq()-min(r.Words.Done(), r.Out.Enq()), r.assigned-r.base)
	return number >= r.assigned-outstanding
}
