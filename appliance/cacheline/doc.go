// Package cacheline lets a table say what it will touch next. Tables of many megabytes that are
// walked one place at a time, by many cameras in turn, are cold each time: the wait for memory
// is then most of what a message costs. A prefetch is a hint. It orders nothing, faults on
// nothing and changes nothing but when a line comes.
package cacheline

// Bytes is what one prefetch brings at the least; an address in it will do.
const Bytes = 64
