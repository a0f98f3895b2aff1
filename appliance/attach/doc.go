// Package attach hands shared memory to processes that the appliance did not start: a
// detector of somebody else's gets the ring of its model, a reader the output ring, both
// with the frame rings of their cameras. The protocol is in shm/ABI.md.
//
//	wire.go              what is said: hello, answer, events
//	server.go            the listening socket, bounds on who may wait there
//	tell.go              what clients are told later; the end
//	conn.go              one connection, from its hello to its end
//	admit.go             who may have what, and what to tell who may not
//	desk.go              one (model, replica): who is attached, as the path sees it
//	say.go               the log, which strangers must not be able to fill
//
// The socket is open to every user, for a foreign detector has a user of its own. Whom
// the kernel says the peer is (SO_PEERCRED) decides, not the mode of a file.
//
// The path never waits here: it reads one atomic word per desk and stores one per camera.
// A client that does not read, does not speak or sends too much costs itself its
// connection, nothing else.
package attach
