package config

import "regexp"

// laterKeys are keys of later versions. They are refused by name, so that a config
// written for a newer skewgate says so in place of "unknown key".
var laterKeys = map[string]string{
	"generation":   "models shipped as one signed generation",
	"sinks[].mqtt": "MQTT as a sink",
	"sinks[].nats": "NATS as a sink",
}

var listIndex = regexp.MustCompile(`\[\d+\]`)

// laterKey returns what a key path of a later version brings, or "".
func laterKey(path string) string { return laterKeys[listIndex.ReplaceAllString(path, "[]")] }
