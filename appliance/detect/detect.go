// Package detect holds the words every part of the path shares: a box, a message
// of one detector about one frame, and how timestamps and JSON bodies are read.
// It is a leaf: it knows nothing of memory, processes or clocks.
package detect

// RawInstant as a capture time says that the source's timestamp could not be read;
// the message is then keyed by its raw text. It is the smallest int64.
const RawInstant = -1 << 63

// Box is one detection in fractions of the full frame: 0 ≤ X1 ≤ X2 ≤ 1, 0 ≤ Y1 ≤ Y2 ≤ 1,
// Score in 0…1, Label the model's own class number. It mirrors the packed 24 byte
// form of the rings field by field (little-endian).
type Box struct {
	X1, Y1, X2, Y2 float32
	Score          float32
	Label          uint32
}

// BoxBytes is the size of a packed Box.
const BoxBytes = 24
