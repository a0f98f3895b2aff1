package bench

import (
	"context"
	"embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed peers/*.c peers/*.h peers/*.py
var peerSources embed.FS

// Bounds of one call of the compiler, and of one that may have all of a program and its
// libraries to compile, on a machine that does other things too.
const (
	compileLimit = time.Minute
	buildLimit   = 10 * time.Minute
)

// compile builds peers/NAME.c with gcc -O2, once, and returns the program's path. Go
// code is compared with C as its users compile it: for the processor family, not for
// this very processor.
func (h *Harness) compile(ctx context.Context, name string, flags ...string) (string, error) {
	if path := h.built[name]; path != "" {
		return path, nil
	}
	ctx, cancel := context.WithTimeout(ctx, compileLimit)
	defer cancel()
	program := filepath.Join(h.dir, name)
	args := []string{"-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, filepath.Join(h.dir, "peers", name+".c")}
	out, err := exec.CommandContext(ctx, "gcc", append(args, flags...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("compile peer %s (needs gcc): %w\n%s", name, err, strings.TrimSpace(string(out)))
	}
	h.built[name] = program
	return program, nil
}
