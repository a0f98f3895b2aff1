package capture

import (
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMissingFilmIsRetriedAndFound(t *testing.T) {
	there := film(t, 5)
	late := filepath.Join(t.TempDir(), "late.mp4")
	r := start(t, Job{Source: late, Tag: TagBarcode}, 8, quick)
	n := r.await(StateRetrying, "No such file or directory", 5*time.Second)
	if n.report.RetryMS != quick.backoff.Milliseconds() {
		t.Errorf("want the first try after %v, got %d ms", quick.backoff, n.report.RetryMS)
	}
	if err := os.Rename(there, late); err != nil {
		t.Fatal(err)
	}
	checkFilm(t, r.take(5, nil), 640, 360, 1, 33333333)
	r.await(StateEnded, "", 5*time.Second)
	if err := r.stop(); err != nil {
		t.Errorf("want an orderly end, got %v", err)
	}
	if !strings.Contains(r.log.String(), "camera gate: retrying in 50ms: ffmpeg: file:"+late) {
		t.Errorf("want a line about the retry, got %q", r.log.String())
	}
}

func TestSourcesThatAreNoFilm(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	noise := make([]byte, 200_000)
	if _, err := io.ReadFull(rand.Reader, noise); err != nil {
		t.Fatal(err)
	}
	shapes, err := os.ReadFile(shapesFilm)
	if err != nil {
		t.Fatal(err)
	}
	sound := filepath.Join(dir, "sound.m4a")
	ffmpeg(t, "-f lavfi -i sine=d=1 -c:a aac "+sound)
	for _, tc := range []struct{ name, source, want string }{
		{"noise", write("noise.mp4", noise), "ffmpeg: "},
		{"empty", write("empty.mp4", nil), "Invalid data found"},
		{"text", write("text.mp4", []byte(strings.Repeat("not a film\n", 100))), "Invalid data found"},
		{"cut before its index", write("cut.mp4", shapes[:len(shapes)/2]), "Invalid data found"},
		{"a folder", dir, "ffmpeg: "},
		{"sound only", sound, "matches no streams"},
		{"nobody listens", "tcp://127.0.0.1:1", "Connection refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, Job{Source: tc.source}, 2, quick)
			r.await(StateRetrying, tc.want, 5*time.Second)
			if err := r.stop(); err != nil {
				t.Errorf("want an orderly end, got %v", err)
			}
		})
	}
}

func TestBackoffGrowsAndStartsOver(t *testing.T) {
	b := backoff{first: backoffFirst}
	var got []time.Duration
	for range 8 {
		got = append(got, b.after(0))
	}
	got = append(got, b.after(goodPass-1), b.after(goodPass), b.after(time.Second))
	s := time.Second
	want := []time.Duration{s / 2, s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s, 30 * s, s / 2, s}
	if !slices.Equal(want, got) {
		t.Errorf("want %v, got %v", want, got)
	}
}

func TestNoFFmpegIsPermanent(t *testing.T) {
	r := start(t, Job{Source: shapesFilm, FFmpeg: "no-such-ffmpeg"}, 2, quick)
	n := r.await(StateFailed, "ffmpeg not found", 5*time.Second)
	if !strings.Contains(n.report.Reason, "apt install ffmpeg") {
		t.Errorf("want the cure named, got %q", n.report.Reason)
	}
	if err := r.stop(); err == nil || !strings.Contains(err.Error(), `"no-such-ffmpeg"`) {
		t.Errorf("want an error naming the program, got %v", err)
	}
	if r.boss.ready {
		t.Error("want no ready without ffmpeg")
	}
}

// An ffmpeg that does not do what ours does: each ends as a named failure.
func TestForeignFFmpeg(t *testing.T) {
	script := func(text string) string {
		path := filepath.Join(t.TempDir(), "ffmpeg")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tc := range []struct{ name, program, want string }{
		{"says nothing and succeeds", script("exit 0"), "no picture"},
		{"says nothing and fails", script("exit 3"), "exit status 3"},
		{"prints text", script("echo hello world hello world hello world"), "file id"},
		{"is older than 5.1", script(`echo "[error] Unrecognized option 'fps_mode'." >&2; exit 1`), "older than 5.1"},
		{"is silent", script("exec sleep 60"), "silent"},
		{"stays after its stream", script("exec >&-; exec sleep 60"), "terminated"},
		{"ignores SIGTERM", script("trap '' TERM; exec >&-; while :; do sleep 1; done"), "killed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := quick
			l.first = time.Second
			r := start(t, Job{Source: shapesFilm, FFmpeg: tc.program}, 2, l)
			r.await(StateRetrying, tc.want, 8*time.Second)
		})
	}
}

