package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// teller answers with the question itself, or with an error.
type teller struct {
	source
	err error
}

func (s *teller) Explain(_ context.Context, q Question) (any, error) {
	return map[string]any{"schema": 1, "asked": fmt.Sprintf("%+v", q)}, s.err
}

func TestExplainQuestions(t *testing.T) {
	src := &teller{}
	c, _ := serveHandler(t, Handler(src))
	for _, tc := range []struct {
		query string
		code  int
		want  string
	}{
		{"camera=gate", 200, "{Camera:gate Frame: Last:0 Incomplete:false}"},
		{"camera=gate&frame=q25%3A40", 200, "{Camera:gate Frame:q25:40 Last:0 Incomplete:false}"},
		{"camera=gate&last=5", 200, "{Camera:gate Frame: Last:5 Incomplete:false}"},
		{"camera=gate&incomplete=1", 200, "{Camera:gate Frame: Last:0 Incomplete:true}"},
		{"camera=gate&incomplete=0", 200, "{Camera:gate Frame: Last:0 Incomplete:false}"},
		{"", 400, "camera is missing"},
		{"frame=7", 400, "camera is missing"},
		{"camera=gate&last=0", 400, "ask for 1 or more"},
		{"camera=gate&last=-1", 400, `last="-1"`},
		{"camera=gate&last=1e9", 400, `last="1e9"`},
		{"camera=gate&incomplete=yes", 400, `incomplete="yes"`},
	} {
		code, v := get(t, c, "/api/v1/explain?"+tc.query)
		said := fmt.Sprint(v["asked"])
		if tc.code != 200 {
			said = fmt.Sprint(v["error"])
		}
		if code != tc.code || !strings.Contains(said, tc.want) || v["schema"] != 1.0 {
			t.Errorf("%q: want %d %s, got %d %v", tc.query, tc.code, tc.want, code, v)
		}
	}
	for _, tc := range []struct {
		err  error
		code int
	}{
		{Problem(http.StatusNotFound, errors.New("no camera x")), 404},
		{fmt.Errorf("ask: %w", Problem(http.StatusServiceUnavailable, errors.New("busy"))), 503},
		{errors.New("something"), 500},
	} {
		src.err = tc.err
		if code, v := get(t, c, "/api/v1/explain?camera=x"); code != tc.code || v["error"] != tc.err.Error() {
			t.Errorf("%v: want %d, got %d %v", tc.err, tc.code, code, v)
		}
	}
}

// FuzzExplainQuery asks whatever a stranger may ask: it is answered or refused with a reason.
func FuzzExplainQuery(f *testing.F) {
	for _, seed := range []string{"camera=gate", "camera=gate&last=5", "last=%00", "camera=%ff&frame=%1b[2J", "incomplete=1;camera=x", "=&&=%"} {
		f.Add(seed)
	}
	h := Handler(&teller{})
	f.Fuzz(func(t *testing.T, query string) {
		r, err := http.NewRequest(http.MethodGet, "/api/v1/explain", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host, r.URL.RawQuery = "localhost", query
		w := &recorder{header: http.Header{}}
		h.ServeHTTP(w, r)
		if w.code != 200 && w.code != 400 || !strings.HasPrefix(w.body, `{"`) {
			t.Errorf("%q: %d %s", query, w.code, w.body)
		}
	})
}

// recorder is a client in memory.
type recorder struct {
	header http.Header
	code   int
	body   string
}

func (w *recorder) Header() http.Header  { return w.header }
func (w *recorder) WriteHeader(code int) { w.code = code }
func (w *recorder) Write(b []byte) (int, error) {
	w.body += string(b)
	return len(b), nil
}
