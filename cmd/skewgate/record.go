package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/valyala/fastjson"

	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/trace"
)

// recordLineMax bounds a line from the appliance: the first of a part is the longest.
const recordLineMax = trace.HeaderMax + 1<<16

func newRecordCmd() *cobra.Command {
	var o recordOptions
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Record which detector said when that it had seen which picture",
		Long: `Record what reaches the correlator of a running appliance, in the form that ` + "`skewgate replay`" + `
and ` + "`skewgate advise`" + ` read. Headers only: names, times and numbers of frames, no pictures and no boxes,
about 150 bytes a message.

The appliance never waits for a recorder. What does not fit is counted, and the recording says
that it is incomplete. A file is bounded: at --max-size a new part begins, FILE.1 is the newest
one set aside, and --keep of them stay. Each part replays by itself, parts in a row as one.

A recording that begins while the appliance runs lacks the first messages of the frames that are
open then. To record from the first message on, use ` + "`skewgate run --record FILE`" + `.

Exit codes: 0 recorded as long as asked, or until the appliance or a signal ended it; 1 no
appliance answers, or the recording broke off; 3 recorded, and events are missing.`,
		Example: `  skewgate record --for 60s -o trace.jsonl
  skewgate record -o - | skewgate advise -
  skewgate record -o /var/log/skewgate/trace.jsonl --max-size 50MB --keep 20`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.duration < 0 || o.keep < 0 {
				return exit(exitUsage, errors.New("--for and --keep are not below 0"))
			}
			return record(cmd, &o)
		},
	}
	cmd.Flags().StringVar(&o.runDir, "run-dir", defaultRunDir(), "folder of the appliance's control.sock")
	cmd.Flags().StringVarP(&o.out, "output", "o", "trace.jsonl", "file, or - for standard output")
	cmd.Flags().DurationVar(&o.duration, "for", 0, "how long; 0 = until SIGINT or SIGTERM")
	o.size.register(cmd, "max-size", "keep", &o.keep)
	return cmd
}

type recordOptions struct {
	runDir, out string
	duration    time.Duration
	size        partSize
	keep        int
}

// partSize is --max-size: a size as in the config.
type partSize int64

func (s *partSize) String() string { return config.Bytes(*s).String() }
func (*partSize) Type() string     { return "size" }

func (s *partSize) Set(text string) error {
	n, err := config.ParseBytes(text)
	if err == nil && n < trace.MinPartBytes {
		err = fmt.Errorf("take at least %s", config.Bytes(trace.MinPartBytes))
	}
	*s = partSize(n)
	return err
}

// register adds the two flags that bound a recording.
func (s *partSize) register(cmd *cobra.Command, size, keep string, parts *int) {
	*s = 100_000_000
	cmd.Flags().Var(s, size, "size at which a new part begins")
	cmd.Flags().IntVar(parts, keep, 5, "parts to keep beside the present one")
}

// recordTally is what a recording holds, as its lines say.
type recordTally struct {
	header *trace.Header
	events uint64
	lost   uint64
	end    *trace.End
	nowMS  []byte // of the last event, as it is written
}

