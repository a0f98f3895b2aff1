package shm

// The probe's site: the place right behind the publishing store where an observer in
// the kernel sets its breakpoint. ABI.md draws it, probe_*.s spells it.

// probeSemaphore is raised from outside while somebody observes, by the kernel or
// through /proc. Go never writes it. probe_*.s defines it in the file's data.
var probeSemaphore uint16

// probeSite does nothing, with its arguments in the registers that ABI.md names.
//
//go:noescape
func probeSite(stream, model uint64, captureNS int64, frame uint64)

// probeBySequence says that a message has no frame id and is named by its sequence.
const probeBySequence = 1 << 56

// tell shows the message just published to whoever observes. The stream's hash over
// (unit, camera) is at hand; going on over the epoch costs four multiplications.
func (w *Writer) tell(h *SlotHeader) {
	stream := EpochHash(w.streams.hashes[h.Stream], h.StreamEpoch)
	model := w.probeModel | uint64(h.Kind)<<48
	frame := h.FrameID
	if frame == 0 {
		model |= probeBySequence
		frame = h.Sequence
	}
	probeSite(stream, model, h.CaptureNS, frame)
}
