package bench

import (
	"fmt"
	"sync/atomic"

	"github.com/skewgate/skewgate/shm"
)

// controlBytes is the size of the segment by which the two sides of a run agree. It is
// none of the ring's: the ring knows no consumer, and nothing in it waits for one.
const controlBytes = 4096

// control is that segment, mapped; peers/peer.h has the first word too.
type control struct {
	ready    *atomic.Uint64 // reader: 1 = I read now
	progress *atomic.Uint64 // reader: messages consumed, so that the writer need not lap
	done     *atomic.Uint64 // writer: messages sent, plus 1; 0 = not done
}

// Offsets: one writer a pair of cache lines.
const (
	controlReady    = 0
	controlProgress = 128
	controlDone     = 256
)

func newControl(b []byte) (control, error) {
	if len(b) < controlBytes {
		return control{}, fmt.Errorf("control segment has %d bytes, want %d", len(b), controlBytes)
	}
	return control{word64(b, controlReady), word64(b, controlProgress), word64(b, controlDone)}, nil
}

// newPlainSegment is zeroed shared memory without a header of ours.
func newPlainSegment(name string, bytes int) (*shm.Segment, error) {
	const page = 4096
	return shm.CreateSegment("bench-"+name, (bytes+page-1)/page*page)
}
