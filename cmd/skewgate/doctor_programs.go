package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// -fps_mode, which keeps each picture's time, came with ffmpeg 5.1.
const minFFmpegMajor, minFFmpegMinor = 5, 1

func (d *doctor) ffmpeg(name string) {
	path, err := exec.LookPath(name)
	if err != nil {
		d.finding("ffmpeg", fmt.Sprintf("%s: %v", name, errors.Unwrap(err)), "install it (apt-get install ffmpeg), or name it in runtime.ffmpeg")
		return
	}
	out, err := d.run(path, "-version")
	if err != nil {
		d.finding("ffmpeg", fmt.Sprintf("run %s: %v", path, err), "reinstall it")
		return
	}
	// "ffmpeg version 5.1.6-0+deb12u1 Copyright …"; builds from git say N-… in its place.
	fields := strings.Fields(string(out))
	if len(fields) < 3 || fields[0] != "ffmpeg" || fields[1] != "version" {
		d.finding("ffmpeg", path+" does not say an ffmpeg version", "name the real one in runtime.ffmpeg")
		return
	}
	release := fields[2]
	if major, minor := leadingVersion(release); !strings.HasPrefix(release, "N-") && (major < minFFmpegMajor || major == minFFmpegMajor && minor < minFFmpegMinor) {
		d.finding("ffmpeg", fmt.Sprintf("%s is version %s", path, release), fmt.Sprintf("install %d.%d or newer", minFFmpegMajor, minFFmpegMinor))
		return
	}
	d.fine("ffmpeg", "%s, version %s", path, release)
}

// maxOutput bounds what is kept of a program's output.
const maxOutput = 1 << 20

// run runs a program and returns its standard output. Its error ends in the last line
// that it wrote on standard error.
func (d *doctor) run(path string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(d.ctx, stepLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var stdout, stderr boundedBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = stepLimit / 10
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer within %s", stepLimit)
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(stderr)), "\n")
		if last := lines[len(lines)-1]; last != "" {
			err = fmt.Errorf("%w: %s", err, last)
		}
	}
	return stdout, err
}

// boundedBuffer keeps the first maxOutput bytes and swallows the rest.
type boundedBuffer []byte

func (b *boundedBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), maxOutput-len(*b))]...)
	return len(p), nil
}
