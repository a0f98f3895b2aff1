package sink

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// running starts a sink and returns it with the function that ends and awaits it.
func running(t testing.TB, o Options) (*JSONL, func()) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	stop := func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(FlushLimit + 5*time.Second):
			t.Fatal("Run does not end within its bound")
		}
	}
	t.Cleanup(stop)
	return s, stop
}

// frame is a small frame with a number.
func frame(seq uint64) *Frame {
	return &Frame{Seq: seq, Unit: "u", Camera: "c", Reason: "quorum", Models: []Answer{{Model: "m", CaptureNS: int64(seq)}}}
}

// lineBytes is the length of such a frame's line.
func lineBytes(t testing.TB, seq uint64) int64 {
	t.Helper()
	line, err := frame(seq).AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	return int64(len(line)) + 1
}

// await waits until ok, or fails with the sink's own words.
func await(t testing.TB, s *JSONL, what string, ok func(Stats) bool) Stats {
	t.Helper()
	for range 1000 {
		if st := s.Stats(); ok(st) {
			return st
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not happen: %+v", what, s.Stats())
	return Stats{}
}

// identity fails unless every frame offered, counted by the test, is somewhere.
func identity(t testing.TB, st Stats, offered uint64) {
	t.Helper()
	sum := st.Written + st.Queued
	for _, n := range st.Lost {
		sum += n
	}
	if st.Offered != offered || sum != offered {
		t.Errorf("offered %d, the sink says %d and accounts for %d: %+v", offered, st.Offered, sum, st)
	}
}

// seqs reads a file of lines and returns their numbers; every line must be whole.
func seqs(t testing.TB, path string) []uint64 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return seqsOf(t, text)
}

func seqsOf(t testing.TB, text []byte) (list []uint64) {
	t.Helper()
	if len(text) > 0 && text[len(text)-1] != '\n' {
		t.Errorf("the text ends in half a line: %q", text[max(0, len(text)-80):])
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "{") {
			list = append(list, decode(t, lines.Bytes()).Seq)
		}
	}
	return list
}

// span returns from…to.
func numbers(from, to uint64) (list []uint64) {
	for i := from; i <= to; i++ {
		list = append(list, i)
	}
	return list
}
