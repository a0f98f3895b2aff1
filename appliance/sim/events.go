package sim

import "container/heap"

// event is something that happens at an instant. Those of one instant happen in the order in
// which they were planned.
type event struct {
	at  int64
	seq int
	do  func()
}

// agenda is what is yet to happen.
type agenda struct {
	now    int64
	seq    int
	events eventHeap
}

// at plans do for an instant, or for now if that is over.
func (a *agenda) at(ns int64, do func()) {
	a.seq++
	heap.Push(&a.events, event{max(ns, a.now), a.seq, do})
}

func (a *agenda) after(ns int64, do func()) { a.at(a.now+ns, do) }

// run lets everything up to an instant happen, and moves the clock there.
func (a *agenda) run(until int64) {
	for len(a.events) > 0 && a.events[0].at <= until {
		e := heap.Pop(&a.events).(event)
		a.now = e.at
		e.do()
	}
	a.now = until
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
