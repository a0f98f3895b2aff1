package bench

import (
	"context"
	"os"
	"strconv"
	"time"

	"github.com/skewgate/skewgate/shm"
)

// publishMessages is how many publishes a process times, at full scale.
const publishMessages = 20_000_000

// writerLimit bounds such a process.
const writerLimit = time.Minute

// publishCost runs program, which publishes into a ring of its own and times that, and
// returns ns a publish. Its arguments are processor, messages and more.
func (h *Harness) publishCost(ctx context.Context, name, program string, more string) (ns float64, err error) {
	c := shm.RingConfig{Slots: publishSlots, PayloadBytes: messageBytes, Model: "bench"}
	s, err := shm.CreateSegment("bench-"+name, c.Bytes())
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if err := shm.FormatRing(s.Bytes(), c); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, writerLimit)
	defer cancel()
	n := h.count(publishMessages, 10_000)
	command := []string{program, strconv.Itoa(h.writerCPU), strconv.FormatUint(n, 10), more}
	p, err := start(ctx, name, command, []*os.File{s.File()})
	if err != nil {
		return 0, err
	}
	r, err := p.wait()
	if err != nil {
		return 0, err
	}
	return float64(r.LastNS-r.FirstNS) / float64(r.Messages), nil
}
