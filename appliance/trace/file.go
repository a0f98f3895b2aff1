package trace

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// IsHeader reports whether a line is the first one of a part.
func IsHeader(line []byte) bool { return bytes.HasPrefix(line, headerBegin) }

var headerBegin = []byte(`{"config":`)

// File keeps a trace in files: path is the present part, path.1 the one before it and so on,
// keep of them. What lies at path when it is opened is set aside like a part.
type File struct {
	path string
	keep int
	out  *os.File
	size int64
}

// OpenFile makes the file, readable by its group and by nobody else: it tells who was where.
func OpenFile(path string, keep int) (*File, error) {
	if keep < 0 {
		return nil, fmt.Errorf("keep %d parts: take 0 or more", keep)
	}
	f := &File{path: path, keep: keep}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("record to %s: it is no plain file: name another, or - for standard output", path)
	} else if err == nil && info.Size() > 0 {
		if err := f.setAside(); err != nil {
			return nil, err
		}
	}
	return f, f.open()
}

func (f *File) open() error {
	out, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	f.out, f.size = out, 0
	return nil
}

// Write appends whole lines and begins a new file at each header but the first. After an error
// the file ends with the last line that is whole, if the disk lets it.
func (f *File) Write(lines []byte) (int, error) {
	done := 0
	for done < len(lines) {
		rest := lines[done:]
		if f.size > 0 && IsHeader(rest) {
			if err := f.next(); err != nil {
				return done, err
			}
		}
		// One piece up to the next header, which is rarely there.
		end := len(rest)
		for from := 0; ; {
			i := bytes.Index(rest[from:], headerBegin)
			if i < 0 {
				break
			}
			if at := from + i; at > 0 && rest[at-1] == '\n' {
				end = at
				break
			}
			from += i + 1
		}
		n, err := f.out.Write(rest[:end])
		if err != nil {
			whole := int64(bytes.LastIndexByte(rest[:n], '\n') + 1)
			_ = f.out.Truncate(f.size + whole) // the write's error is the one to report
			_, _ = f.out.Seek(f.size+whole, 0)
			f.size += whole
			return done + int(whole), fmt.Errorf("record: %w", err)
		}
		f.size += int64(n)
		done += n
	}
	return done, nil
}

// next sets the present part aside and begins another.
func (f *File) next() error {
	if err := f.out.Close(); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if err := f.setAside(); err != nil {
		return err
	}
	return f.open()
}

// setAside makes path path.1, path.1 path.2 and so on; what would become path.(keep+1) is
// gone. The numbers below the first gap alone move.
func (f *File) setAside() error {
	if f.keep == 0 {
		return nil // open writes over it
	}
	gap := 1
	for gap < f.keep {
		if _, err := os.Lstat(f.numbered(gap)); err != nil {
			break
		}
		gap++
	}
	for i := gap - 1; i >= 0; i-- {
		if err := os.Rename(f.numbered(i), f.numbered(i+1)); err != nil {
			return fmt.Errorf("record: set a part aside: %w", err)
		}
	}
	return nil
}

func (f *File) numbered(i int) string {
	if i == 0 {
		return f.path
	}
	return f.path + "." + strconv.Itoa(i)
}

// Close closes the file; once more does nothing.
func (f *File) Close() error {
	out := f.out
	if f.out = nil; out == nil {
		return nil
	}
	return out.Close()
}
