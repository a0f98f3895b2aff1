package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/status"
)

type source struct {
	doc   status.Document
	alive error
}

func (s *source) Status() *status.Document { return &s.doc }
func (s *source) Alive() error             { return s.alive }

func (s *source) Explain(context.Context, Question) (any, error) {
	return nil, errors.New("not asked for here")
}

// serve starts the real server on a real Unix socket and returns a client for it.
func serve(t *testing.T, src Source) (*http.Client, string) {
	t.Helper()
	return serveHandler(t, Handler(src))
}

func serveHandler(t *testing.T, h http.Handler) (*http.Client, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "control.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, h, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: 5 * time.Second}, path
}

func get(t *testing.T, c *http.Client, path string) (int, map[string]any) {
	t.Helper()
	r, err := c.Get("http://skewgate" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	_ = json.Unmarshal(body, &v)
	return r.StatusCode, v
}

func TestEndpoints(t *testing.T) {
	src := &source{doc: status.Document{Schema: 1, Unit: "u", State: "starting"}}
	c, _ := serve(t, src)
	if code, v := get(t, c, "/api/v1/status"); code != 200 || v["unit"] != "u" {
		t.Errorf("status: got %d %v", code, v)
	}
	if code, v := get(t, c, "/readyz"); code != 503 || v["reason"] != "the appliance is starting" {
		t.Errorf("readyz while starting: got %d %v", code, v)
	}
	src.doc.State = "running"
	if code, v := get(t, c, "/readyz"); code != 503 || v["reason"] != "no detector is ready" {
		t.Errorf("readyz without detectors: got %d %v", code, v)
	}
	src.doc.Models = []status.Model{{State: "ready"}}
	if code, _ := get(t, c, "/readyz"); code != 200 {
		t.Errorf("readyz: want 200, got %d", code)
	}
	src.alive = errors.New("the path has not turned for 3 s")
	if code, _ := get(t, c, "/healthz"); code != 503 {
		t.Errorf("healthz of a stuck path: want 503, got %d", code)
	}
	if code, _ := get(t, c, "/nothing"); code != 404 {
		t.Errorf("unknown path: want 404, got %d", code)
	}
}

// R002-37, F65: clients that never finish a request must not keep others waiting.
func TestHalfOpenClientsDoNotBlock(t *testing.T) {
	c, path := serve(t, &source{})
	for range 500 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("GET /heal")); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	if code, _ := get(t, c, "/healthz"); code != 200 {
		t.Errorf("healthz among half-open clients: want 200, got %d", code)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("healthz among half-open clients took %v", took)
	}
}
