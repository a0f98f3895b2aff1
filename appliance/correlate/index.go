package correlate

import (
	"hash/maphash"
	"math/bits"

	"github.com/skewgate/skewgate/appliance/cacheline"
)

// ref points at what a key stands for: an open group or a closed record. 0 is neither.
type ref uint32

const closedBit ref = 1 << 31

func openRef(id uint32) ref   { return ref(id + 1) }
func closedRef(id uint32) ref { return ref(id+1) | closedBit }

func (r ref) closed() bool { return r&closedBit != 0 }
func (r ref) id() uint32   { return uint32(r&^closedBit) - 1 }

// blockKeys keys that follow each other, as frame ids and buckets do, share a block: the next
// picture of a camera is mostly found in the cache line that the last one was found in.
const (
	blockShift = 3
	blockKeys  = 1 << blockShift
)

// block holds the refs of the keys of one stream and tag whose values differ only in their last
// bits, which say where. It is a cache line long and complete: no probe touches a group.
type block struct {
	stream StreamID
	values int64 // without the last bits
	hash   uint32
	tag    Tag
	n      uint8 // refs; 0 = the block is free
	_      [10]byte
	refs   [blockKeys]ref
}

// index finds the ref of a key: blocks under open addressing with linear probing, at most three
// quarters full, and deletion that moves followers back, so that it never degrades and never
// needs a rebuild. The seed differs from run to run, so nobody can choose capture times that
// collide; nothing visible depends on it.
type index struct {
	blocks []block // a power of two
	used   int     // blocks that hold a key
	n      int     // keys
	seed   [2]uint64
}

// newIndex has room for so many keys if each two share a block; it grows for those that do not.
func newIndex(keys int) index {
	seed := maphash.MakeSeed()
	return index{
		blocks: make([]block, 1<<bits.Len(uint(keys/4))),
		seed:   [2]uint64{maphash.Comparable(seed, 0), maphash.Comparable(seed, 1)},
	}
}

func (x *index) hash(k *Key) uint32 {
	hi, lo := bits.Mul64(bits.RotateLeft64(uint64(k.Stream), 32)^x.seed[0]^uint64(k.Tag)<<56, uint64(k.Value>>blockShift)^x.seed[1])
	h := hi ^ lo
	return uint32(h) ^ uint32(h>>32)
}

// holds reports whether a key is of the block, if it is in the index at all.
func (b *block) holds(k *Key) bool {
	return b.values == k.Value>>blockShift && b.stream == k.Stream && b.tag == k.Tag
}

// blockOf returns the block that a key is or would be in: its own, or a free one.
func (x *index) blockOf(k *Key, hash uint32) uint32 {
	mask := uint32(len(x.blocks) - 1)
	i := hash & mask
	for b := &x.blocks[i]; b.n != 0 && !b.holds(k); b = &x.blocks[i] {
		i = (i + 1) & mask
	}
	return i
}

func (k *Key) inBlock() int { return int(k.Value & (blockKeys - 1)) }

// find returns the ref of k, or 0.
func (x *index) find(k *Key) ref {
	return x.blocks[x.blockOf(k, x.hash(k))].refs[k.inBlock()]
}

// add enters a key that is not there yet.
func (x *index) add(k *Key, r ref) {
	hash := x.hash(k)
	b := &x.blocks[x.blockOf(k, hash)]
	if b.n == 0 {
		if x.used >= len(x.blocks)/4*3 {
			x.grow()
			b = &x.blocks[x.blockOf(k, hash)]
		}
		b.stream, b.values, b.hash, b.tag = k.Stream, k.Value>>blockShift, hash, k.Tag
		x.used++
	}
	b.refs[k.inBlock()] = r
	b.n++
	x.n++
	if k.inBlock() == blockKeys-1 {
		x.prefetchNext(k)
	}
}

// prefetchNext asks for the line of the block after a key's, which is the next to be looked for
// if keys follow each other.
func (x *index) prefetchNext(k *Key) {
	next := Key{k.Stream, k.Value + blockKeys, k.Tag}
	cacheline.Prefetch(&x.blocks[x.hash(&next)&uint32(len(x.blocks)-1)])
}

// replace lets a key that is there under old point at r.
func (x *index) replace(k *Key, old, r ref) {
	x.blocks[x.mustHold(k, old)].refs[k.inBlock()] = r
}

// remove takes out a key that is there under old.
func (x *index) remove(k *Key, old ref) {
	hole := x.mustHold(k, old)
	b := &x.blocks[hole]
	b.refs[k.inBlock()] = 0
	x.n--
	if b.n--; b.n != 0 {
		return
	}
	x.used--
	x.prefetchNext(k)
	mask := uint32(len(x.blocks) - 1)
	for i := (hole + 1) & mask; x.blocks[i].n != 0; i = (i + 1) & mask {
		// A block may move back into the hole unless its own first choice lies behind it.
		home := x.blocks[i].hash & mask
		if (i-home)&mask >= (i-hole)&mask {
			x.blocks[hole] = x.blocks[i]
			x.blocks[i] = block{}
			hole = i
		}
	}
}

// mustHold finds the block of an entry that is there.
func (x *index) mustHold(k *Key, r ref) uint32 {
	i := x.blockOf(k, x.hash(k))
	if x.blocks[i].refs[k.inBlock()] != r {
		panic("correlate: a key that must be in the index is not")
	}
	return i
}

// grow doubles the table. It happens while the tables warm up, never in steady state.
func (x *index) grow() {
	old := x.blocks
	x.blocks = make([]block, 2*len(old))
	mask := uint32(len(x.blocks) - 1)
	for j := range old {
		if old[j].n == 0 {
			continue
		}
		i := old[j].hash & mask
		for x.blocks[i].n != 0 {
			i = (i + 1) & mask
		}
		x.blocks[i] = old[j]
	}
}
