package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A signal as early as can be: as soon as anything of the appliance is there to be seen. It
// ends in order and leaves no socket.
func TestSignalDuringStart(t *testing.T) {
	b := newBox(t, strings.Replace(onlyForeign, "WAIT", "adaptive", 1))
	for _, seen := range []string{"state/lock", "run/attach.sock", "run/control.sock"} {
		if err := os.RemoveAll(b.path("state")); err != nil {
			t.Fatal(err)
		}
		b.start()
		for begun := time.Now(); ; {
			if _, err := os.Stat(b.path(seen)); err == nil {
				break
			} else if !errors.Is(err, fs.ErrNotExist) || time.Since(begun) > 20*time.Second {
				t.Fatal(err)
			}
		}
		if err := b.cmd.Process.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := b.wait(15 * time.Second); code != 0 {
			t.Errorf("SIGTERM as soon as %s is there: exit code %d, want 0", seen, code)
		}
		if left := listing(t, b.path("run")); len(left) != 0 {
			t.Errorf("SIGTERM as soon as %s is there leaves %v", seen, left)
		}
	}
}
