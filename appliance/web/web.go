// Package web answers questions about the appliance over HTTP: the same API on the
// control socket and, when the config says so, on TCP. In this version it only reads.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/skewgate/skewgate/appliance/status"
)

// Source is the appliance as this package sees it.
type Source interface {
	// Status returns the newest document; it never blocks on the path.
	Status() *status.Document
	// Alive returns nil while the path's thread turns.
	Alive() error
	Explainer
}

// Bounds on what a client may cost.
const (
	headerTimeout  = 5 * time.Second
	requestTimeout = 10 * time.Second
	idleTimeout    = 30 * time.Second
	maxHeaderBytes = 16 << 10
)

// Handler serves GET /api/v1/status, /api/v1/explain (the stories of frames), /metrics for Prometheus, /healthz (the process
// and its path turn) and /readyz (the path runs and at least one detector is ready).
func Handler(src Source) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics(src))
	mux.HandleFunc("GET /api/v1/status", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, src.Status())
	})
	mux.HandleFunc("GET /api/v1/explain", func(w http.ResponseWriter, r *http.Request) { explain(w, r, src) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeVerdict(w, src.Alive())
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		writeVerdict(w, ready(src))
	})
	return mux
}

// Tracer is the appliance as a recorder sees it.
type Tracer interface {
	Source
	// Trace writes what happens from now on to w until ctx ends or the appliance does. It
	// writes nothing before it knows that it can.
	Trace(ctx context.Context, w io.Writer, partBytes int64) error
}

// ControlHandler serves what Handler does and, for whoever may open the control socket,
// GET /api/v1/trace: the lines of a recording as they come. for_ms bounds its time, part_bytes
// says where a new part begins.
func ControlHandler(src Tracer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", Handler(src))
	mux.HandleFunc("GET /api/v1/trace", func(w http.ResponseWriter, r *http.Request) { trace(w, r, src) })
	return mux
}

func ready(src Source) error {
	if err := src.Alive(); err != nil {
		return err
	}
	d := src.Status()
	if d.State != "running" {
		return fmt.Errorf("the appliance is %s", d.State)
	}
	for _, m := range d.Models {
		if m.State == "ready" || m.State == "attached" {
			return nil
		}
	}
	return errors.New("no detector is ready")
}

func writeVerdict(w http.ResponseWriter, err error) {
	if err != nil {
		writeJSON(w, http.StatusServiceUnavailable, map[string]any{"schema": status.Schema, "ok": false, "reason": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"schema": status.Schema, "ok": true})
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // a client that has gone is its own affair
}

// Serve answers on l until ctx ends, then closes within a second.
func Serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	stopped := context.AfterFunc(ctx, func() {
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if srv.Shutdown(bound) != nil {
			_ = srv.Close()
		}
	})
	defer stopped()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve status on %s: %w", l.Addr(), err)
	}
	return nil
}
