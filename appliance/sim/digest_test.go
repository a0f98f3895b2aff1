package sim

import (
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/skewgate/skewgate/appliance/fuse"
)

// digest is all that a run put out, in 64 bits: two runs of one seed must agree.
type digest struct{ h hash.Hash64 }

func (d *digest) write(format string, args ...any) {
	if d.h == nil {
		d.h = fnv.New64a()
	}
	fmt.Fprintf(d.h, format, args...)
}

func (d *digest) group(g *group, fused []fuse.FusedBox) {
	d.write("%s\n", g)
	for i := range fused {
		d.write("%v\n", fused[i])
	}
}

func (d *digest) sum() uint64 {
	d.write("")
	return d.h.Sum64()
}
