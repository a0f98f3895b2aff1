package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// tracer runs a function as the appliance's recording.
type tracer struct {
	source
	trace func(ctx context.Context, w io.Writer, partBytes int64) error
}

func (t *tracer) Trace(ctx context.Context, w io.Writer, partBytes int64) error {
	return t.trace(ctx, w, partBytes)
}

// A recording goes on for longer than any answer may take, piece by piece as it comes.
func TestTraceOutlivesTheDeadlinesOfAnswers(t *testing.T) {
	t.Parallel()
	const pieces = int(requestTimeout/time.Second) + 2
	c, _ := serveHandler(t, ControlHandler(&tracer{trace: func(ctx context.Context, w io.Writer, partBytes int64) error {
		if partBytes != 70000 {
			t.Errorf("part_bytes %d", partBytes)
		}
		for i := range pieces {
			if _, err := fmt.Fprintln(w, i); err != nil {
				return err
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}}))
	c.Timeout = 0
	resp, err := c.Get("http://skewgate/api/v1/trace?part_bytes=70000")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	began := time.Now()
	for i := range pieces {
		if !lines.Scan() || lines.Text() != fmt.Sprint(i) {
			t.Fatalf("line %d: %q, %v", i, lines.Text(), lines.Err())
		}
		if i == 1 && time.Since(began) > 5*time.Second {
			t.Error("the second line came with the last")
		}
	}
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("after the last line: %q, %v", lines.Text(), lines.Err())
	}
}

func TestTraceEnds(t *testing.T) {
	ended := make(chan error, 1)
	c, _ := serveHandler(t, ControlHandler(&tracer{trace: func(ctx context.Context, w io.Writer, _ int64) error {
		_, err := w.Write([]byte("x\n"))
		<-ctx.Done()
		ended <- ctx.Err()
		return err
	}}))
	// By the time that was asked for.
	resp, err := c.Get("http://skewgate/api/v1/trace?for_ms=20")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "x\n" || !errors.Is(<-ended, context.DeadlineExceeded) {
		t.Errorf("after its time: %q, %v", body, err)
	}
	// By a client that goes.
	if resp, err = c.Get("http://skewgate/api/v1/trace"); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after the client went: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the recording goes on without its client")
	}
}

func TestTraceRefusals(t *testing.T) {
	src := &tracer{trace: func(context.Context, io.Writer, int64) error { return errors.New("4 recordings run already") }}
	c, _ := serveHandler(t, ControlHandler(src))
	for _, tc := range []struct {
		query string
		code  int
		want  string
	}{
		{"", 503, "4 recordings run already"},
		{"?for_ms=-1", 400, `for_ms="-1"`},
		{"?for_ms=1e3", 400, `for_ms="1e3"`},
		{"?for_ms=99999999999999", 400, "for_ms"},
		{"?part_bytes=x", 400, `part_bytes="x"`},
	} {
		code, v := get(t, c, "/api/v1/trace"+tc.query)
		if text := fmt.Sprint(v["error"]); code != tc.code || !strings.Contains(text, tc.want) {
			t.Errorf("%q: want %d and %q, got %d %v", tc.query, tc.code, tc.want, code, v)
		}
	}
	// The rest of the API is there as well; without the control socket, the recording is not.
	if code, _ := get(t, c, "/healthz"); code != 200 {
		t.Errorf("healthz beside it: %d", code)
	}
	plain, _ := serve(t, src)
	if code, _ := get(t, plain, "/api/v1/trace"); code != 404 {
		t.Errorf("trace over TCP: want 404, got %d", code)
	}
}
