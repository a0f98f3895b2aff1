package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A process is one side of a run. It ends with its parent, or when its context does.
type process struct {
	name     string
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

// start runs command with files from descriptor 3 on.
func start(ctx context.Context, name string, command []string, files []*os.File) (*process, error) {
	p := &process{name: name, cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	p.cmd.ExtraFiles = files
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// wait returns what the process printed as its result.
func (p *process) wait() (*result, error) {
	if err := p.cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", p.name, err, strings.TrimSpace(p.err.String()))
	}
	var r result
	if text := p.out.Bytes(); len(text) > 0 { // a C writer has nothing to say
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("read result of %s: %w", p.name, err)
		}
	}
	return &r, nil
}

// runBoth starts the reader, then the writer, and returns both results. When one fails
// the other is ended.
func runBoth(ctx context.Context, limit time.Duration, reader, writer func(context.Context) (*process, error)) (read, wrote *result, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := reader(ctx)
	if err != nil {
		return nil, nil, err
	}
	w, err := writer(ctx)
	if err != nil {
		cancel()
		_, _ = r.wait() // it was ended; the writer's error says why
		return nil, nil, err
	}
	type ended struct {
		r   *result
		err error
	}
	wroteC := make(chan ended, 1)
	go func() {
		r, err := w.wait()
		if err != nil {
			cancel()
		}
		wroteC <- ended{r, err}
	}()
	read, readErr := r.wait()
	if readErr != nil {
		cancel()
	}
	end := <-wroteC
	// The first to fail took the other along: its words are the ones to read.
	for _, e := range []error{end.err, readErr} {
		if e != nil && !strings.Contains(e.Error(), "signal: killed") {
			return nil, nil, e
		}
	}
	for _, e := range []error{end.err, readErr} {
		if e != nil {
			return nil, nil, fmt.Errorf("not done within %v: %w", limit, e)
		}
	}
	return read, end.r, nil
}
