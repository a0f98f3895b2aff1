package shm

// prefetch asks for five cache lines from b on, a slot's header and the body of a message of
// eight boxes, so that they come from the writer's core side by side and not one after the
// other. It is a hint: it orders nothing, it can fault on nothing, and what it fetched is
// read like anything else.
//
//go:noescape
func prefetch(b *byte)
