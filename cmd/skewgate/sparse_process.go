package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/supervise"
)

// sparsePeer is a detector in another language, as its user starts it.
type sparsePeer struct {
	name, model string
	program     string // a path, or a name looked up in PATH
	needs       []sparseNeed
	args        []string // before what it says of pictures without a find
	env         []string
}

// sparseNeed is a program or a file that has to be there, and what brings it.
type sparseNeed struct {
	path, cure string
	program    bool
}

// pythonProgram is the Python of this machine.
func pythonProgram() string { return cmp.Or(os.Getenv("SKEWGATE_PYTHON"), "python3") }

// sparsePeers are the examples of the C library and of the Python binding. At these limits they
// find something in a tenth of the film's pictures; the one in Python looks at each fourth row.
func sparsePeers(o demoOptions) []sparsePeer {
	build := "build it with `make -C shm/c`"
	if _, err := exec.LookPath(cmp.Or(os.Getenv("CC"), "cc")); err != nil {
		build = "install a C compiler (`apt-get install gcc libc6-dev make`) and " + build
	}
	inC := filepath.Join(o.cLibrary, "example_detector")
	library := filepath.Join(o.cLibrary, "libskewgate_shm.so")
	binding := filepath.Join(o.checkout, "shm", "python")
	inPython := filepath.Join(binding, "examples", "sparse.py")
	python := pythonProgram()
	return []sparsePeer{
		{
			name: "C", model: "c", program: inC, args: []string{"c", "0.67"},
			needs: []sparseNeed{{inC, build, true}},
		},
		{
			name: "Python", model: "python", program: python, args: []string{inPython, "python", sparseCamera, "0.6737"},
			needs: []sparseNeed{
				{python, "install it (`apt-get install python3`)", true}, {library, build, false},
				{inPython, "name the films of a whole checkout with --films", false},
			},
			env: []string{"SKEWGATE_SHM_LIB=" + library, "PYTHONPATH=" + binding, "PYTHONDONTWRITEBYTECODE=1"},
		},
	}
}

// missing says what is not there and what brings it, or "".
func (p *sparsePeer) missing() string {
	for _, n := range p.needs {
		_, err := os.Stat(n.path)
		if n.program {
			_, err = exec.LookPath(n.path)
		}
		if err != nil {
			return fmt.Sprintf("%s not found: %s", n.path, n.cure)
		}
	}
	return ""
}

// sparseProcess is a running one. It dies with this process, however that ends.
type sparseProcess struct {
	thread *supervise.Thread
	proc   *os.Process
	output string        // the file with what it said
	ended  chan struct{} // closed when it has
}

// stopWithin is how long a detector may take to end when it is asked to.
const stopWithin = 2 * time.Second

func startSparse(p *sparsePeer, says, dir string) (*sparseProcess, error) {
	program, err := exec.LookPath(p.program)
	if err != nil {
		return nil, err
	}
	s := &sparseProcess{output: filepath.Join(dir, p.model+".log"), ended: make(chan struct{})}
	output, err := os.Create(s.output)
	if err != nil {
		return nil, fmt.Errorf("keep what a detector says: %w", err)
	}
	defer output.Close()
	if s.thread, err = supervise.NewThread(); err != nil {
		return nil, err
	}
	s.proc, err = s.thread.Start(program, append(append([]string{p.program}, p.args...), says), &os.ProcAttr{
		Env:   append(append(os.Environ(), p.env...), "SKEWGATE_ATTACH="+filepath.Join(dir, "run", "attach.sock")),
		Files: []*os.File{nil, output, output},
		Sys:   &unix.SysProcAttr{Setpgid: true}, // Ctrl-C is for the demo, which ends it
	})
	if err != nil {
		s.thread.Close()
		return nil, err
	}
	go func() {
		defer close(s.ended)
		_, _ = s.proc.Wait() // how it ended is no news: what it said is
	}()
	return s, nil
}

// done is closed when the process has ended. Without one it never is.
func (s *sparseProcess) done() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.ended
}

// reason is why it ended by itself, as its last line says.
func (s *sparseProcess) reason() error {
	said, err := os.ReadFile(s.output)
	if err != nil {
		return fmt.Errorf("it ended, and what it said cannot be read: %w", err)
	}
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	return fmt.Errorf("it ended by itself and said: %s", strings.ToValidUTF8(cmp.Or(string(lines[len(lines)-1]), "nothing"), "?"))
}

// stop asks it to end, and ends it.
func (s *sparseProcess) stop() error {
	defer s.thread.Close()
	err := s.proc.Signal(unix.SIGTERM)
	select {
	case <-s.ended:
		err = nil
	case <-time.After(stopWithin):
		err = s.proc.Kill()
		<-s.ended
	}
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	return errors.Join(err, os.Remove(s.output))
}
