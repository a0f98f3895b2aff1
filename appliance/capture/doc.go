// Package capture is the life of one camera's child process: it opens the source
// with ffmpeg, reads decoded pictures and publishes each in the camera's frame ring.
//
//	source ─► ffmpeg (child) ─► pipe, NUT ─► frame ring slot ─► publish
//
// Run is that loop. One pass is one start of the source: a connection to a camera, or
// one playing of a film. Each pass that delivers a picture raises the ring's
// stream_epoch, and frame ids count its decoded pictures from 1, so that of a film
// picture i (from 0) has frame id i+1 in every pass. A machine that slept while a film
// was played raises the stream_epoch, too; the film goes on where it stood.
//
// # Time
//
// A film (a path) has clock source file: wall time at its first picture plus PTS, each
// pass anchored anew. In pace fast that runs ahead of the wall, by design. A live
// source (a URL) has clock source arrival: wall time at its first picture plus the
// CLOCK_MONOTONIC time since, at which the picture's header came through the pipe; that
// is later than the exposure by network, decoder and up to a picture in ffmpeg. Wall
// time is read once a pass for that. Capture times rise strictly within an epoch: a PTS
// that repeats moves on by 1 ns, and one that falls or leaps by over 10 s counts as the
// film's last step; both are counted. When the wall clock is set by over half a second
// while a live source runs, or the machine slept, the pass ends and the next is anchored
// to the new time under a new stream_epoch (CORRELATION: an epoch ends when the source's
// clock is set); a film's own time needs no such thing but after a sleep, from where on
// it is anchored to the wall anew.
//
// # Pace
//
// realtime publishes a film by its PTS on an absolute schedule, so errors do not add
// up. A picture that is late goes out at once; is it later than 200 ms, the schedule is
// moved by that, which bounds a burst of catching up. fast publishes picture n of the
// ring only once the appliance allows n, and reads no further meanwhile. fps drops
// decoded pictures before they are published; they keep their frame ids.
//
// # Failure
//
// A source that is missing, ends, breaks or delivers no picture (20 s to the first, 10 s
// between two) is tried again by this process itself, after 0.5 s doubled up to 30 s, and
// back to 0.5 s after five good seconds. The parent is told: opening, streaming, retrying
// with the reason, ended, failed. Passwords are masked in all that is told or printed.
// ffmpeg gets its source as an argument, so on this machine a process listing shows
// the URL; other users are kept from it by mounting /proc with hidepid=2.
//
// ffmpeg stays in this process's group and has PDEATHSIG set, so it dies with it even
// by SIGKILL. It must be 5.1 or newer; 5.1.9 of Debian 12 is what is tested.
//
// # Concurrency
//
// One goroutine does everything, locked to its thread because PDEATHSIG watches the
// thread that forked. The only other one is os/exec's own, which copies ffmpeg's
// stderr into a bounded tail and ends with ffmpeg. The heartbeat is given every
// 100 ms or so, whatever is waited for.
package capture
