package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/shm"
)

// observe maps one ring of an appliance as a tool does, and keeps it beyond that one's end.
func observe(t *testing.T, socket, file string) *shm.Reader {
	t.Helper()
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: socket, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Write([]byte(`{"skewgate_attach":1,"abi":1,"role":"observer","client":"test/1"}`)); err != nil {
		t.Fatal(err)
	}
	packet, rights := make([]byte, 64<<10), make([]byte, 4096)
	n, rightsN, _, _, err := c.ReadMsgUnix(packet, rights)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Files []string }
	if err := json.Unmarshal(packet[:n], &answer); err != nil {
		t.Fatal(err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rightsN])
	if err != nil || len(messages) != 1 {
		t.Fatalf("%s: %v", packet[:n], err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	var r *shm.Reader
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), answer.Files[i])
		if answer.Files[i] != file {
			f.Close()
			continue
		}
		s, err := shm.MapSegment(f, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		if r, err = shm.NewReader(s.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	if r == nil {
		t.Fatalf("no %s among %v", file, answer.Files)
	}
	return r
}

// cpuTime is what a process has used so far, in its own threads.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	var user, system int64
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100
}
