package sink

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// target is a path of the config: a file to rotate or, if that is what lies there, a
// FIFO or device. What it is can change while it fails, so it is looked at each time it
// is opened.
type target struct {
	path     string
	maxSize  int64
	keep     int
	counters *counters
	now      output // nil = not open
}

func (t *target) open() error {
	if t.now != nil {
		return nil
	}
	info, err := os.Stat(t.path)
	var out output
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("open %s: it is a folder", t.path)
	case err == nil && !info.Mode().IsRegular():
		out = &stream{path: t.path, fd: -1, counters: t.counters}
	case err == nil:
		out = &file{path: t.path, maxSize: t.maxSize, keep: t.keep, counters: t.counters, fd: -1}
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(t.path), 0o755); err != nil {
			return fmt.Errorf("make the folder of %s: %w", t.path, err)
		}
		out = &file{path: t.path, maxSize: t.maxSize, keep: t.keep, counters: t.counters, fd: -1}
	default:
		return fmt.Errorf("open %s: %w", t.path, err)
	}
	if err := out.open(); err != nil {
		return err
	}
	t.now = out
	return nil
}

// write opens what is not open. A file that others have moved is followed within the
// same call: nothing is lost to a logrotate.
func (t *target) write(line []byte) error {
	if err := t.open(); err != nil {
		return err
	}
	err := t.now.write(line)
	if errors.Is(err, errGone) {
		t.close()
		if err = t.open(); err == nil {
			err = t.now.write(line)
		}
	}
	return err
}

func (t *target) close() {
	if t.now != nil {
		t.now.close()
		t.now = nil
	}
}

// errGone is returned by an output that has to be opened anew.
var errGone = errors.New("the file is no longer at its path")

// writeOnce is one write(2), repeated only when a signal came in between. Not through
// os.File: for descriptor 1 that turns a closed pipe into the end of the process.
func writeOnce(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Write(fd, b)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// openRetry opens without waiting: O_NONBLOCK matters for a FIFO without a reader, which
// is an error (ENXIO) then, and means nothing for a plain file.
func openRetry(path string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
