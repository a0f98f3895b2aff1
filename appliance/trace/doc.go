// Package trace records what goes into the correlator, so that a run can be looked at again.
//
// A trace is text in the form that `skewgate replay` reads: a line with the settings, then an
// event a line in the order in which the correlator saw them, each with the instant that
// counted. It holds headers only: who said something, when, and of which picture; never a
// picture or a box. With the settings and the events the correlator's decisions follow, so a
// trace replays to the same groups at the same instants and to the same counters.
//
//	{"config":{"quantum_ms":25,…},"trace":{"schema":1,"id":"5f0c…","part":1,"start":"empty",…}}
//	{"now_ms":81234.000112,"msg":{"unit":"u","camera":"gate","model":"a","timestamp":170…,"epoch":1,"frame_id":"7"}}
//	{"now_ms":81534.000112,"tick":true}
//	{"now_ms":81600,"tick":true,"trace":{"end":{"events":2,"lost":0,"counters":{…}}}}
//
// Beside the events of the replay contract there are, each for one call of the correlator,
//
//	"slept":true                                            the machine slept: all open groups are stale
//	"refused":"why"                                         a message that was not taken, counted as such
//	"set_expected":{"unit":…,"camera":…,"models":[…]}       for one camera
//	"msg":{…,"raw_hex":"…"}                                 in place of timestamp: an unreadable text that is
//	                                                        not UTF-8, or that a reader of ns could read
//
// and, under "trace", what a header says of the recording, how many events are missing before
// one, and how it ends. A reader that knows only the contract counts those events as refused and
// passes over what stands under "trace".
//
// # From the path to the file
//
// The path's thread puts each event into a Recorder, which is a bounded queue: it copies and
// never waits. Another goroutine drains it into lines. What finds the queue full is lost; the
// next event that fits carries how many were, the trace says so at that place and again at its
// end, and whoever reads it knows that it is incomplete.
//
// Ticks are most of what the correlator hears and almost none of them does anything. Only
// those are recorded that close a group or that a later event would have to know of.
//
// # Parts
//
// A long trace is cut into parts of a bounded size. Each part begins with the settings and with
// what an earlier part has left behind (which models are dead, who is expected), so it replays
// by itself; parts in a row replay as one.
package trace
