package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxTasks bounds the tasks of one supervisor.
const maxTasks = 256

// Defaults of a Spec, in nanoseconds.
const (
	DefaultStartTimeoutNS = int64(30 * time.Second)
	DefaultStopTimeoutNS  = int64(10 * time.Second)
	// killWaitNS bounds the wait after SIGKILL, before the task is kill_pending.
	killWaitNS = int64(5 * time.Second)
)

// Spec describes one task: a child process that is to run until it is stopped.
type Spec struct {
	// Task is its name, as "capture/road" or "detect/people/0": up to 128 of
	// letters, digits, "/", "_", "-" and ".".
	Task string
	// Path is the program, absolute.
	Path string
	// Args come after argv[0], which is the base of Path. Every user can read them:
	// what is secret belongs in Hello.
	Args []string
	// Env is KEY=VALUE added to the few variables passed on from the parent (PATH,
	// HOME, TMPDIR, LANG, LC_ALL, TZ, LD_LIBRARY_PATH); the parent's others stay
	// with it, since they may hold secrets.
	Env []string
	// Files become descriptors 4, 5, … of every start. They are borrowed: whoever
	// made them keeps them open until the task is removed.
	Files []File
	// Hello is the child's job: anything that becomes JSON. It is encoded once, in Add.
	Hello any
	// StartTimeoutNS is how long a start may take to be ready, then it is killed;
	// 0: 30 s.
	StartTimeoutNS int64
	// StopTimeoutNS is how long an orderly end may take, then it is killed; SIGTERM
	// follows the request to drain at half of it; 0: 10 s.
	StopTimeoutNS int64
	Backoff       Backoff
	// LastFrame, if set, gives the id of the last frame the task has answered, for its
	// exit record. Called from the task's goroutine.
	LastFrame func() uint64
}

// File is an open file by the name the child knows it under.
type File struct {
	Name string
	F    *os.File
}

// Backoff is the wait before a restart: FirstNS, doubled for each further end in a row
// up to MaxNS, back to FirstNS once a start was ready for ResetNS. A child that had
// been ready comes back after FirstNS for the first three times in any case.
// Zero fields mean 0.5 s, 30 s and 60 s.
type Backoff struct{ FirstNS, MaxNS, ResetNS int64 }

var (
	taskName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9/_.-]{0,127}$`)
	fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9/_.-]{0,127}$`)
)

// passedOn names the parent's variables that every child gets.
var passedOn = []string{"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH"}

// check completes s with defaults and reports everything that is wrong with it.
func (s *Spec) check() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !taskName.MatchString(s.Task) {
		add("task %.40q: a name is 1 to 128 letters, digits, /, _, - and ., and begins with a letter or digit", s.Task)
	}
	if !filepath.IsAbs(s.Path) {
		add("task %s: program %q needs an absolute path", s.Task, s.Path)
	}
	if len(s.Files) > maxFiles {
		add("task %s: %d files, at most %d", s.Task, len(s.Files), maxFiles)
	}
	seen := make(map[string]bool)
	for _, f := range s.Files {
		switch {
		case !fileName.MatchString(f.Name):
			add("task %s: file name %.40q is not 1 to 128 letters, digits, /, _, - and .", s.Task, f.Name)
		case f.F == nil:
			add("task %s: file %q is not open", s.Task, f.Name)
		case seen[f.Name]:
			add("task %s: file %q is given twice", s.Task, f.Name)
		}
		seen[f.Name] = true
	}
	for _, kv := range s.Env {
		if i := strings.IndexByte(kv, '='); i <= 0 || strings.IndexByte(kv, 0) >= 0 {
			// The value may be a secret, so only the part before it is shown.
			key, _, _ := strings.Cut(kv, "=")
			add("task %s: environment entry beginning %.20q is not KEY=VALUE without NUL", s.Task, key)
		}
	}
	for name, v := range map[string]*int64{
		"start timeout": &s.StartTimeoutNS, "stop timeout": &s.StopTimeoutNS,
		"first back-off": &s.Backoff.FirstNS, "longest back-off": &s.Backoff.MaxNS, "back-off reset": &s.Backoff.ResetNS,
	} {
		if *v < 0 || *v > int64(24*time.Hour) {
			add("task %s: %s of %v is not between 0 and 24h", s.Task, name, time.Duration(*v))
		}
	}
	setDefault(&s.StartTimeoutNS, DefaultStartTimeoutNS)
	setDefault(&s.StopTimeoutNS, DefaultStopTimeoutNS)
	setDefault(&s.Backoff.FirstNS, int64(500*time.Millisecond))
	setDefault(&s.Backoff.MaxNS, int64(30*time.Second))
	setDefault(&s.Backoff.ResetNS, int64(60*time.Second))
	s.Backoff.MaxNS = max(s.Backoff.MaxNS, s.Backoff.FirstNS)
	s.Args, s.Env, s.Files = slices.Clone(s.Args), slices.Clone(s.Env), slices.Clone(s.Files)
	return errors.Join(errs...)
}

func setDefault(v *int64, d int64) {
	if *v == 0 {
		*v = d
	}
}

// hello builds the first packet of a start. job is the encoded Hello.
func (s *Spec) hello(start uint64, job json.RawMessage) ([]byte, error) {
	names := make([]string, len(s.Files))
	for i, f := range s.Files {
		names[i] = f.Name
	}
	return encode(order{Version: protocolVersion, Type: "hello", Task: s.Task, Start: start, Files: names, Job: job})
}

// environment is what a child of s gets.
func (s *Spec) environment() []string {
	var env []string
	for _, key := range passedOn {
		if v, ok := os.LookupEnv(key); ok {
			env = append(env, key+"="+v)
		}
	}
	// os.StartProcess hands duplicates on as they are, so a later one must win here.
	for _, kv := range s.Env {
		key, _, _ := strings.Cut(kv, "=")
		env = slices.DeleteFunc(env, func(have string) bool { return strings.HasPrefix(have, key+"=") })
		env = append(env, kv)
	}
	return append(env, controlEnv+"=3")
}
