package client

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/shm"
)

// strange is the other end of a socket that is no skewgate, or a bad one: it says one
// packet, with files, and closes.
func strange(t *testing.T, packet string, files ...*os.File) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "attach.sock")
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, maxPacketBytes))
		var fds []int
		for _, f := range files {
			fds = append(fds, int(f.Fd()))
		}
		if packet != "" {
			_, _, _ = c.WriteMsgUnix([]byte(packet), unix.UnixRights(fds...), nil)
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return path
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Whatever comes through the socket gives an error that says what is wrong, and leaves
// neither a mapping nor a descriptor behind.
func TestStrangeAppliances(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	segment := func(format func([]byte) error) *os.File {
		s, err := shm.CreateSegment("test", shm.RingConfig{Slots: 8, PayloadBytes: 64, Model: "m"}.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if format != nil {
			if err := format(s.Bytes()); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { s.Close() })
		return s.File()
	}
	blank := segment(nil)
	ring := segment(func(b []byte) error {
		return shm.FormatRing(b, shm.RingConfig{Slots: 8, PayloadBytes: 64, Model: "m"})
	})
	unsealed, err := unix.MemfdCreate("unsealed", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	soft := os.NewFile(uintptr(unsealed), "unsealed")
	defer soft.Close()
	for _, row := range []struct {
		name, packet string
		files        []*os.File
		is           error
		says         string
	}{
		{"closes at once", "", nil, errEnd, ""},
		{"not JSON", "HTTP/1.1 400", nil, ErrProtocol, ""},
		{"an event", `{"event":"drain"}`, nil, ErrProtocol, ""},
		{"a no", `{"ok":false,"code":"not_allowed","error":"uid 7","abi":1}`, nil, nil, "not_allowed"},
		{"another ABI", `{"ok":true,"abi":2,"files":[]}`, nil, ErrProtocol, "version 2, this program 1"},
		{"no files", `{"ok":true,"abi":1,"files":["ring","doorbell"]}`, nil, ErrProtocol, "2 files are named, 0 came"},
		{"more than named", `{"ok":true,"abi":1,"files":["ring"]}`, []*os.File{ring, ring}, ErrProtocol, "1 files are named, 2 came"},
		{"the same twice", `{"ok":true,"abi":1,"files":["ring","ring"]}`, []*os.File{ring, ring}, ErrProtocol, "twice"},
		{"a device", `{"ok":true,"abi":1,"files":["ring","doorbell"]}`, []*os.File{null, ring}, shm.ErrNotSealed, ""},
		{"a file that can be truncated", `{"ok":true,"abi":1,"files":["ring","doorbell"]}`, []*os.File{soft, ring}, shm.ErrNotSealed, "seals"},
		{"no doorbell", `{"ok":true,"abi":1,"files":["ring"]}`, []*os.File{ring}, ErrProtocol, "doorbell"},
		{"a blank ring", `{"ok":true,"abi":1,"files":["ring","doorbell"]}`, []*os.File{blank, ring}, shm.ErrQuarantine, "magic"},
		{"a ring for a frame ring", `{"ok":true,"abi":1,"unit":"u","cameras":[{"name":"gate"}],"files":["ring","doorbell","frames/gate"]}`,
			[]*os.File{ring, ring, ring}, shm.ErrQuarantine, "segment_kind"},
		{"a camera without a name", `{"ok":true,"abi":1,"unit":"u","cameras":[{}],"files":["ring","doorbell"]}`, []*os.File{ring, ring}, nil, "camera"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := strange(t, row.packet, row.files...)
			before := openFiles(t)
			w, err := AttachWriter(Options{Socket: path}, "m", 0)
			if err == nil {
				w.Close()
				t.Fatal("attached")
			}
			if row.is != nil && !errors.Is(err, row.is) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("want %v with %q, got %v", row.is, row.says, err)
			}
			if after := openFiles(t); after > before+1 { // the server's own end may still be open
				t.Errorf("%d descriptors before, %d after", before, after)
			}
		})
	}
	if _, err := AttachReader(Options{Socket: strange(t, `{"ok":true,"abi":1,"files":[]}`)}); !errors.Is(err, ErrProtocol) {
		t.Errorf("a reader's answer without an output ring: %v", err)
	}
	if _, err := AttachWriter(Options{Socket: filepath.Join(t.TempDir(), "nobody")}, "m", 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no socket: %v", err)
	}
}

// Where to look, without being told.
func TestUsualPlace(t *testing.T) {
	t.Setenv("SKEWGATE_ATTACH", "")
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/7")
	want := "/run/skewgate/attach.sock"
	if os.Geteuid() != 0 {
		want = "/run/user/7/skewgate/attach.sock"
	}
	if got := (&Options{}).socket(); got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	t.Setenv("SKEWGATE_ATTACH", "/tmp/a.sock")
	if got := (&Options{}).socket(); got != "/tmp/a.sock" {
		t.Errorf("SKEWGATE_ATTACH is not honoured: %s", got)
	}
}

// Back-off grows to its bound and never waits for nothing or too long.
func TestBackoff(t *testing.T) {
	s := &session{forget: func() {}, fd: -1}
	now := int64(1_000_000_000)
	for try := range 20 {
		s.leave(now, errEnd)
		wait := s.dueNS - now
		full := min(int64(firstBackoffNS)<<min(try, 10), lastBackoffNS)
		if wait < full*3/4 || wait > full*5/4 {
			t.Errorf("try %d: waits %d ms, want %d ms and a quarter more or less", try, wait/1e6, full/1e6)
		}
		now = s.dueNS
	}
}

// FuzzAnswer: nothing that an appliance may say brings the client down.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"ok":true,"abi":1,"unit":"u","cameras":[{"name":"gate","stream_epoch":4}],"files":[]}`))
	f.Add([]byte(`{"ok":true,"abi":1,"unit":null,"cameras":[null],"files":[null]}`))
	f.Add([]byte(`{"ok":false,"code":"busy","error":"x"}`))
	f.Add([]byte(`{"event":"stream_epoch","camera":"gate","stream_epoch":5}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s said
		if json.Unmarshal(b, &s) != nil {
			return
		}
		named, err := answered(&s, nil)
		if err != nil {
			return
		}
		if len(named) != 0 || !*s.OK {
			t.Fatalf("%d files of none", len(named))
		}
		var st streams
		if err := st.take(&s, nil); err != nil && !errors.Is(err, ErrProtocol) {
			t.Fatal(err)
		}
		if len(st.all) > len(s.Cameras) {
			t.Fatalf("%d streams of %d cameras", len(st.all), len(s.Cameras))
		}
	})
}
