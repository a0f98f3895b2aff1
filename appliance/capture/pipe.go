package capture

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
)

// slice is the longest this process waits without looking up: for the heartbeat, a
// request to drain, and a source that has fallen silent.
const slice = 100 * time.Millisecond

var errSilent = errors.New("source is silent")

// pipe reads ffmpeg's stream as a plain blocking reader that gives a sign of life
// while it waits and loses patience at a set instant.
type pipe struct {
	f        *os.File
	alive    func(now clock.Mono) error // its error ends the read
	deadline clock.Mono
	patience time.Duration // for the message
}

// expect gives the source patience from now on to deliver its next picture whole.
func (p *pipe) expect(patience time.Duration) {
	p.deadline, p.patience = clock.Now().Add(patience), patience
}

func (p *pipe) Read(b []byte) (int, error) {
	for {
		now := clock.Now()
		if err := p.alive(now); err != nil {
			return 0, err
		}
		// Checked before each read, so that a trickle of bytes is no sign of life.
		if now >= p.deadline {
			return 0, fmt.Errorf("%w: no picture for %v", errSilent, p.patience)
		}
		if err := p.f.SetReadDeadline(time.Now().Add(slice)); err != nil {
			return 0, fmt.Errorf("set read deadline: %w", err)
		}
		n, err := p.f.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
}
