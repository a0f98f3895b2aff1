package sink

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// file appends whole lines to a file that is set aside before it would grow past
// maxSize. It holds a lock on it, since two writers would cut each other's lines off.
// Nothing is synced to the disk line by line: after a loss of power the last seconds
// may be missing, and what is half there is repaired at the next start.
type file struct {
	path     string
	maxSize  int64
	keep     int
	counters *counters
	fd       int
	self     unix.Stat_t
	cutAt    int64 // where a half line begins that could not be cut off yet; -1 = none
}

// open makes the file if need be, readable by its group and by nobody else: it tells who
// was where. It reads, too, for the sake of a half line at the end.
func (f *file) open() error {
	fd, err := openRetry(f.path, unix.O_RDWR|unix.O_CREAT|unix.O_APPEND, 0o640)
	if err != nil {
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	f.fd, f.cutAt = fd, -1
	if err = f.adopt(); err != nil {
		f.close()
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	return nil
}

// adopt locks the file and ends a line that an earlier life has left half.
func (f *file) adopt() error {
	if err := unix.Fstat(f.fd, &f.self); err != nil {
		return err
	}
	if f.self.Mode&unix.S_IFMT != unix.S_IFREG {
		return errors.New("it is not a plain file any more")
	}
	if err := unix.Flock(f.fd, unix.LOCK_EX|unix.LOCK_NB); err == unix.EWOULDBLOCK {
		return errors.New("another process writes to it; give each its own path")
	} // other errors: a file system without locks
	size := f.self.Size
	tail := make([]byte, min(size, maxLineBytes))
	if n, err := unix.Pread(f.fd, tail, size-int64(len(tail))); err != nil {
		return err
	} else if n < len(tail) {
		return errors.New("it shrinks while it is opened")
	}
	if len(tail) == 0 || tail[len(tail)-1] == '\n' {
		return nil
	}
	f.counters.repaired.Add(1)
	half := tail[bytes.LastIndexByte(tail, '\n')+1:]
	if isOurs(half) {
		return unix.Ftruncate(f.fd, size-int64(len(half)))
	}
	// Somebody else's words: nothing of theirs is deleted.
	_, err := writeOnce(f.fd, []byte{'\n'})
	return err
}

// isOurs says whether half is the beginning of a line of ours.
func isOurs(half []byte) bool {
	const begin = `{"schema":`
	return strings.HasPrefix(string(half[:min(len(half), len(begin))]), begin) || strings.HasPrefix(begin, string(half))
}

// write appends a whole line, or leaves the file as it was and says why.
func (f *file) write(line []byte) error {
	// One stat answers two questions: is it still our file that lies at the path (or has
	// a logrotate or a hand moved it), and how large is it (somebody may have emptied it).
	var st unix.Stat_t
	if err := unix.Stat(f.path, &st); err == unix.ENOENT || err == nil && (st.Ino != f.self.Ino || st.Dev != f.self.Dev) {
		return errGone
	} else if err != nil {
		return fmt.Errorf("look at %s: %w", f.path, err)
	}
	size := st.Size
	if f.cutAt >= 0 {
		if f.cutAt < size {
			if err := unix.Ftruncate(f.fd, f.cutAt); err != nil {
				return fmt.Errorf("cut a half line off %s: %w", f.path, err)
			}
			size = f.cutAt
		}
		f.cutAt = -1
	}
	if int64(len(line)) > f.maxSize {
		return errTooLarge
	}
	if size > 0 && size+int64(len(line)) > f.maxSize {
		if err := f.rotate(); err != nil {
			return err
		}
		size = f.self.Size
	}
	for done := 0; done < len(line); {
		n, err := writeOnce(f.fd, line[done:])
		done += n
		if err == nil && n == 0 {
			err = unix.EIO // a file takes at least a byte or says why not
		}
		if err == nil {
			continue
		}
		if done > 0 { // a full disk takes a part of a line
			f.counters.repaired.Add(1)
			if unix.Ftruncate(f.fd, size) != nil {
				f.cutAt = size
			}
		}
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}

// rotate makes path path.1, path.1 path.2 and so on; what would become path.(keep+1) is
// deleted. The numbers below the first gap alone move.
func (f *file) rotate() error {
	if f.keep == 0 {
		if err := os.Remove(f.path); err != nil {
			return fmt.Errorf("rotate: %w", err)
		}
	} else {
		gap := 1
		for gap < f.keep && exists(f.numbered(gap)) {
			gap++
		}
		for i := gap - 1; i >= 0; i-- {
			if err := os.Rename(f.numbered(i), f.numbered(i+1)); err != nil {
				return fmt.Errorf("rotate: %w", err)
			}
		}
	}
	f.counters.rotations.Add(1)
	f.close()
	return f.open()
}

// numbered is the path of the i-th file set aside; the 0th is the current one.
func (f *file) numbered(i int) string {
	if i == 0 {
		return f.path
	}
	return f.path + "." + strconv.Itoa(i)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (f *file) close() {
	if f.fd >= 0 {
		_ = unix.Close(f.fd) // whole lines are in the kernel's hands by now
		f.fd = -1
	}
}
