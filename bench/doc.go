// Package bench measures the rings against what people would use in their place, on the
// machine at hand and in the same run.
//
// A scenario (scenario_*.go) starts real processes: this program again with a role
// (role_*.go), and C programs from peers/, compiled when they are needed. It repeats
// what it compares in turn, so that a machine that slows down slows both; it notes for
// each repetition who else used the processors; and its rows say what the figure is held
// to. Histogram logs and the environment record lie beside the results.
package bench
