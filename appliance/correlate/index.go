package correlate

import (
	"hash/maphash"
	"math/bits"
)

// ref points at what a key stands for: an open group or a closed record. 0 is neither.
type ref uint32

const closedBit ref = 1 << 31

func openRef(id uint32) ref   { return ref(id + 1) }
func closedRef(id uint32) ref { return ref(id+1) | closedBit }

func (r ref) closed() bool { return r&closedBit != 0 }
func (r ref) id() uint32   { return uint32(r&^closedBit) - 1 }

// index finds the ref of a key: open addressing with linear probing, at most three quarters full, and
// deletion that moves followers back, so that it never degrades and never needs a rebuild.
// A slot keeps 32 bits of the hash: a probe touches a group only if it most likely is the one.
// The seed differs from run to run, so nobody can choose capture times that collide; nothing
// visible depends on it.
type index struct {
	slots []uint64 // hash in the upper half, ref in the lower; 0 = free
	n     int
	seed  [2]uint64
	keyOf func(ref) *Key
}

func newIndex(entries int, keyOf func(ref) *Key) index {
	seed := maphash.MakeSeed()
	return index{
		slots: make([]uint64, 1<<bits.Len(uint(entries+entries/3))),
		seed:  [2]uint64{maphash.Comparable(seed, 0), maphash.Comparable(seed, 1)},
		keyOf: keyOf,
	}
}

func (x *index) hash(k *Key) uint32 {
	hi, lo := bits.Mul64(bits.RotateLeft64(uint64(k.Stream), 32)^x.seed[0]^uint64(k.Tag)<<56, uint64(k.Value)^x.seed[1])
	h := hi ^ lo
	return uint32(h) ^ uint32(h>>32)
}

// find returns the ref of k, or 0.
func (x *index) find(k *Key) ref {
	h := x.hash(k)
	mask := uint32(len(x.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := x.slots[i]
		if s == 0 {
			return 0
		}
		if uint32(s>>32) == h && *x.keyOf(ref(s)) == *k {
			return ref(s)
		}
	}
}

// add enters a key that is not there yet.
func (x *index) add(k *Key, r ref) {
	if x.n >= len(x.slots)/4*3 {
		x.grow()
	}
	x.place(uint64(x.hash(k))<<32 | uint64(r))
	x.n++
}

func (x *index) place(s uint64) {
	mask := uint32(len(x.slots) - 1)
	i := uint32(s>>32) & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}

// replace lets a key that is there under old point at r.
func (x *index) replace(k *Key, old, r ref) {
	i := x.slotOf(k, old)
	x.slots[i] = x.slots[i]&^0xffffffff | uint64(r)
}

// remove takes out a key that is there under old.
func (x *index) remove(k *Key, old ref) {
	mask := uint32(len(x.slots) - 1)
	hole := x.slotOf(k, old)
	for i := (hole + 1) & mask; x.slots[i] != 0; i = (i + 1) & mask {
		// An entry may move back into the hole unless its own first choice lies behind it.
		home := uint32(x.slots[i]>>32) & mask
		if (i-home)&mask >= (i-hole)&mask {
			x.slots[hole] = x.slots[i]
			hole = i
		}
	}
	x.slots[hole] = 0
	x.n--
}

// slotOf finds an entry by its ref, which needs no look at the key it stands for.
func (x *index) slotOf(k *Key, r ref) uint32 {
	mask := uint32(len(x.slots) - 1)
	h := x.hash(k)
	want := uint64(h)<<32 | uint64(r)
	i := h & mask
	for x.slots[i] != want {
		if x.slots[i] == 0 {
			panic("correlate: a key that must be in the index is not")
		}
		i = (i + 1) & mask
	}
	return i
}

// grow doubles the table. It happens while the tables warm up, never in steady state.
func (x *index) grow() {
	old := x.slots
	x.slots = make([]uint64, 2*len(old))
	for _, s := range old {
		if s != 0 {
			x.place(s)
		}
	}
}