func record(cmd *cobra.Command, o *recordOptions) error {
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	query := url.Values{}
	if o.duration > 0 {
		query.Set("for_ms", strconv.FormatInt(max(1, o.duration.Milliseconds()), 10))
	}
	if o.out != "-" {
		query.Set("part_bytes", strconv.FormatInt(int64(o.size), 10))
	}
	resp, err := askAppliance(ctx, o.runDir, "/api/v1/trace?"+query.Encode(), 0)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	out, err := o.open(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	tally, err := copyTrace(ctx, out, resp.Body, func(h *trace.Header) {
		fmt.Fprintf(cmd.ErrOrStderr(), "skewgate: recording to %s; %d frames were open when it began\n", o.out, h.State.Open)
	})
	err = errors.Join(err, out.Close())
	fmt.Fprintf(cmd.ErrOrStderr(), "skewgate: %d events recorded, %d missing\n", tally.events, tally.lost)
	if err == nil && tally.lost > 0 {
		return exit(exitFindings, errors.New("the recording is incomplete: the box or the disk was too slow"))
	}
	return err
}

func (o *recordOptions) open(stdout io.Writer) (io.WriteCloser, error) {
	if o.out == "-" {
		return nopCloser{stdout}, nil
	}
	return trace.OpenFile(o.out, o.keep)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// copyTrace copies whole lines until the appliance ends the recording, or ctx does. Then, and
// where it breaks off, it writes the last line itself, so that a reader knows.
func copyTrace(ctx context.Context, out io.Writer, in io.Reader, begun func(*trace.Header)) (*recordTally, error) {
	r := bufio.NewReaderSize(in, recordLineMax)
	t := &recordTally{}
	var whole []byte // lines that are complete and not written
	for {
		line, err := r.ReadSlice('\n')
		if err == nil {
			err = t.read(line)
		}
		if err == nil {
			if whole = append(whole, line...); t.header != nil && begun != nil {
				begun(t.header)
				begun = nil
			}
		}
		// Written once there is nothing more to read at once: a line at a time costs a call each.
		if err != nil || r.Buffered() == 0 || len(whole) > recordLineMax {
			if _, errOut := out.Write(whole); errOut != nil {
				return t, errOut
			}
			whole = whole[:0]
		}
		switch {
		case err == nil:
			continue
		case t.end != nil && (err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)):
			return t, nil // the last line is there; how the connection ended does not matter
		case ctx.Err() != nil:
			return t, t.cut(out, "ended by whoever recorded", nil)
		case errors.Is(err, bufio.ErrBufferFull):
			err = fmt.Errorf("the appliance sent a line of more than %d bytes", recordLineMax)
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			err = errors.New("the appliance ended without ending the recording; what is there replays up to that")
		}
		return t, t.cut(out, "the connection to the appliance broke", err)
	}
}

// read takes note of what a line says of the recording. Lines come from the appliance, but a
// look at them is cheap.
func (t *recordTally) read(line []byte) error {
	if t.end != nil {
		return errors.New("the appliance went on after the end of the recording")
	}
	if trace.IsHeader(line) {
		v, err := fastjson.ParseBytes(line)
		if err == nil {
			t.header, err = trace.ReadHeader(v.Get("trace"))
		}
		if err != nil {
			return fmt.Errorf("read what the appliance sent: %w", err)
		}
		return nil
	}
	rest, ok := bytes.CutPrefix(line, []byte(`{"now_ms":`))
	nowMS, _, comma := bytes.Cut(rest, []byte(","))
	if !ok || !comma || t.header == nil {
		return fmt.Errorf("the appliance sent %.60q, which is no line of a recording", line)
	}
	t.nowMS = append(t.nowMS[:0], nowMS...)
	if !bytes.Contains(line, []byte(`,"trace":{`)) {
		t.events++
		return nil
	}
	v, err := fastjson.ParseBytes(line)
	if err != nil {
		return fmt.Errorf("read what the appliance sent: %w", err)
	}
	// The words may also stand in a name.
	if mark := v.Get("trace"); mark != nil {
		m, err := trace.ReadMark(mark)
		if err != nil {
			return fmt.Errorf("read what the appliance sent: %w", err)
		}
		t.lost += m.Lost
		if t.end = m.End; t.end != nil {
			t.lost = max(t.lost, t.end.Lost)
			return nil
		}
	}
	t.events++
	return nil
}

// cut writes the last line in the appliance's place and returns err.
func (t *recordTally) cut(out io.Writer, why string, err error) error {
	if t.end != nil || len(t.nowMS) == 0 {
		return err
	}
	_, errOut := out.Write(trace.AppendEnd(nil, t.nowMS, &trace.End{Events: t.events, Lost: t.lost, Cut: why}))
	return errors.Join(err, errOut)
}
