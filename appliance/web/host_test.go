package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
)

// Over TCP, with the real server: a name that is not ours gets nothing of the answer.
func TestHostHeaders(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, l, GuardHost("Box-7.lan:8080", Handler(&source{})), slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for host, want := range map[string]int{
		"127.0.0.1":              http.StatusOK,
		"127.0.0.1:8080":         http.StatusOK,
		"192.168.1.20:80":        http.StatusOK,
		"[::1]":                  http.StatusOK,
		"[::1]:8080":             http.StatusOK,
		"[fe80::1%25eth0]:8080":  http.StatusOK,
		"localhost":              http.StatusOK,
		"LOCALHOST:9999":         http.StatusOK,
		"localhost.:80":          http.StatusOK,
		"box-7.lan:8080":         http.StatusOK,
		"box-7.lan":              http.StatusOK,
		"evil.example":           http.StatusMisdirectedRequest,
		"evil.example:8080":      http.StatusMisdirectedRequest,
		"localhost.evil.example": http.StatusMisdirectedRequest,
		"127.0.0.1.evil.example": http.StatusMisdirectedRequest,
		"box-7.lan.evil.example": http.StatusMisdirectedRequest,
		"2130706433":             http.StatusMisdirectedRequest, // 127.0.0.1 to some resolvers
		"0x7f.1":                 http.StatusMisdirectedRequest,
	} {
		for _, path := range []string{"/healthz", "/api/v1/status", "/metrics", "/nothing"} {
			code, body := askAs(t, l.Addr().String(), host, path)
			expect := want
			if want == http.StatusOK && path == "/nothing" {
				expect = http.StatusNotFound
			}
			if code != expect {
				t.Errorf("Host %q, %s: want %d, got %d: %s", host, path, expect, code, body)
			}
		}
	}
	if code, _ := askAs(t, l.Addr().String(), "", "/healthz"); code < 400 {
		t.Errorf("an empty Host got %d", code)
	}
}

// askAs asks with a Host header of the test's choice, byte for byte.
func askAs(t *testing.T, addr, host, path string) (int, string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func FuzzHostHeader(f *testing.F) {
	for _, s := range []string{"", "[", "]", "[]", ":", "::1", "[::1]:", "a:b:c", "127.0.0.1:", "localhost.", "."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		for _, name := range []string{"evil.example", "evil.example:80"} {
			if hostIsOurs(name, plainHost(host)) && plainHost(host) != "evil.example" {
				t.Fatalf("%q is let in for %q", name, host)
			}
		}
		_ = hostIsOurs(host, "box")
	})
}
