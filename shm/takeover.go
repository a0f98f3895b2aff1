package shm

// CheckTakeover says whether a next writer could take the ring over as its last one left
// it: constant parts unchanged, head in range, stream table whole. If not, the ring is
// quarantined.
func (r *Reader) CheckTakeover() error {
	if err := r.Check(); err != nil {
		return err
	}
	if r.look(); r.err != nil {
		return r.err
	}
	if _, err := openStreamTable(r.id.b); err != nil {
		r.err = err
	}
	return r.err
}
