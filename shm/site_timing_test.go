package shm

import "testing"

// publishUnprobed is Publish without the look at the probe's semaphore, to tell what that
// costs when nobody observes.
func publishUnprobed(w *Writer, h *SlotHeader, body []byte) error {
	if len(body) > w.payload {
		return ErrTooLarge
	}
	if h.Stream >= w.streams.count || !h.Kind.valid() {
		return w.refuse(h)
	}
	sequence := w.head + 1
	off := int(sequence&w.mask) * w.stride
	slot := w.b[off : off+w.stride]
	word := word64(slot, slotSequence)
	storeRelease(word, 0)
	storeFence()
	h.put(slot, len(body))
	copy(slot[slotHeaderBytes:], body)
	storeRelease(word, sequence)
	w.head, h.Sequence, h.Length = sequence, sequence, uint32(len(body))
	if w.bell == nil {
		storeRelease(w.headAt, sequence)
	} else {
		w.headAt.Store(sequence)
	}
	if w.bell != nil {
		w.bell.Ring()
	}
	return nil
}

// The probe's site with nobody there: "without" is what Publish would take without it.
func BenchmarkSite(b *testing.B) {
	for name, publish := range map[string]func(*Writer, *SlotHeader, []byte) error{
		"with": (*Writer).Publish, "without": publishUnprobed,
	} {
		b.Run(name, func(b *testing.B) {
			w, _, _ := testRing(b, RingConfig{Slots: 1024, PayloadBytes: 256})
			h, body := SlotHeader{Kind: KindBoxes, FrameID: 2}, make([]byte, 256)
			for b.Loop() {
				if err := publish(w, &h, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
