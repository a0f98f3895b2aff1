package client

import (
	"os"
	"path/filepath"
)

// Options of an attachment. The zero value attaches at the usual place.
type Options struct {
	// Socket is the path of attach.sock; "" is $SKEWGATE_ATTACH or, without that,
	// /run/skewgate/attach.sock for root and $XDG_RUNTIME_DIR/skewgate/attach.sock.
	Socket string
	Client string // name and version, only shown; at most 64 bytes
}

func (o *Options) socket() string {
	if o.Socket != "" {
		return o.Socket
	}
	if path := os.Getenv("SKEWGATE_ATTACH"); path != "" {
		return path
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); os.Geteuid() != 0 && dir != "" {
		return filepath.Join(dir, "skewgate", "attach.sock")
	}
	return "/run/skewgate/attach.sock"
}
