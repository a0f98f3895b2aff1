package appliance

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
)

// listener holds the sockets: control.sock and, when the config names an address, TCP
// answer questions; attach.sock hands out memory.
type listener struct {
	listeners []net.Listener
	attach    *net.UnixListener
}

// listenAll opens the sockets. The caller holds the state lock; the socket's folder
// may be shared, so a socket on which somebody answers is never taken away.
func listenAll(runDir, tcp string) (listener, error) {
	var l listener
	if err := makeRunDir(runDir); err != nil {
		return l, err
	}
	path := socketPath(runDir)
	if conn, err := net.Dial("unix", path); err == nil {
		_ = conn.Close()
		return l, fmt.Errorf("another skewgate answers on %s; stop it or choose another --run-dir", path)
	}
	control, err := listenUnix("unix", path, 0o660)
	if err != nil {
		return l, err
	}
	l.listeners = append(l.listeners, control)
	// Open to every user: a foreign detector has a user of its own, and whom the kernel
	// says the peer is decides what it gets.
	if l.attach, err = listenUnix("unixpacket", filepath.Join(runDir, "attach.sock"), 0o666); err != nil {
		return l, err
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

// makeRunDir makes the sockets' folder so that other users can pass through it, whatever
// the umask. One that is there keeps its mode.
func makeRunDir(dir string) error {
	_, err := os.Stat(dir)
	fresh := errors.Is(err, os.ErrNotExist)
	if err = os.MkdirAll(dir, 0o755); err == nil && fresh {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		return fmt.Errorf("make run directory: %w (choose one with --run-dir)", err)
	}
	return nil
}

// listenUnix takes a socket's path over from an appliance that is gone.
func listenUnix(network, path string, mode os.FileMode) (*net.UnixListener, error) {
	name := filepath.Base(path)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove stale %s: %w", name, err)
	}
	l, err := net.ListenUnix(network, &net.UnixAddr{Name: path, Net: network})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w (choose a short, writable --run-dir)", name, err)
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("set mode of %s: %w", name, err), l.Close())
	}
	return l, nil
}

// barred returns the first folder on the way to the sockets that other users cannot pass.
func barred(runDir string) string {
	for dir := filepath.Clean(runDir); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode()&0o001 == 0 {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// close closes what is still open; the HTTP servers have usually done so.
func (l *listener) close() error {
	var errs []error
	all := l.listeners
	if l.attach != nil {
		all = append(slices.Clip(all), l.attach)
	}
	for _, one := range all {
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
