package sink

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Files are set aside exactly when the next line would not fit, whole lines only.
func TestRotationIsExact(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "folder", "out.jsonl") // made by the sink
	size := lineBytes(t, 10)                                 // frames 10…99 have lines of one length
	s, stop := running(t, Options{Path: path, MaxSize: 3*size + size/2, Keep: 2})
	for seq := uint64(10); seq <= 20; seq++ {
		s.Offer(frame(seq))
	}
	stop()
	for name, want := range map[string][]uint64{
		path: numbers(19, 20), path + ".1": numbers(16, 18), path + ".2": numbers(13, 15),
	} {
		if diff := cmp.Diff(want, seqs(t, name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", filepath.Base(name), diff)
		}
		info, err := os.Stat(name)
		if err != nil || info.Size() != size*int64(len(want)) {
			t.Errorf("%s has %d bytes (%v), want %d", name, info.Size(), err, size*int64(len(want)))
		}
	}
	if exists(path + ".3") {
		t.Error("a third file is kept, want two")
	}
	st := s.Stats()
	identity(t, st, 11)
	if st.Written != 11 || st.Rotations != 3 || st.Bytes != uint64(11*size) || st.State != StateClosed {
		t.Errorf("got %+v, want 11 written in 3 rotations", st)
	}
}

// A line that fills a file to the byte fits; one that is larger than a file is counted.
func TestRotationEdges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	size := lineBytes(t, 10)
	s, stop := running(t, Options{Path: path, MaxSize: 2 * size, Keep: 0})
	large := frame(11)
	large.Reason = strings.Repeat("x", int(2*size))
	for _, f := range []*Frame{frame(10), large, frame(12), frame(13)} {
		s.Offer(f)
	}
	stop()
	if diff := cmp.Diff(numbers(13, 13), seqs(t, path)); diff != "" {
		t.Errorf("kept 0 (-want +got):\n%s", diff)
	}
	if exists(path + ".1") {
		t.Error("a file is kept, want none")
	}
	st := s.Stats()
	identity(t, st, 4)
	if st.Written != 3 || st.Lost[LostTooLarge] != 1 || st.Rotations != 1 {
		t.Errorf("got %+v, want 3 written, 1 too large, 1 rotation", st)
	}
}

func TestRotationMovesUpToTheGap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	for name, text := range map[string]string{path: "now\n", path + ".1": "one\n", path + ".3": "three\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, stop := running(t, Options{Path: path, MaxSize: lineBytes(t, 10), Keep: 5})
	s.Offer(frame(10))
	stop()
	for name, want := range map[string]string{path + ".1": "now\n", path + ".2": "one\n", path + ".3": "three\n"} {
		if got, err := os.ReadFile(name); string(got) != want {
			t.Errorf("%s holds %q (%v), want %q", filepath.Base(name), got, err, want)
		}
	}
	if diff := cmp.Diff(numbers(10, 10), seqs(t, path)); diff != "" {
		t.Error(diff)
	}
}

func TestSecondStartAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	for start := uint64(0); start < 3; start++ {
		s, stop := running(t, Options{Path: path, MaxSize: 1 << 20, Keep: 1})
		s.Offer(frame(start))
		stop()
		if st := s.Stats(); st.Written != 1 || st.Repaired != 0 {
			t.Errorf("start %d: got %+v", start, st)
		}
	}
	if diff := cmp.Diff(numbers(0, 2), seqs(t, path)); diff != "" {
		t.Error(diff)
	}
}

// What an earlier life left half is cut off if it is ours, and ended if it is not.
func TestHalfLineAtStart(t *testing.T) {
	whole, err := frame(1).AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, before, want string }{
		{"empty", "", ""},
		{"whole", string(whole) + "\n", string(whole) + "\n"},
		{"half of ours", "words\n" + string(whole[:len(whole)/2]), "words\n"},
		{"first byte of ours", "words\n{", "words\n"},
		{"only half", string(whole[:30]), ""},
		{"foreign", "a\nno newline", "a\nno newline\n"},
		{"foreign and long", strings.Repeat("x", maxLineBytes+5), strings.Repeat("x", maxLineBytes+5) + "\n"},
		{"zeros of a power loss", "a\n\x00\x00\x00", "a\n\x00\x00\x00\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out.jsonl")
			if err := os.WriteFile(path, []byte(row.before), 0o600); err != nil {
				t.Fatal(err)
			}
			s, stop := running(t, Options{Path: path, MaxSize: 1 << 30, Keep: 1})
			s.Offer(frame(2))
			stop()
			line, _ := frame(2).AppendJSON(nil)
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if want := row.want + string(line) + "\n"; want != string(got) {
				t.Errorf("got %q, want %q", tail(got), tail([]byte(want)))
			}
			if repaired := s.Stats().Repaired; (repaired == 1) != (row.before != row.want) {
				t.Errorf("%d repairs are counted", repaired)
			}
		})
	}
}

