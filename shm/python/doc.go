// Package python holds no Go: it is the folder of the Python binding (see README.md), and
// its tests run the binding's own, then play the other side with the Go packages.
package python
