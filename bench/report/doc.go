// Package report holds what a bench has measured: runs, rows with their bounds, one
// report as JSON or as a table, and the comparison of two.
package report
