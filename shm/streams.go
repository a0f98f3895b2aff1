package shm

import (
	"fmt"
	"sync/atomic"
)

// StreamInfo is one entry of a ring's stream table.
type StreamInfo struct {
	Unit, Camera string
	Epoch        uint32 // latest stream_epoch registered
	Hash         uint64 // of (unit, camera); EpochHash goes on over an epoch
}

// streamTable is the writer's side of the table.
type streamTable struct {
	b       []byte // of the entries
	countAt *atomic.Uint32
	count   uint32
	index   map[[2]string]uint32
	hashes  [MaxStreams]uint64 // for the probe
}

// openStreamTable takes over a predecessor's entries, so that indexes keep their meaning.
func openStreamTable(b []byte) (streamTable, error) {
	t := streamTable{b: b[tableAt : tableAt+MaxStreams*entryBytes], countAt: word32(b, offStreamCount), index: map[[2]string]uint32{}}
	t.count = t.countAt.Load()
	if t.count > MaxStreams {
		return t, quarantine(ReasonStreamTable, "%d streams, at most %d fit", t.count, MaxStreams)
	}
	for i := range t.count {
		info, err := readStream(t.b, i)
		if err != nil {
			return t, err
		}
		t.index[[2]string{info.Unit, info.Camera}] = i
		t.hashes[i] = info.Hash
	}
	return t, nil
}

func (t *streamTable) register(unit, camera string, epoch uint32) (uint32, error) {
	if i, ok := t.index[[2]string{unit, camera}]; ok {
		if at := word32(t.b, int(i)*entryBytes+entryEpoch); at.Load() != epoch { // a store that others see costs a barrier
			at.Store(epoch)
		}
		return i, nil
	}
	if err := checkName("unit", unit); err != nil {
		return 0, fmt.Errorf("register stream: %w", err)
	}
	if err := checkName("camera", camera); err != nil {
		return 0, fmt.Errorf("register stream: %w", err)
	}
	if t.count == MaxStreams {
		return 0, fmt.Errorf("register stream %s/%s: %w: all %d entries are taken", unit, camera, ErrStream, MaxStreams)
	}
	entry := t.b[int(t.count)*entryBytes:][:entryBytes]
	putName(entry, entryUnit, unit)
	putName(entry, entryCamera, camera)
	i := t.count
	t.hashes[i] = streamHash(unit, camera)
	le.PutUint64(entry[entryHash:], t.hashes[i])
	word32(entry, entryEpoch).Store(epoch)
	t.index[[2]string{unit, camera}] = i
	t.count++
	t.countAt.Store(t.count) // sync: stream. The entry is whole.
	return i, nil
}

// readStream checks entry i of a table that a peer may have written.
func readStream(table []byte, i uint32) (StreamInfo, error) {
	entry := table[int(i)*entryBytes:][:entryBytes]
	unit, err := readName(entry, entryUnit, "unit")
	if err != nil {
		return StreamInfo{}, err
	}
	camera, err := readName(entry, entryCamera, "camera")
	if err != nil {
		return StreamInfo{}, err
	}
	hash := le.Uint64(entry[entryHash:])
	if want := streamHash(unit, camera); hash != want {
		return StreamInfo{}, quarantine(ReasonStreamTable, "stream %d is %s/%s with hash %#x, want %#x", i, unit, camera, hash, want)
	}
	return StreamInfo{Unit: unit, Camera: camera, Hash: hash, Epoch: word32(entry, entryEpoch).Load()}, nil
}
