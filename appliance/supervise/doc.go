// Package supervise runs the appliance's children, each its own process, and
// knows at any time why a task is in the state it is in.
//
// The parent side is [Supervisor]: one owner goroutine a task (and three beside it that
// only wait for what the kernel tells: death, output, reports) drives the state machine
// below; the machine itself (machine.go) is a pure function of events
// and of the instant given with them, so a test owns its time.
//
//	stopped ─► starting ─► [building] ─► [warming] ─► ready ─► draining ─► stopping
//	   ▲          │             │            │          │                     │
//	   │          └─────────────┴─ it ended ─┴──────────┴──► exited ◄─────────┤
//	   │                                                       │              ▼
//	   └──────────────── stop ───────────── backoff ◄──────────┤         kill_pending
//	                                                failed ◄───┘
//
// A task that is asked to stop before it is ready goes to stopping at once.
//
// The child side is [Attach]: the job comes as the first packet of the control
// socket, the files as inherited descriptors.
//
// # What a child inherits
//
//	fd 0     /dev/null
//	fd 1, 2  one pipe to the supervisor, read line by line
//	fd 3     control: Unix SOCK_SEQPACKET, one JSON document a packet, at most 64 KiB
//	fd 4…    the files of the [Spec], in its order, named in the first packet
//
// and nothing else. Its environment is a short list taken from the parent (see
// [Spec]) plus what the Spec names.
//
// # How a child ends with its parent
//
// Children are started from one locked thread with PDEATHSIG=SIGKILL, and that
// thread lives as long as the supervisor, so the kernel ends them with it, however it
// ends. A child that loses its control socket in any other way ends itself and its
// process group.
//
// What a child starts is in the child's process group, which is killed when the child
// ends, for whatever reason, while the supervisor lives. The supervisor's own sudden
// death the group does not survive only if each of its processes asked for PDEATHSIG
// too, from a thread that lives as long as the child: [Thread] does that. So a child
// starts its helpers through a Thread or with a PDEATHSIG of its own; a descendant that
// does neither, or that leaves the group while the supervisor lives, is out of reach.
//
// This is fault isolation, not a sandbox: a child runs with the rights of its
// parent, except that it can gain no new ones (no_new_privs).
package supervise
