package shm

// loadFence orders every earlier load before every later load and store (DMB ISHLD).
// Go's atomics do not: a load-acquire lets earlier loads pass it.
//
//go:noescape
func loadFence()

// storeFence orders every earlier store before every later store (DMB ISHST).
// A store-release lets later stores pass it.
//
//go:noescape
func storeFence()
