package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// askAppliance asks a running appliance over its control socket and says in words what went
// wrong. timeout bounds the whole exchange; 0 = as long as it goes on.
func askAppliance(ctx context.Context, runDir, question string, timeout time.Duration) (*http.Response, error) {
	path := filepath.Join(runDir, "control.sock")
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://skewgate"+question, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ECONNREFUSED):
		return nil, fmt.Errorf("no appliance answers on %s: start one with `skewgate run`, or name its folder with --run-dir", path)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("may not open %s: run as root or as the appliance's user", path)
	case err != nil:
		return nil, fmt.Errorf("ask the appliance: %w", err)
	case resp.StatusCode == http.StatusOK:
		return resp, nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4096)) // the status alone says enough
	var problem struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &problem) != nil || problem.Error == "" {
		problem.Error = string(bytes.TrimSpace(body))
	}
	return nil, &answerError{resp.StatusCode, resp.Status, problem.Error}
}

// answerError is an answer that is none.
type answerError struct {
	code   int
	status string
	text   string
}

func (e *answerError) Error() string { return "the appliance answered " + e.status + ": " + e.text }
