// Package client attaches a Go program to a running skewgate: a detector of your own as
// the writer of a detection ring, or a consumer as a reader of the output ring. Both see
// the cameras' pictures in place. The protocol and the memory are in shm/ABI.md; the
// libraries for C and Python do the same.
//
//	w, err := client.AttachWriter(client.Options{Client: "mine/1.0"}, "mine", 0)
//	gate, err := w.Stream("gate")
//	for {
//		f, ok, err := w.Newest(gate, now())          // the newest picture, in place
//		if !ok || f.Seq == seen { …sleep a little… }
//		boxes := look(f.Pixels)
//		if !w.Valid(gate, f.Seq) { continue }        // it was overwritten meanwhile
//		err = w.Boxes(client.MessageOf(gate, &f, now()), boxes)
//	}
//
// Package example_detector beside this one is a whole detector to begin with.
//
// It starts no goroutine and reads no clock: now is CLOCK_MONOTONIC in nanoseconds and the
// caller's argument. A Writer or Reader belongs to one goroutine.
//
// When the appliance goes away, calls return ErrDetached and try, each when it is time, to
// attach again; nothing is ever published into memory that nobody reads. The call that
// finds the appliance back returns ErrReattached, once: what was made of a picture of the
// old memory must not be published into the new one.
package client
