package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// GuardHost refuses requests whose Host header names anything but this machine: an address,
// localhost, or the host of the listen address. A page in a browser can have a name of
// its own made to mean 127.0.0.1 (DNS rebinding) and then read the answers as its own; what
// it cannot do is send another Host than that name.
func GuardHost(listen string, h http.Handler) http.Handler {
	own, _, err := net.SplitHostPort(listen)
	if err != nil {
		own = listen
	}
	own = plainHost(own)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hostIsOurs(r.Host, own) {
			http.Error(w, fmt.Sprintf("the Host header %q is not this appliance: ask by its address, by localhost, or by the host of http.listen", r.Host),
				http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// hostIsOurs judges a Host header, HOST or HOST:PORT. The port is no matter: tunnels change
// it, and no page gets another one past its browser's rules.
func hostIsOurs(header, own string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	host = plainHost(host)
	if host == "" {
		return false // HTTP/1.0, or a request made to look odd
	}
	if host == "localhost" || host == own {
		return true
	}
	_, err = netip.ParseAddr(host)
	return err == nil
}

// plainHost is a name without case and the dot that ends it.
func plainHost(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }
