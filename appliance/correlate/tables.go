package correlate

// Table is how full one of the correlator's tables is. None holds more than its bound: what
// does not fit is refused, evicted or forgotten early, and counted.
type Table struct {
	Name       string
	Len, Bound int
}

// AppendTables appends the state of every table that a flood could fill. It costs a walk over
// the cameras.
func (c *Correlator) AppendTables(dst []Table) []Table {
	timelines := 0
	for _, cam := range c.cameras[1:] {
		timelines += len(cam.all)
	}
	open, closed := c.cfg.MaxPending, c.limits.Closed
	// A camera keeps idleEpochs timelines beside those that something refers to.
	maxTimelines := idleEpochs*(len(c.cameras)-1) + open + 1 + closed + 1
	return append(dst,
		Table{"open_groups", c.pending, open},
		Table{"closed_keys", c.closed.n, closed},
		Table{"keys", c.index.n, open + closed},
		Table{"cameras", len(c.cameras) - 1, c.limits.Cameras},
		Table{"timelines", timelines, maxTimelines},
		Table{"models", len(c.models) - 1, c.limits.Models + maxExpected},
		Table{"expected_models", len(c.bitModels), maxExpected},
		Table{"raw_texts", c.raw.Len(), c.limits.RawKeys},
		Table{"skew_samples", c.skew.Held(), c.skew.Limit()},
		Table{"final_samples", c.final.skew.Held(), c.final.skew.Limit()},
		Table{"camera_models", c.seatsTaken, maxSeats},
		Table{"model_pairs", c.surveyor.pairs, maxPairs},
		// Memory that is kept once it was needed: one group more is open while it is decided
		// which one leaves.
		Table{"pooled_groups", len(c.groups), open + 1},
		Table{"pooled_nodes", len(c.order.nodes), 1 + 2*(open+1) + closed + 1 + 2*maxTimelines},
	)
}
