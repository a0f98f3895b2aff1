package config

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

// Source is where a camera's pictures come from: a file, or an rtsp:// or rtsps:// URL.
// It may hold a password: every way of printing it gives the masked form, and only
// Reveal gives the text itself.
type Source struct{ text string }

// SourceKind tells the kinds apart.
type SourceKind string

const (
	SourceNone SourceKind = ""     // not one of ours
	SourceFile SourceKind = "file" // a film on disk
	SourceRTSP SourceKind = "rtsp"
)

// NewSource takes the text of a source as it stands; it is not checked.
func NewSource(text string) Source { return Source{text} }

// Reveal returns the source as ffmpeg needs it, password and all. Hand it to the
// capture's job and to nothing that prints.
func (s Source) Reveal() string { return s.text }

// String returns the source with its secrets masked.
func (s Source) String() string { return Mask(s.text) }

// Format masks under every verb: %d or %#v would otherwise print the field.
func (s Source) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText masks, so that JSON and YAML encoders cannot leak.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue masks in logs.
func (s Source) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Kind says what the text is.
func (s Source) Kind() SourceKind {
	scheme, _, isURL := strings.Cut(s.text, "://")
	switch {
	case !isURL && s.text != "":
		return SourceFile
	case isURL && (strings.EqualFold(scheme, "rtsp") || strings.EqualFold(scheme, "rtsps")):
		return SourceRTSP
	}
	return SourceNone
}

// host returns the host of a URL source, or "" when the URL cannot be read. The error
// of url.Parse quotes its input and is therefore never passed on.
func (s Source) host() string {
	u, err := url.Parse(s.text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func (s *Source) parse(text string) bool { s.text = text; return text != "" }

func (*Source) want() string { return "a film's path or an rtsp:// URL" }
