package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/skewgate/skewgate/appliance/status"
)

// maxTraceMS bounds for_ms at a year.
const maxTraceMS = 365 * 24 * 3600 * 1000

// trace streams a recording. A client that takes nothing for requestTimeout is cut off; the
// path never waits for it.
func trace(w http.ResponseWriter, r *http.Request, src Tracer) {
	forMS, err := number(r, "for_ms", maxTraceMS)
	partBytes, errPart := number(r, "part_bytes", 1<<50)
	if err == nil {
		err = errPart
	}
	if err != nil {
		writeProblem(w, http.StatusBadRequest, err)
		return
	}
	control := http.NewResponseController(w)
	// The server's deadline for reading a request would end the stream, too.
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		writeProblem(w, http.StatusInternalServerError, err)
		return
	}
	ctx := r.Context()
	if forMS > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(forMS)*time.Millisecond)
		defer cancel()
	}
	out := &traceWriter{w: w, control: control}
	// After the first line the answer is 200, and an error can only cut it short: the client
	// sees that no last line came.
	if err := src.Trace(ctx, out, partBytes); err != nil && !out.begun {
		writeProblem(w, http.StatusServiceUnavailable, err)
	}
}

// number reads a query value from 0 to limit; 0 if it is not given.
func number(r *http.Request, key string, limit int64) (int64, error) {
	text := r.URL.Query().Get(key)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > limit {
		return 0, fmt.Errorf("%s=%.40q is no whole number from 0 to %d", key, text, limit)
	}
	return n, nil
}

func writeProblem(w http.ResponseWriter, code int, err error) {
	writeJSON(w, code, map[string]any{"schema": status.Schema, "error": err.Error()})
}

// traceWriter sends each piece at once and gives it its own deadline: the server's is for
// answers, not for streams.
type traceWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

func (t *traceWriter) Write(b []byte) (int, error) {
	if !t.begun {
		t.begun = true
		t.w.Header().Set("Content-Type", "application/x-ndjson")
	}
	if err := t.control.SetWriteDeadline(time.Now().Add(requestTimeout)); err != nil {
		return 0, err
	}
	n, err := t.w.Write(b)
	if err == nil {
		err = t.control.Flush()
	}
	return n, err
}
