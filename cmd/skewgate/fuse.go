package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance/fuse"
)

// maxFuseLine bounds one line of input, in bytes. The boxes of a line are bounded by fuse.
const maxFuseLine = 8 << 20

func newFuseCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "fuse FILE|-",
		Short: "Fuse boxes from JSON lines, the way the public references do",
		Long: `Fuse reads JSON lines from FILE, or from standard input for -, and answers each with
one line: {"boxes","scores","labels"}, or {"error"} naming what is wrong with it. A line
holds "algorithm", "params" and "inputs", a list with the boxes of each model that answered.

  algorithm         params, beside iou_thr (0…1)
  wbf               weights, skip_box_thr, allows_overflow, class_agnostic, conf_type: avg,
                    max, box_and_model_avg or absent_model_aware_avg
  nmw               weights, skip_box_thr, class_agnostic
  nms               weights, class_agnostic, metric: IOU or IOS
  soft_nms          weights, class_agnostic, thresh, sigma, method: 1 linear, 2 gaussian
  batched_nms, supervision_nms, supervision_nmm
                    class_agnostic, metric

Boxes are [x1,y1,x2,y2] in fractions of the frame. NaN and the infinities are written as
the strings "NaN", "Infinity" and "-Infinity". Other keys of a line are ignored, unknown
params are refused, blank lines are skipped.

The answer is the reference's where that is finite and within 0…1, and otherwise what is
left once the input gate of the appliance has done its work. What the gate removed is told
on standard error, with its reason.

An {"error"} line is an answer: the exit code is 0 when each line got one, 1 when the input
could not be read or the output not written, 2 for wrong usage.`,
		Example: `  echo '{"algorithm":"wbf","inputs":[{"boxes":[[0,0,0.5,0.5]],"scores":[0.75],"labels":[0]},{"boxes":[[0,0,0.5,0.75]],"scores":[0.25],"labels":[0]}]}' | skewgate fuse -
  {"boxes":[[0,0,0.5,0.5625]],"scores":[0.5],"labels":[0]}

  skewgate fuse testdata/cases/fusion.jsonl > answers.jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit(exitUsage, fmt.Errorf("fuse takes one file, or - for standard input: got %d arguments", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "-" {
				return fuseLines("standard input", cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			return fuseLines(args[0], f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
}

// fuseLines answers each line of in on out, and says on log what the gate removed.
func fuseLines(name string, in io.Reader, out, log io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	w := bufio.NewWriterSize(out, 64<<10)
	var lines fuse.Lines
	var line, answer []byte
	for n := 1; ; n++ {
		var err error
		line, err = readLine(r, line[:0])
		atEnd := errors.Is(err, io.EOF)
		switch {
		case errors.Is(err, errLongLine):
			answer = fuse.Refusal(answer[:0], err)
		case err != nil && !atEnd:
			w.Flush()
			return fmt.Errorf("read %s, line %d: %w", name, n, err)
		case len(bytes.TrimSpace(line)) == 0:
			answer = answer[:0]
		default:
			var removed []string
			answer, removed = lines.Answer(answer[:0], line)
			for _, what := range removed {
				fmt.Fprintf(log, "skewgate fuse: line %d: %s\n", n, what)
			}
		}
		if len(answer) > 0 {
			w.Write(append(answer, '\n')) // an error stays with w until Flush
		}
		// Whoever types lines, or asks over a pipe, gets each answer at once.
		if atEnd || r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return fmt.Errorf("write answers: %w", err)
			}
		}
		if atEnd {
			return nil
		}
	}
}

var errLongLine = fmt.Errorf("line longer than %d bytes: split it", maxFuseLine)

// readLine appends the next line, without its end, to dst. It reads a line that is too
// long to its end and gives errLongLine for it, and io.EOF along with the last line.
func readLine(r *bufio.Reader, dst []byte) ([]byte, error) {
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(dst)+len(part) > maxFuseLine+1; !long {
			dst = append(dst, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return dst[:0], errLongLine // a missing end of line shows at the next read
		}
		return bytes.TrimSuffix(dst, []byte("\n")), err
	}
}
