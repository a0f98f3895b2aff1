// Package machine knows what a benchmark ran on: the environment record, the machine's
// own noise, and whether others used the processors meanwhile.
package machine
