package config

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// unit checks the appliance's name and where its state lives.
func (c *checker) unit() {
	c.name("unit", c.cfg.Unit)
	if c.cfg.StateDir == "" {
		c.cfg.StateDir = DefaultStateDir(os.Geteuid(), c.opts.LookupEnv)
		if c.cfg.StateDir == "" {
			c.failAt("state_dir", "missing, and neither XDG_STATE_HOME nor HOME is set", "name the folder that keeps the appliance's state")
		}
	}
	c.cfg.StateDir = resolve(c.dir, c.cfg.StateDir)
	c.notAFile("state_dir", c.cfg.StateDir)
}

// runtime checks what is named outright. What is searched for belongs to the machine and
// is the doctor's affair, so that a config can be checked anywhere.
func (c *checker) runtime() {
	r := &c.cfg.Runtime
	c.withinInt("runtime.threads", r.Threads, 1, 256)
	r.Library = resolve(c.dir, r.Library)
	r.Detect = resolve(c.dir, r.Detect)
	if strings.Contains(r.FFmpeg, "/") { // a bare name is looked up in PATH
		r.FFmpeg = resolve(c.dir, r.FFmpeg)
		c.isFile("runtime.ffmpeg", r.FFmpeg, true)
	}
	c.need("runtime.ffmpeg", r.FFmpeg == "", "name the program, such as ffmpeg: ffmpeg")
	c.isFile("runtime.library", r.Library, false)
	c.isFile("runtime.detect", r.Detect, true)
}

// isFile checks a file that the config names outright; "" means it is searched for.
func (c *checker) isFile(key, path string, program bool) {
	if path == "" || c.failed(key) {
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		c.failAt(key, fmt.Sprintf("%s: %v", c.hide.show(path), bare(err)), "correct the path, or delete the line for the default")
	case info.IsDir():
		c.failAt(key, c.hide.show(path)+" is a folder", "name the file in it")
	case program && info.Mode()&0o111 == 0:
		c.failAt(key, c.hide.show(path)+" is not executable", "chmod +x it, or name the program itself")
	}
}

// notAFile checks a folder that is made when it is needed.
func (c *checker) notAFile(key, path string) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		c.failAt(key, c.hide.show(path)+" is not a folder", "name a folder; it is made when it is not there")
	}
}

// path refuses the one pair of settings that can take a core away from everything else:
// a spinning thread that the scheduler must not interrupt.
func (c *checker) path() {
	p := c.cfg.Path
	if p.Wait != WaitSpin {
		return
	}
	isolated := false
	if text, err := os.ReadFile(c.opts.IsolatedCPUs); err == nil {
		isolated = strings.TrimSpace(string(text)) != ""
	}
	switch {
	case isolated:
	case p.Sched == SchedFIFO:
		c.failAt("path.sched", "fifo with wait: spin needs an isolated core, and the kernel has none: the spinning thread would take a core from everything else for good",
			"boot with isolcpus=, or take wait: adaptive")
	default:
		c.warnAt("path.wait", "spin burns a whole core, and the kernel has none isolated for it", "take adaptive unless a core is free for it")
	}
}

// correlation checks bounds, then R000-11: with max_age ≤ timeout the sweep, which judges
// stale before timeout, would drop every frame that waits for a model.
func (c *checker) correlation() {
	r := &c.cfg.Correlation
	c.withinTime("correlation.quantum", r.Quantum, 0, time.Minute)
	timeoutGood := c.withinTime("correlation.timeout", r.Timeout, time.Millisecond, time.Minute)
	ageGood := c.withinTime("correlation.max_age", r.MaxAge, time.Millisecond, 10*time.Minute)
	if timeoutGood && ageGood && r.MaxAge <= r.Timeout {
		key := "correlation.max_age"
		if _, set := c.seen[key]; !set {
			key = "correlation.timeout"
		}
		c.failAt(key, fmt.Sprintf("max_age (%s) is not greater than timeout (%s): every frame would be dropped as stale before its timeout publishes it", short(r.MaxAge), short(r.Timeout)),
			"raise max_age or lower timeout")
	}
	if c.has("correlation.window") {
		c.withinTime("correlation.window", r.Window, minWindow, maxWindow)
	}
	c.withinInt("correlation.max_pending", r.MaxPending, 1, 1<<16)
	if c.withinTime("correlation.hung_after", r.HungAfter, 100*time.Millisecond, time.Hour) && r.HungAfter <= r.Timeout {
		c.warnAt("correlation.hung_after", "a detector counts as hung before a frame's timeout is over", "take some times the timeout")
	}
}

// http takes port 0, too: the kernel then picks a free one.
func (c *checker) http() {
	const key = "http.listen"
	listen := c.cfg.HTTP.Listen
	if listen == "" {
		return
	}
	host, port, err := net.SplitHostPort(listen)
	if n, errPort := strconv.ParseUint(port, 10, 16); err != nil || errPort != nil || strconv.FormatUint(n, 10) != port {
		c.failAt(key, fmt.Sprintf("%s is not host:port", c.shownAt(key)), "write it as 127.0.0.1:8080 or [::1]:8080")
		return
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		c.warnAt(key, "the status is readable by whoever reaches this address", "take 127.0.0.1 unless others are meant to read it")
	}
}