func TestJobCheck(t *testing.T) {
	for _, tc := range []struct {
		name string
		job  Job
		want []string // nothing: the job is good
	}{
		{"film", Job{Source: "a.mp4"}, nil},
		{"camera", Job{Source: "rtsp://u:p@host/s", Pace: PaceRealtime, FPS: 12.5}, nil},
		{"all that is wrong", Job{Camera: "gate", Pace: "slow", Tag: "qr", FPS: -1}, []string{"gate", "source is empty", `pace "slow"`, `tag "qr"`, "fps -1"}},
		{"fast camera", Job{Source: "rtsp://host/s", Pace: PaceFast, Loop: true}, []string{"pace fast", "loop"}},
		{"slash in the password", Job{Source: "rtsp://u:geh/eim@host/s"}, []string{"%2F"}},
		{"no host", Job{Source: "rtsp:///s"}, []string{"no URL with a host"}},
		{"line break", Job{Source: "a\nb"}, []string{"line break"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.job.check()
			if len(tc.want) == 0 {
				if err != nil {
					t.Errorf("want no error, got %v", err)
				}
				return
			}
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("want an error with %q, got %v", want, err)
				}
			}
			if err != nil && strings.Contains(err.Error(), "eim") {
				t.Errorf("the password is in the error: %v", err)
			}
		})
	}
}

func TestBadJobEndsTheProcess(t *testing.T) {
	r := start(t, Job{Source: "rtsp://u:geheim@host/s", Pace: PaceFast}, 2, quick)
	r.await(StateFailed, "pace fast", 5*time.Second)
	if err := r.stop(); err == nil {
		t.Error("want an error, got none")
	}
}

func TestMask(t *testing.T) {
	const source = "rtsp://admin:geh%40eim@cam.local:554/live?token=abc123"
	m := newMasker(source)
	for _, tc := range []struct{ text, want string }{
		{source + ": Connection refused", "rtsp://***@cam.local:554/live?token=*** Connection refused"},
		{"password geh%40eim or geh@eim", "password *** or ***"},
		{"rtsp://u:p@ss@host/x and http://a:b@c", "rtsp://***@host/x and http://***@c"},
		{"?user=x&Passwd=secret&y=1", "?user=x&Passwd=***&y=1"},
		{"rtsp://cam.local/live: timed out", "rtsp://cam.local/live: timed out"},
	} {
		if got := m.mask(tc.text); got != tc.want {
			t.Errorf("mask %q: want %q, got %q", tc.text, tc.want, got)
		}
	}
	if got := newMasker("films/a.mp4").mask("films/a.mp4: No such file"); got != "films/a.mp4: No such file" {
		t.Errorf("want a film's path untouched, got %q", got)
	}
}

func TestTail(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"error before a warning", "[h264 @ 0x1] [error] no frame!\n[x @ 0x2] [warning] odd\n", "no frame!"},
		{"warning only", "[mpegts @ 0x1] [warning] consider more\n", "consider more"},
		{"no level", "ffmpeg: symbol lookup error\n", "ffmpeg: symbol lookup error"},
		{"no line end", "[fatal] gone", "gone"},
		{"long line", strings.Repeat("x", 10_000) + "\n", strings.Repeat("x", tailLineBytes)},
		{"many lines", strings.Repeat("y\n", 10_000), "y"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b tail
			for i := 0; i < len(tc.text); i += 7 { // in pieces
				if n, err := b.Write([]byte(tc.text[i:min(i+7, len(tc.text))])); err != nil || n == 0 {
					t.Fatal(n, err)
				}
			}
			if got := b.reason(); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
			if len(b.lines) > tailLines {
				t.Errorf("want at most %d lines kept, got %d", tailLines, len(b.lines))
			}
		})
	}
}
