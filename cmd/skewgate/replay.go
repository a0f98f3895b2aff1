package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/valyala/fastjson"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
)

const (
	// replayLineMax bounds a line; a longer one is refused and skipped.
	replayLineMax = 1 << 20
	// replaySamples bounds the skew samples of one window (16 bytes each), so that figures stay
	// exact for any recording that fits on a disk.
	replaySamples = 1 << 26
	// replayComplaints bounds how many refused lines are explained on stderr.
	replayComplaints = 10
)

func newReplayCmd() *cobra.Command {
	var until time.Duration
	var verify bool
	cmd := &cobra.Command{
		Use:   "replay FILE…|-",
		Short: "Run recorded messages through the correlator and print what it makes of them",
		Long: `Replay reads a line {"config":{…}} and then one event a line, runs them through the
appliance's own correlator on the recorded clock, and prints each published group and, at the
end, a summary of all counters and of the arrival skew.

Events carry now_ms and one of msg, tick, set_expected, watermark and model_down. Lines that
are malformed or over a bound are counted as refused, explained on stderr, and skipped.

What ` + "`skewgate record` and `skewgate run --record`" + ` write is such a file. The parts of one recording
may be named all at once and in any order. A recording from an appliance's first event on gives
the appliance's own groups and counters; --verify says whether it did. If events are missing, or
it began while the appliance ran, stderr says so.

Exit codes: 0 replayed, 1 a file could not be read or cannot be verified, 2 usage, 3 the counters
are not the appliance's, 78 the config is refused (printed as {"config_error":"…"}).`,
		Example: `  printf '%s\n' \
    '{"config":{"quantum_ms":25,"timeout_ms":300,"max_age_ms":2000,"max_pending":256,"expected":["A","B"]}}' \
    '{"now_ms":0,"msg":{"unit":"u1","camera":"c1","model":"A","timestamp":1000}}' \
    '{"now_ms":5,"msg":{"unit":"u1","camera":"c1","model":"B","timestamp":1018}}' | skewgate replay -
  skewgate replay --verify trace.jsonl trace.jsonl.1
  skewgate replay --until 10s trace.jsonl`,
		Args: recordingArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := openRecording(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			defer in.Close()
			r := newReplay(cmd.OutOrStdout())
			r.until = until
			if err := r.print(in, cmd.ErrOrStderr()); err != nil || !verify {
				return err
			}
			return r.verify(cmd.ErrOrStderr())
		},
	}
	cmd.Flags().DurationVar(&until, "until", 0, "stop this long after the first event")
	cmd.Flags().BoolVar(&verify, "verify", false, "compare the counters with those of the appliance at the end of its recording")
	return cmd
}

// replay is one run.
type replay struct {
	c      *correlate.Correlator
	ids    *correlate.Texts
	unit   detect.NumberUnit
	out    *bufio.Writer
	parser fastjson.Parser
	raw    []byte // scratch: the text of a timestamp
	note   []byte // scratch: a key's note
	line   []byte // scratch: the output line
	models []string

	until time.Duration // how long after the first event to stop; 0 = at the end
	first clock.Mono    // the first event's instant, if any
	last  clock.Mono    // the highest one
	any   bool
	seen  uint64 // events

	trace replayTrace

	// Who wants something else than lines of groups hears of these instead.
	adjust func(*correlate.Config)                               // before the correlator is made
	heard  func(now clock.Mono, m *correlate.Message, id string) // each message, before it is judged
	group  func(*correlate.Group)                                // in place of printing it
	number func(id string) (uint64, error)                       // what a frame id is, in place of a number for its time
}

func newReplay(out io.Writer) *replay {
	return &replay{out: bufio.NewWriter(out), raw: make([]byte, 0, 64)}
}

// print replays in to r's output, ending with the summary.
func (r *replay) print(in io.Reader, complain io.Writer) error {
	err := r.run(in, complain)
	var refused *replayConfigError
	if errors.As(err, &refused) {
		r.printConfigError(refused.err)
		return exit(exitConfig, r.out.Flush())
	}
	if err != nil {
		_ = r.out.Flush() // the read error is the one to report
		return err
	}
	for _, note := range r.trace.notes(r.until > 0) {
		fmt.Fprintln(complain, "skewgate:", note)
	}
	r.hintAtNames(complain)
	r.printSummary()
	if err := r.out.Flush(); err != nil {
		return exit(exitFailed, fmt.Errorf("write groups: %w", err))
	}
	return nil
}

// maxNameHints bounds the unexpected names that are told; a flood of them is one fault.
const maxNameHints = 8

