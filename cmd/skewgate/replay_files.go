package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/valyala/fastjson"

	"github.com/skewgate/skewgate/appliance/trace"
)

// maxParts bounds the files of one recording.
const maxParts = 4096

// recordingArgs wants files, or - alone.
func recordingArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return exit(exitUsage, fmt.Errorf("%s needs a FILE, or - for standard input", cmd.Name()))
	case len(args) > 1 && slices.Contains(args, "-"):
		return exit(exitUsage, errors.New("- stands alone: standard input has all parts in their order"))
	case len(args) > maxParts:
		return exit(exitUsage, fmt.Errorf("%d files, at most %d", len(args), maxParts))
	}
	return nil
}

// recordingFiles are the parts of a recording, read as one.
type recordingFiles struct {
	io.Reader
	files []*os.File
}

func (f *recordingFiles) Close() error {
	var errs []error
	for _, file := range f.files {
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}

// openRecording opens one file, standard input for -, or the parts of one recording, which are
// put into their order.
func openRecording(args []string, stdin io.Reader) (io.ReadCloser, error) {
	if args[0] == "-" {
		return &recordingFiles{Reader: stdin}, nil
	}
	all := &recordingFiles{}
	parts := make(map[*os.File]uint64)
	for _, name := range args {
		file, err := os.Open(name)
		if err != nil {
			return nil, exit(exitFailed, errors.Join(fmt.Errorf("open recording: %w", err), all.Close()))
		}
		all.files = append(all.files, file)
		if len(args) == 1 {
			break
		}
		if parts[file], err = partOf(file); err != nil {
			return nil, exit(exitFailed, errors.Join(fmt.Errorf("%s: %w", name, err), all.Close()))
		}
	}
	slices.SortStableFunc(all.files, func(a, b *os.File) int { return int(parts[a]) - int(parts[b]) })
	var readers []io.Reader
	for i, file := range all.files {
		if i > 0 { // a part whose last line is half must not swallow the next one's first
			readers = append(readers, strings.NewReader("\n"))
		}
		readers = append(readers, file)
	}
	all.Reader = io.MultiReader(readers...)
	return all, nil
}

// partOf reads which part a file is, and goes back to its beginning.
func partOf(file *os.File) (uint64, error) {
	lines := &replayLines{r: bufio.NewReader(file)}
	line, err := lines.next()
	if err != nil {
		return 0, fmt.Errorf("read its first line: %w", err)
	}
	var p fastjson.Parser
	root, err := parseStrict(&p, line)
	if err != nil {
		return 0, fmt.Errorf("its first line is no header of a recording: %w", err)
	}
	h, err := trace.ReadHeader(root.Get("trace"))
	if err != nil {
		return 0, fmt.Errorf("its first line is no header of a recording, and only parts of one can be read together: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return 0, fmt.Errorf("read it from its beginning: %w", err)
	}
	return h.Part, nil
}
