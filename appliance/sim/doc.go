// Package sim plays worlds to the appliance: cameras, detectors, clocks and their troubles,
// drawn from a seed and run in a time of their own, so that thousands of days in the field pass
// in a minute and each can be lived again.
//
//	seed ─► Plan ─► World: cameras ─► frame rings ─┐
//	                       detectors ◄─ dispatch ◄─┤ the appliance (Plant)
//	                       detectors ─► their rings ┘──► groups ─► held against the Truth
//
// It is for tests alone. Two appliances are played to:
//
//   - here, TestSim: rings, dispatcher, correlator and fuser are the real ones, and a small path
//     calls them as the appliance's does. A judge follows every call and says by the rules of
//     correlation, written once more, what has to come of it. Thousands of seeds.
//   - in package appliance, TestSimPath: all of the appliance between the rings and the sinks.
//     Only what comes out is judged. Some seeds.
//
// A failure prints the seed and the line that runs it again:
//
//	go test ./appliance/sim -run TestSim -sim.seed=4711
//	go test ./appliance -run TestSimPath -sim.seed=4711
//
// # What happens
//
// Cameras of 29.97 and 30 pictures a second, in phase with the buckets, a nanosecond beside
// their edge, with clocks that drift or start at 0, jump back, repeat a time, deliver in bursts,
// restart. Detectors that are slow, sparse, silent, late, twice the same, not the same twice,
// misnamed, without ids, with times that cannot be read, that lie about when they published,
// die, hang and come back; with clocks of their own that drift, step and stand still.
// A path that stands still for 50 ms, or for seconds. Generations that take over, expected sets
// that change, a machine that sleeps.
//
// # What holds
//
// After every call: the identities; what the call returned; what was published, in what order,
// when, why and with whom missing, to the nanosecond. From time to time and at the end: every
// counter, the skew of all and of each model against the truth, and that no table is beyond its
// bound. At the end also:
//
//   - every message was read or lost, and what was read was stepped once; every picture offered
//     to a detector has its outcome;
//   - a message arrived when it was published, whenever the path read it;
//   - no frame mixes two pictures where the match promises so; where it does not, the capture
//     times in the frame show it. None is torn where the match promises that;
//   - where everybody answers or promises, no frame waited for its timeout, whoever died;
//   - a frame that was due was closed as soon as the path ran;
//   - the same seed gives the same output, bit by bit.
//
// TestFaultsAreFound breaks one thing after the other and wants each found by the first seeds.
package sim
