// Package advise says what another timeout or another quantum would have made of a recording.
//
// It is arithmetic over what was recorded and needs no second run, because closing a frame has
// no influence on when messages arrive. Two questions are answered, each exactly.
//
// # Timeout
//
// Let a frame go on until it closes by itself, all living models being in it or past it: that
// took it its lag, from its first arrival. With the timeout x it closes by itself if lag < x
// (a message at the deadline is late) and waits for x otherwise, so over all frames that wait
// for more than one model
//
//	yield(x) = share with lag < x
//	wait(x)  = mean of lag if lag < x, else x
//
// A frame for which a living model never sent anything has no lag and waits for x whatever x is.
// It counts: leaving it out would make every timeout look better than it is. Frames that begin
// less than the horizon before the recording's end are left out, for nobody knows their lag.
//
// Matching by window is the exception: whether a frame is closed decides ties between two that
// are as near, so there the figures are near and not exact.
//
// # Quantum
//
// A bucket joins by capture time alone, so what it can do wrong shows if one knows which messages
// are of one picture: by their frame ids or, without, by an estimate (Pictures). For buckets
// of width q
//
//	split(q)     = share of the pictures of two or more models that lie in more than one bucket
//	collision(q) = share of the messages that find another picture of their model in the bucket
//	mix(q)       = share of the buckets of two or more models that hold several pictures
//
// All three depend on where the edges of buckets happen to fall between pictures. A recording
// shows one such phase; clocks drift through all of them. So two more figures are given that
// hold for every phase: the mean share split, min(1, spread/q) of each picture, and the widest
// quantum that can never join two pictures, the smallest distance between two of them.
package advise