func tail(b []byte) string { return string(b[max(0, len(b)-300):]) }

// Every cut of a line by a crash leaves a file that the next start makes whole.
func TestHalfLineOfAnyLength(t *testing.T) {
	dir := t.TempDir()
	line, err := full().AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	before := "{\"schema\":1,\"seq\":1}\n"
	for cut := 1; cut <= len(line); cut++ {
		path := filepath.Join(dir, fmt.Sprint(cut))
		if err := os.WriteFile(path, append([]byte(before), line[:cut]...), 0o600); err != nil {
			t.Fatal(err)
		}
		var c counters
		f := &target{path: path, maxSize: 1 << 20, counters: &c}
		if err := f.open(); err != nil {
			t.Fatal(err)
		}
		f.close()
		if got, _ := os.ReadFile(path); string(got) != before {
			t.Fatalf("after %d of %d bytes: got %q, want %q", cut, len(line), got, before)
		}
	}
}

// Two sinks on one file would cut each other's lines off: the second one says so.
func TestSecondWriterIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	first, stopFirst := running(t, Options{Path: path, MaxSize: 1 << 20, Keep: 1})
	first.Offer(frame(1))
	await(t, first, "the first line", func(st Stats) bool { return st.Written == 1 })
	second, _ := running(t, Options{Path: path, MaxSize: 1 << 20, Keep: 1})
	second.Offer(frame(2))
	st := await(t, second, "a refusal", func(st Stats) bool { return st.State == StateFailing })
	if !strings.Contains(st.Error, "another process") {
		t.Errorf("it says %q", st.Error)
	}
	stopFirst()
	await(t, second, "taking over", func(st Stats) bool { return st.Written == 1 && st.State == StateOK })
	if diff := cmp.Diff(numbers(1, 2), seqs(t, path)); diff != "" {
		t.Error(diff)
	}
}

// A file moved away, deleted or emptied by others is followed to where it should be.
func TestFileTouchedByOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	s, stop := running(t, Options{Path: path, MaxSize: 1 << 20, Keep: 1})
	say := func(seq uint64) {
		t.Helper()
		s.Offer(frame(seq))
		await(t, s, "a line", func(st Stats) bool { return st.Written == seq })
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	say(1)
	must(os.Rename(path, path+".old")) // logrotate
	say(2)
	must(os.Remove(path))
	say(3)
	must(os.Truncate(path, 0))
	say(4)
	say(5)
	must(os.RemoveAll(filepath.Dir(path)))
	say(6)
	stop()
	if diff := cmp.Diff(numbers(6, 6), seqs(t, path)); diff != "" {
		t.Errorf("after the folder was deleted (-want +got):\n%s", diff)
	}
	if st := s.Stats(); st.WriteErrors != 0 {
		t.Errorf("got %+v, want no errors", st)
	}
}

// A path that cannot be written is named, tried again, and taken when it can.
func TestPathThatComesLater(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "blocked")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(blocked, "out.jsonl")
	s, stop := running(t, Options{Path: path, MaxSize: 1 << 20, Keep: 1})
	st := await(t, s, "naming the fault before any frame", func(st Stats) bool { return st.State == StateFailing })
	if !strings.Contains(st.Error, "blocked") {
		t.Errorf("it says %q", st.Error)
	}
	s.Offer(frame(1))
	await(t, s, "another try", func(st Stats) bool { return st.WriteErrors >= 3 })
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	await(t, s, "recovery", func(st Stats) bool { return st.State == StateOK && st.Error == "" })
	stop()
	if diff := cmp.Diff(numbers(1, 1), seqs(t, path)); diff != "" {
		t.Error(diff)
	}
	identity(t, s.Stats(), 1)
}
