package correlate

import "math/rand/v2"

// orderLevels bounds the height of a node; with one node in four rising a level, 10 serve a
// million nodes.
const orderLevels = 10

// order keeps many small lists sorted by an int64, in one pool of nodes. Lists are skip lists
// doubly linked on every level and circular through their head, so that what arrives in order
// is appended, and any node taken out, without a search; only out-of-order arrivals search, in
// logarithmic time. A capture clock that jumps about therefore costs a little, never a scan.
type order struct {
	nodes []orderNode // nodes[0] is unused: 0 = no node
	free  uint32      // chained through next[0]
	rng   rand.PCG
}

type orderNode struct {
	key    int64
	ref    uint32 // the owner's; of a head nothing
	height uint8
	next   [orderLevels]uint32
	prev   [orderLevels]uint32
}

func newOrder() order { return order{nodes: make([]orderNode, 1, 64), rng: *rand.NewPCG(1, 2)} }

func (o *order) alloc() uint32 {
	n := o.free
	if n != 0 {
		o.free = o.nodes[n].next[0]
		return n
	}
	o.nodes = append(o.nodes, orderNode{})
	return uint32(len(o.nodes) - 1)
}

// newList returns the head of an empty list.
func (o *order) newList() uint32 {
	n := o.alloc()
	head := &o.nodes[n]
	head.height = orderLevels
	for l := range orderLevels {
		head.next[l], head.prev[l] = n, n
	}
	return n
}

// insert adds a node after all nodes with a key at or below key and returns it.
func (o *order) insert(list uint32, key int64, ref uint32) uint32 {
	n := o.alloc()
	height := o.height()
	node := &o.nodes[n]
	node.key, node.ref, node.height = key, ref, height
	if last := o.nodes[list].prev[0]; last == list || o.nodes[last].key <= key {
		for l := range height {
			o.link(o.nodes[list].prev[l], n, l)
		}
		return n
	}
	at := list
	for l := uint8(orderLevels); l > 0; l-- {
		for next := o.nodes[at].next[l-1]; next != list && o.nodes[next].key <= key; next = o.nodes[at].next[l-1] {
			at = next
		}
		if l <= height {
			o.link(at, n, l-1)
		}
	}
	return n
}

// link puts n behind prev on one level.
func (o *order) link(prev, n uint32, level uint8) {
	next := o.nodes[prev].next[level]
	o.nodes[n].prev[level], o.nodes[n].next[level] = prev, next
	o.nodes[prev].next[level], o.nodes[next].prev[level] = n, n
}

// height draws 1 + the number of pairs of zero bits that a random word ends with.
func (o *order) height() uint8 {
	h := uint8(1)
	for r := o.rng.Uint64(); r&3 == 0 && h < orderLevels; r >>= 2 {
		h++
	}
	return h
}

// remove takes a node, or the head of an empty list, out and frees it.
func (o *order) remove(n uint32) {
	node := &o.nodes[n]
	for l := range node.height {
		o.nodes[node.prev[l]].next[l] = node.next[l]
		o.nodes[node.next[l]].prev[l] = node.prev[l]
	}
	node.next[0], o.free = o.free, n
}

// from returns the first node of the list with a key at or above key, or the list's head.
func (o *order) from(list uint32, key int64) uint32 {
	at := list
	for l := orderLevels; l > 0; l-- {
		for next := o.nodes[at].next[l-1]; next != list && o.nodes[next].key < key; next = o.nodes[at].next[l-1] {
			at = next
		}
	}
	return o.nodes[at].next[0]
}
