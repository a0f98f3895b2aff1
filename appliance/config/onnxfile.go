package config

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// checkONNX says whether r holds, plausibly, a whole ONNX model: the protobuf message
// ModelProto of onnx.proto3, walked one level deep, with a graph that has nodes and
// outputs. It finds a wrong, truncated or half-copied file at once and reads a few
// hundred bytes; whether the network runs is seen when it is loaded.
func checkONNX(r io.ReaderAt, size int64) error {
	var head [64]byte
	n, err := r.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return err
	}
	// What most often lies there in place of a model has a cure of its own.
	switch h := head[:n]; {
	case n == 0:
		return errors.New("the file is empty")
	case bytes.HasPrefix(h, []byte("version https://git-lfs")):
		return errors.New("this is a Git LFS pointer, not the model (git lfs pull fetches it)")
	case bytes.HasPrefix(h, []byte("PK\x03\x04")):
		return errors.New("this is a ZIP archive (a PyTorch file?), not an ONNX model")
	}
	model := walker{r: r, end: size}
	var version uint64
	var graph *walker
	for model.next() {
		switch {
		case model.field == 1 && model.wire == 0: // ir_version
			version = model.value
		case model.field == 7 && model.wire == 2: // graph
			graph = model.sub()
		}
	}
	switch {
	case model.err != nil:
		return fmt.Errorf("not a whole ONNX model: %w", model.err)
	case version == 0 || version > 100:
		return errors.New("not an ONNX model: it has no ir_version")
	case graph == nil:
		return errors.New("not an ONNX model: it has no graph")
	}
	nodes, outputs := 0, 0
	for graph.next() {
		switch graph.field {
		case 1: // node
			nodes++
		case 12: // output
			outputs++
		}
	}
	switch {
	case graph.err != nil:
		return fmt.Errorf("not a whole ONNX model: in its graph, %w", graph.err)
	case nodes == 0 || outputs == 0:
		return fmt.Errorf("a network with %d nodes and %d outputs", nodes, outputs)
	}
	return nil
}

// maxFields bounds the walk; networks have some thousand nodes and tensors.
const maxFields = 1 << 20

// walker goes over the fields of one protobuf message in r without reading their
// contents.
type walker struct {
	r       io.ReaderAt
	at, end int64

	field  uint64
	wire   byte
	value  uint64 // of a varint
	lo, hi int64  // of a length-delimited field's content
	fields int
	err    error
}

// next goes to the next field and sets field, wire and the field's value or place. It is
// false at the end and after an error.
func (w *walker) next() bool {
	if w.err != nil || w.at == w.end {
		return false
	}
	if w.fields++; w.fields > maxFields {
		w.err = fmt.Errorf("more than %d fields", maxFields)
		return false
	}
	start := w.at
	tag := w.varint()
	w.field, w.wire = tag>>3, byte(tag&7)
	switch w.wire {
	case 0:
		w.value = w.varint()
	case 1:
		w.skip(8)
	case 2:
		n := w.varint()
		w.lo = w.at
		w.skip(n)
		w.hi = w.at
	case 5:
		w.skip(4)
	default:
		w.fail("wire type %d", w.wire)
	}
	// Field numbers of ONNX are small; a large one is another format's bytes.
	if w.err == nil && (w.field == 0 || w.field > 1000) {
		w.fail("field %d", w.field)
	}
	if w.err != nil {
		w.err = fmt.Errorf("at byte %d: %w", start, w.err)
	}
	return w.err == nil
}

// sub walks the message that the current field holds.
func (w *walker) sub() *walker { return &walker{r: w.r, at: w.lo, end: w.hi} }

func (w *walker) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// skip steps over n bytes that must be there: this is what finds a truncated file.
func (w *walker) skip(n uint64) {
	if left := uint64(w.end - w.at); n > left {
		w.fail("a field of %d bytes where %d are left (a truncated file?)", n, left)
		return
	}
	w.at += int64(n)
}

func (w *walker) varint() uint64 {
	var buf [binary.MaxVarintLen64]byte
	n, err := w.r.ReadAt(buf[:min(int64(len(buf)), w.end-w.at)], w.at)
	if err != nil && err != io.EOF {
		w.fail("read: %w", err)
		return 0
	}
	// At most ten bytes; Uvarint refuses an eleventh and what does not fit 64 bits.
	v, used := binary.Uvarint(buf[:n])
	if used <= 0 {
		w.fail("a number that does not end")
		return 0
	}
	w.at += int64(used)
	return v
}
