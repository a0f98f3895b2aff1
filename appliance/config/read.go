package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// maxFileBytes bounds a config or manifest. 64 models with 80 mapped classes each are
// about 100 KiB.
const maxFileBytes = 256 << 10

// readBounded reads a whole small regular file. Anything else (a folder, a device, a
// FIFO that would block) is refused before it is read.
func readBounded(path string, limit int64) ([]byte, error) {
	// Stat before open: opening a FIFO would wait for its writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, bare(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is a %s, want a file", modeWord(info.Mode()))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, bare(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	return data, nil
}

// bare drops the path from an error of package os: the message has it already.
func bare(err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

func modeWord(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "folder"
	case mode&os.ModeNamedPipe != 0:
		return "FIFO"
	case mode&os.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// maxTextProblems bounds how many lines one kind of bad byte is told for.
const maxTextProblems = 20

// checkText says where text is not what a YAML file of ours may hold, before the parser
// sees it: not UTF-8, control characters, tabs as indentation. It reports whether
// parsing makes sense.
func (d *decoder) checkText(text []byte) bool {
	line, good := 0, 0
	for raw := range bytes.Lines(text) {
		line++
		col, what, cure := badText(strings.TrimRight(string(raw), "\r\n"))
		if what == "" {
			continue
		}
		if good++; good <= maxTextProblems {
			d.fail(mark{line, col}, "", what, cure)
		}
	}
	return good == 0
}

// badText returns the column of the first thing wrong in a line and what it is.
func badText(line string) (col int, what, cure string) {
	indent := true
	for i, r := range line {
		col++
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(line[i:], "\uFFFD"):
			return col, "the text is not UTF-8", "save the file as UTF-8"
		case r == '\t' && indent:
			return col, "a tab in the indentation", "indent with spaces"
		case r < ' ' && r != '\t', r == 0x7f:
			return col, fmt.Sprintf("the control character %U", r), "delete it; write it as an escape in double quotes if it is meant"
		}
		indent = indent && (r == ' ' || r == '\t')
	}
	return 0, "", ""
}
