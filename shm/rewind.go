package shm

// Rewind steps back n messages, as far as the ring still holds them; call it before the
// first Next. What is gone by then is neither read nor lost. The slot that the writer
// takes next is left out: it may be overwritten at any moment.
func (r *Reader) Rewind(n uint64) {
	back := min(n, r.head, r.mask)
	r.start, r.next = r.head-back, r.head-back+1
}