// hintAtNames tells of messages of models that nobody expects while one that is expected never came.
func (r *replay) hintAtNames(complain io.Writer) {
	models, told := r.c.AppendModels(nil), 0
	for i := range models {
		m := &models[i]
		hint := correlate.RenameHint(models, m.Name)
		if m.Unexpected == 0 || hint == "" { // a model that is fused without being waited for is no fault
			continue
		}
		if told++; told > maxNameHints {
			fmt.Fprintln(complain, "skewgate: and messages of more models that are not expected")
			return
		}
		fmt.Fprintf(complain, "skewgate: %d messages of model %q, which is not expected; %s\n", m.Unexpected, m.Name, hint)
	}
}

// replayConfigError is why the first line is refused.
type replayConfigError struct{ err error }

func (e *replayConfigError) Error() string { return configErrorText(e.err) }

// errReplayUntil ends a run in front of an event that is not wanted any more.
var errReplayUntil = errors.New("the instant to stop at")

// run replays in. Complaints about refused lines go to complain.
func (r *replay) run(in io.Reader, complain io.Writer) error {
	lines := &replayLines{r: bufio.NewReaderSize(in, 1<<16)}

	// The first line is judged as a config whatever it is: an empty file has none.
	first, err := lines.next()
	if err == io.EOF {
		first, err = nil, nil
	}
	if err == nil || errors.Is(err, errReplayLine) {
		if err == nil {
			err = r.configure(first)
		}
		if err != nil {
			return &replayConfigError{err}
		}
	}
	refused := 0
	for err == nil {
		var line []byte
		line, err = lines.next()
		problem := error(nil)
		switch {
		case errors.Is(err, errReplayLine):
			problem, err = err, nil
		case err != nil || len(line) == 0:
			continue
		default:
			problem = r.event(line)
		}
		if part := (*replayPartError)(nil); errors.As(problem, &part) {
			return exit(exitFailed, fmt.Errorf("line %d: %w", lines.number, problem))
		} else if problem == errReplayUntil {
			err = io.EOF
			break
		}
		// Counted once, explained a few times, and the run goes on.
		switch problem {
		case nil:
			continue
		case errRefusedCounted:
		default:
			r.c.Refuse()
		}
		if refused++; refused <= replayComplaints {
			fmt.Fprintf(complain, "skewgate: line %d is refused: %v\n", lines.number, problem)
		}
	}
	if refused > replayComplaints {
		fmt.Fprintf(complain, "skewgate: %d more lines are refused\n", refused-replayComplaints)
	}
	if err != io.EOF {
		return exit(exitFailed, fmt.Errorf("read line %d of the recording: %w", lines.number, err))
	}
	return nil
}

// now reads an event's clock.
func (r *replay) now(v *fastjson.Value) (clock.Mono, error) {
	ns, err := readMillis(v, "now_ms")
	return clock.Mono(ns), err
}

var errReplayLine = fmt.Errorf("line is longer than %d bytes", replayLineMax)

// replayLines reads lines of at most replayLineMax bytes, without the space around them.
type replayLines struct {
	r      *bufio.Reader
	buf    []byte
	number int
}

// next returns the next line, valid until the next call, errReplayLine for one that it skipped
// over, or io.EOF. A last line needs no newline.
func (l *replayLines) next() ([]byte, error) {
	l.number++
	l.buf = l.buf[:0]
	long := false
	// A long line is read to its end piece by piece and thrown away, so it costs no memory.
	for {
		part, err := l.r.ReadSlice('\n')
		if !long && len(l.buf)+len(part) > replayLineMax+1 {
			long = true
		}
		if !long {
			l.buf = append(l.buf, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && (err != io.EOF || len(l.buf) == 0 && !long):
			return nil, err
		case long:
			return nil, errReplayLine
		}
		return bytes.Trim(l.buf, " \t\r\n"), nil
	}
}

// parseStrict parses one JSON text. fastjson's parser bounds the depth but is lenient (NaN,
// leading zeros, control characters in strings), so its validator has the last word.
func parseStrict(p *fastjson.Parser, line []byte) (*fastjson.Value, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("not UTF-8")
	}
	v, err := p.ParseBytes(line)
	if err != nil {
		return nil, shortError("not JSON", err)
	}
	if err := fastjson.ValidateBytes(line); err != nil {
		return nil, shortError("not JSON", err)
	}
	return v, nil
}

// shortError keeps a message that quotes hostile input, and says at each depth that it cannot
// parse, from filling the terminal.
func shortError(what string, err error) error {
	text := err.Error()
	for strings.HasPrefix(text, "cannot parse ") {
		_, rest, ok := strings.Cut(text, ": ")
		if !ok {
			break
		}
		text = rest
	}
	return fmt.Errorf("%s: %.160q", what, text)
}
