package config

import (
	"os"
	"path/filepath"
)

// DefaultStateDir is where state lives when the config does not say: /var/lib/skewgate
// for root, else $XDG_STATE_HOME/skewgate (by default ~/.local/state/skewgate). It is
// "" when neither variable nor home is known.
func DefaultStateDir(uid int, lookupEnv func(string) (string, bool)) string {
	if uid == 0 {
		return "/var/lib/skewgate"
	}
	if dir, ok := lookupEnv("XDG_STATE_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "skewgate")
	}
	if home, ok := lookupEnv("HOME"); ok && filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "skewgate")
	}
	return ""
}

// SocketsDir is where control.sock lies: /run/skewgate for root, else
// $XDG_RUNTIME_DIR/skewgate. It is "" when that variable is not set.
func SocketsDir(uid int, lookupEnv func(string) (string, bool)) string {
	if uid == 0 {
		return "/run/skewgate"
	}
	if dir, ok := lookupEnv("XDG_RUNTIME_DIR"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "skewgate")
	}
	return ""
}

// libraryEnv names a build of ONNX Runtime to use where the config names none.
const libraryEnv = "SKEWGATE_ONNXRUNTIME"

// FindLibrary returns the ONNX Runtime library that detectors load, and the places that
// were looked at. It is "" when none of them has it. exe is the running program's path.
func (r *Runtime) FindLibrary(exe string, lookupEnv func(string) (string, bool)) (path string, tried []string) {
	const name = "libonnxruntime.so.1"
	if r.Library != "" {
		return firstFile([]string{r.Library})
	}
	if path, ok := lookupEnv(libraryEnv); ok && path != "" {
		return firstFile([]string{path})
	}
	dir := filepath.Dir(exe)
	return firstFile([]string{
		filepath.Join(dir, name),
		filepath.Join(dir, "..", "lib", name),
		filepath.Join(dir, "..", "lib", "skewgate", name),
		filepath.Join(dir, "..", ".cache", "onnxruntime", "1.27.0", name), // a checkout: bin/skewgate
		"/usr/local/lib/" + name,
		"/usr/lib/" + name,
	})
}

// FindDetect returns the skewgate-detect that runs models: the config's, else the one
// beside the running program, whose path is exe.
func (r *Runtime) FindDetect(exe string) (path string, tried []string) {
	if r.Detect != "" {
		return firstFile([]string{r.Detect})
	}
	return firstFile([]string{filepath.Join(filepath.Dir(exe), "skewgate-detect")})
}

func firstFile(candidates []string) (string, []string) {
	for i, path := range candidates {
		candidates[i] = filepath.Clean(path)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return candidates[i], candidates[:i+1]
		}
	}
	return "", candidates
}
