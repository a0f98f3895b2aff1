package correlate

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skewgate/skewgate/appliance/cacheline"
)

// The skip list against a sorted slice: same order, same ties, any node taken out at any time.
func TestOrderAgainstSlice(t *testing.T) {
	type entry struct {
		key  int64
		ref  uint32
		node uint32
	}
	rapid.Check(t, func(t *rapid.T) {
		o := newOrder()
		lists := [2]uint32{o.newList(), o.newList()}
		var plain [2][]entry
		for i := range rapid.IntRange(0, 200).Draw(t, "steps") {
			l := rapid.IntRange(0, 1).Draw(t, "list")
			if n := len(plain[l]); n > 0 && rapid.IntRange(0, 2).Draw(t, "take out") == 0 {
				at := rapid.IntRange(0, n-1).Draw(t, "which")
				o.remove(plain[l][at].node)
				plain[l] = slices.Delete(plain[l], at, at+1)
			} else {
				e := entry{key: rapid.Int64Range(-5, 30).Draw(t, "key"), ref: uint32(i)}
				e.node = o.insert(lists[l], e.key, e.ref)
				at, _ := slices.BinarySearchFunc(plain[l], e.key+1, func(e entry, key int64) int { return int(e.key - key) })
				plain[l] = slices.Insert(plain[l], at, e)
			}
			from := rapid.Int64Range(-6, 31).Draw(t, "from")
			for l := range plain {
				var want, got []uint32
				for _, e := range plain[l] {
					if e.key >= from {
						want = append(want, e.ref)
					}
				}
				for n := o.from(lists[l], from); n != lists[l]; n = o.nodes[n].next[0] {
					got = append(got, o.nodes[n].ref)
				}
				if !slices.Equal(want, got) {
					t.Fatalf("list %d from %d: %v, want %v", l, from, got, want)
				}
			}
		}
	})
}

// Nodes are reused: a million groups of three at a time need no more than a handful.
func TestOrderReusesNodes(t *testing.T) {
	o := newOrder()
	list := o.newList()
	var live []uint32
	for i := range int64(100_000) {
		live = append(live, o.insert(list, i%7, 0))
		if len(live) > 3 {
			o.remove(live[0])
			live = live[1:]
		}
	}
	if len(o.nodes) > 8 {
		t.Errorf("%d nodes for 3 entries", len(o.nodes))
	}
}

// The index against a map, in a table so small that probes wrap and followers move.
func TestIndexAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newIndex(4)
		plain := map[Key]ref{}
		next := uint32(0)
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			k := Key{Stream: StreamID(rapid.Uint64Range(1, 2).Draw(t, "stream") << 32), Value: rapid.Int64Range(-20, 40).Draw(t, "value"), Tag: TagBucket}
			have, ok := plain[k]
			switch {
			case !ok:
				r := openRef(next)
				next++
				x.add(&k, r)
				plain[k] = r
			case rapid.Bool().Draw(t, "close"):
				r := closedRef(next)
				next++
				x.replace(&k, have, r)
				plain[k] = r
			default:
				x.remove(&k, have)
				delete(plain, k)
			}
			for stream := uint64(1); stream <= 2; stream++ {
				for value := int64(-20); value <= 40; value++ {
					k := Key{Stream: StreamID(stream << 32), Value: value, Tag: TagBucket}
					if got, want := x.find(&k), plain[k]; got != want {
						t.Fatalf("%+v is found as %x, want %x", k, got, want)
					}
				}
			}
			if x.n != len(plain) {
				t.Fatalf("index counts %d keys, want %d", x.n, len(plain))
			}
		}
	})
}

// With frame ids and all modes of matching the key stays one small value: compared and copied at
// a glance, without anything behind a pointer.
func TestKeyIsOneSmallValue(t *testing.T) {
	key := reflect.TypeFor[Key]()
	if size := key.Size(); size > 24 {
		t.Errorf("a key has %d bytes, want at most 24", size)
	}
	for i := range key.NumField() {
		switch f := key.Field(i); f.Type.Kind() {
		case reflect.Uint64, reflect.Int64, reflect.Uint8:
		default:
			t.Errorf("%s is a %s: a text or a pointer in a key costs each message; number it, as Texts does", f.Name, f.Type)
		}
	}
}

// A probe costs one cache line, and keys that follow each other share it.
func TestIndexBlocks(t *testing.T) {
	if n := reflect.TypeFor[block]().Size(); n != cacheline.Bytes {
		t.Errorf("a block has %d bytes, want a line of %d", n, cacheline.Bytes)
	}
	x := newIndex(1)
	const keys = 1000
	for i := range keys {
		x.add(&Key{Stream: 1, Value: int64(i), Tag: TagID}, openRef(uint32(i)))
	}
	if x.used != keys/blockKeys {
		t.Errorf("%d keys in a row take %d blocks", keys, x.used)
	}
	// Both ends of the range, and the same values under another tag and of another stream.
	odd := []Key{{1, math.MaxInt64, TagBucket}, {1, math.MinInt64, TagBucket}, {1, 7, TagBucket}, {2, 7, TagID}, {1, -1, TagID}}
	for i := range odd {
		x.add(&odd[i], closedRef(uint32(i)))
	}
	for i := range keys {
		k := Key{Stream: 1, Value: int64(i), Tag: TagID}
		if got := x.find(&k); got != openRef(uint32(i)) {
			t.Fatalf("key %d is found as %x", i, got)
		}
		x.remove(&k, openRef(uint32(i)))
	}
	for i := range odd {
		if got := x.find(&odd[i]); got != closedRef(uint32(i)) {
			t.Errorf("%+v is found as %x", odd[i], got)
		}
		x.remove(&odd[i], closedRef(uint32(i)))
	}
	if x.n != 0 || x.used != 0 {
		t.Errorf("%d keys in %d blocks are left", x.n, x.used)
	}
	for i := range x.blocks {
		if x.blocks[i] != (block{}) && x.blocks[i].refs != ([blockKeys]ref{}) {
			t.Fatalf("block %d still has refs", i)
		}
	}
}

func TestTexts(t *testing.T) {
	tx := NewTexts(2)
	a, b := tx.Add([]byte("a")), tx.Add([]byte("b"))
	tx.Use(a)
	tx.Use(a)
	if !tx.Full() || tx.Add([]byte("a")) != a || tx.Lookup([]byte("b")) != b || tx.Text(b) != "b" {
		t.Fatalf("a=%d b=%d full=%t", a, b, tx.Full())
	}
	tx.Use(b)
	tx.Release(b)
	tx.Release(a)
	if tx.Lookup([]byte("b")) != 0 {
		t.Error("kept a text that nobody uses")
	}
	if tx.Lookup([]byte("a")) != a {
		t.Error("forgot a text with one use left")
	}
	tx.Release(a)
	if tx.Len() != 0 || tx.Text(a) != "" || tx.Text(99) != "" {
		t.Errorf("%d texts left", tx.Len())
	}
	if c := tx.Add([]byte("c")); tx.Text(c) != "c" {
		t.Errorf("reused number reads %q", tx.Text(c))
	}
}
