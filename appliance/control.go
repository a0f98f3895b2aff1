package appliance

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

// listener holds the sockets that answer questions: control.sock always, TCP when
// the config names an address.
type listener struct {
	listeners []net.Listener
}

// listenAll opens the sockets. The caller holds the state lock; the socket's folder
// may be shared, so a socket on which somebody answers is never taken away.
func listenAll(runDir, tcp string) (listener, error) {
	var l listener
	if err := os.MkdirAll(runDir, 0o750); err != nil {
		return l, fmt.Errorf("make run directory: %w (choose one with --run-dir)", err)
	}
	path := socketPath(runDir)
	if conn, err := net.Dial("unix", path); err == nil {
		_ = conn.Close()
		return l, fmt.Errorf("another skewgate answers on %s; stop it or choose another --run-dir", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return l, fmt.Errorf("remove stale control socket: %w", err)
	}
	unixListener, err := net.Listen("unix", path)
	if err != nil {
		return l, fmt.Errorf("open control socket: %w (choose a short, writable --run-dir)", err)
	}
	l.listeners = append(l.listeners, unixListener)
	if err := os.Chmod(path, 0o660); err != nil {
		return l, fmt.Errorf("set mode of control socket: %w", err)
	}
	if tcp == "" {
		return l, nil
	}
	tcpListener, err := net.Listen("tcp", tcp)
	if err != nil {
		return l, fmt.Errorf("listen on http.listen %s: %w", tcp, err)
	}
	l.listeners = append(l.listeners, tcpListener)
	return l, nil
}

// close closes what is still open; the HTTP servers have usually done so.
func (l *listener) close() error {
	var errs []error
	for _, one := range l.listeners {
		if err := one.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// The appliance's own states.
const (
	stateStarting = iota
	stateRunning
	stateDraining
)

type stateWord struct{ v atomic.Int32 }

func (s *stateWord) set(v int32) { s.v.Store(v) }

func (s *stateWord) String() string {
	return [...]string{"starting", "running", "draining"}[s.v.Load()]
}
