// Package load makes open-loop load and keeps its latencies.
//
// A Schedule says when each message is to be sent, whatever became of the ones before.
// The Generator sends at those times, or as soon after as it can, and never moves or
// leaves out one. A latency is the time from the intended time to the receipt, so a
// stall of sender, memory or reader shows in every message that was due during it;
// measured from the time of sending it would show in one (coordinated omission).
package load
