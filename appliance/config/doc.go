// Package config reads the one YAML file that says what an appliance runs.
//
// Reading is strict: an unknown or duplicate key, a wrong type, a value out of its
// bounds or a file that is not there is an error with file, line, column, key and
// cure, and all errors are told at once. What a later version brings is refused by
// name, never silently accepted.
//
//	load.go          file → Config and Problems
//	read.go yaml.go  bytes → bounded syntax tree        decode.go scalar.go env.go  tree → structs
//	defaults.go      what an absent key means           check*.go lint.go           what fits together
//	manifest.go onnxfile.go                             the files a model names
//
// No text of this package shows the value of an environment variable or the password
// of a source: problems quote the file's own text, masked.
package config
