package nut

// skipSideData passes over a frame's side data and metadata, two lists of named
// values at the start of the payload (version 4), which together may take limit
// bytes. It returns how many they took.
func (r *Reader) skipSideData(limit int64) (int64, error) {
	src := r.src
	src.n = 0
	for range 2 {
		// Each entry takes at least two bytes, so the bytes bound the count.
		count, err := src.vMax(uint64(limit)/2, "the number of side data")
		if err != nil {
			return 0, err
		}
		for range count {
			if err := r.skipSideDatum(limit); err != nil {
				return 0, err
			}
		}
	}
	if src.n > limit {
		return 0, damaged("side data is longer than its frame")
	}
	return src.n, nil
}

func (r *Reader) skipSideDatum(limit int64) error {
	if err := r.skipText(limit); err != nil { // name
		return err
	}
	kind, err := r.src.s()
	if err != nil {
		return err
	}
	switch {
	case kind == -1: // text
		return r.skipText(limit)
	case kind == -2: // a type's name, then bytes of it
		if err := r.skipText(limit); err != nil {
			return err
		}
		return r.skipText(limit)
	case kind <= -3: // a number or a time, of a ratio its numerator
		_, err = r.src.v()
		return err
	}
	return nil // the kind was the value
}

func (r *Reader) skipText(limit int64) error {
	n, err := r.src.vMax(uint64(max(limit-r.src.n, 0)), "the length of side data")
	if err != nil {
		return err
	}
	return r.src.skip(int64(n))
}
