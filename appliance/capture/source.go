package capture

import (
	"errors"
	"net/url"
	"strings"
)

// isLive tells a live source from a film: a film is a path, or a file: URL.
func isLive(source string) bool {
	scheme, _, isURL := strings.Cut(source, "://")
	return isURL && !strings.EqualFold(scheme, "file")
}

func isRTSP(source string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(source), "://")
	return scheme == "rtsp" || scheme == "rtsps"
}

// input is the source as ffmpeg's -i takes it. A path gets the scheme file:, for
// ffmpeg takes a colon in a name ("a:b.mp4", "concat:…") for a protocol of its own.
func input(source string) string {
	if isLive(source) || strings.HasPrefix(source, "file:") {
		return source
	}
	return "file:" + source
}

// checkSource refuses what could never be opened. Its errors never quote a URL.
func checkSource(source string) error {
	switch {
	case source == "":
		return errors.New("source is empty: name a film's path or an rtsp:// URL")
	case strings.ContainsAny(source, "\x00\n\r"):
		return errors.New("source holds a line break or NUL byte")
	case isLive(source):
		// url.Parse quotes its input in errors, password and all, so its own is dropped.
		if u, err := url.Parse(source); err != nil || u.Host == "" {
			return errors.New("source is no URL with a host: write rtsp://user:password@host/path, with %40 for an @ and %2F for a / in the password")
		}
	}
	return nil
}
