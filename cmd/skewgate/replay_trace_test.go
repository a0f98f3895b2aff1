package main

import "io"

// replayAll replays in to out as the verb does.
func replayAll(in io.Reader, out, complain io.Writer) error {
	return newReplay(out).print(in, complain)
}
