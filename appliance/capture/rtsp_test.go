package capture

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// rtspCamera is an RTSP 1.0 server (RFC 2326) as small as ffmpeg's client accepts:
// one H.264 track, interleaved on the control connection, Basic authentication. Its
// RTP packets are made by a real ffmpeg.
type rtspCamera struct {
	t        *testing.T
	film     string
	user     string // user:password
	listener net.Listener
	done     chan struct{}
}

func newRTSPCamera(t *testing.T, film, user string) *rtspCamera {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &rtspCamera{t: t, film: film, user: user, listener: l, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.serve(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-c.done })
	return c
}

func (c *rtspCamera) url(user string) string {
	return fmt.Sprintf("rtsp://%s@%s/live", user, c.listener.Addr())
}

func (c *rtspCamera) serve(conn net.Conn) {
	rtp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		c.t.Error(err)
		return
	}
	defer rtp.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in := bufio.NewReader(conn)
	for {
		method, headers, err := readRequest(in)
		if err != nil {
			return
		}
		reply := func(status, extra, body string) {
			fmt.Fprintf(conn, "RTSP/1.0 %s\r\nCSeq: %s\r\n%sContent-Length: %d\r\n\r\n%s", status, headers["cseq"], extra, len(body), body)
		}
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte(c.user))
		if method != "OPTIONS" && headers["authorization"] != want {
			reply("401 Unauthorized", "WWW-Authenticate: Basic realm=\"gate\"\r\n", "")
			continue
		}
		switch method {
		case "OPTIONS":
			reply("200 OK", "Public: DESCRIBE, SETUP, PLAY, TEARDOWN\r\n", "")
		case "DESCRIBE":
			reply("200 OK", "Content-Type: application/sdp\r\n", c.play(ctx, rtp.LocalAddr()))
		case "SETUP":
			if !strings.Contains(headers["transport"], "TCP") {
				c.t.Errorf("want RTP over TCP, the client asks for %q", headers["transport"])
			}
			reply("200 OK", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\nSession: 1\r\n", "")
		case "PLAY":
			reply("200 OK", "Session: 1\r\n", "")
			relay(conn, rtp)
			return
		default:
			reply("200 OK", "Session: 1\r\n", "")
		}
	}
}

// play starts the sender and returns its session description.
func (c *rtspCamera) play(ctx context.Context, to net.Addr) string {
	sdp := filepath.Join(c.t.TempDir(), "sdp")
	args := fmt.Sprintf("-v error -nostdin -re -stream_loop -1 -i %s -c copy -f rtp -sdp_file %s rtp://%s?pkt_size=1200", c.film, sdp, to)
	sender := exec.CommandContext(ctx, "ffmpeg", strings.Fields(args)...)
	if err := sender.Start(); err != nil {
		c.t.Error(err)
		return ""
	}
	go func() { _ = sender.Wait() }()
	for range 500 {
		b, err := os.ReadFile(sdp)
		if text := string(b); err == nil && strings.Contains(text, "fmtp") {
			return text[strings.Index(text, "v=0"):] + "a=control:track0\r\n"
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Error("the sender wrote no session description")
	return ""
}

// relay frames each RTP packet for the control connection until either side ends.
func relay(conn net.Conn, rtp net.PacketConn) {
	buf := make([]byte, 4+2048)
	for {
		if err := rtp.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
			return
		}
		n, _, err := rtp.ReadFrom(buf[4:])
		if err != nil {
			return
		}
		buf[0], buf[1], buf[2], buf[3] = '$', 0, byte(n>>8), byte(n)
		if _, err := conn.Write(buf[:4+n]); err != nil {
			return
		}
	}
}

func readRequest(in *bufio.Reader) (method string, headers map[string]string, err error) {
	headers = make(map[string]string)
	for first := true; ; first = false {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", nil, err
		}
		line = strings.TrimSpace(line)
		if first {
			method, _, _ = strings.Cut(line, " ")
			continue
		}
		if line == "" {
			n, _ := strconv.Atoi(headers["content-length"])
			_, err := in.Discard(n)
			return method, headers, err
		}
		key, value, _ := strings.Cut(line, ":")
		headers[strings.ToLower(key)] = strings.TrimSpace(value)
	}
}

// A real RTSP session with a password: pictures come, and the camera's loss is seen.
func TestRTSPCamera(t *testing.T) {
	c := newRTSPCamera(t, shapesFilm, "admin:geh@eim")
	l := quick
	l.first, l.between = 10*time.Second, 5*time.Second
	r := start(t, Job{Source: c.url("admin:geh%40eim"), Tag: TagBarcode}, 16, l)
	t.Cleanup(func() { r.stop() })
	r.epochs(1)
	for range 30 {
		m, _, ok := r.next(5 * time.Second)
		if !ok || m.Tag == NoTag {
			t.Fatalf("want pictures with their barcodes, got %+v %v", m, ok)
		}
	}
}

// A camera that refuses: the reason is told, the password never.
func TestRTSPCameraRefusesThePassword(t *testing.T) {
	c := newRTSPCamera(t, shapesFilm, "admin:right")
	r := start(t, Job{Source: c.url("admin:geh%40eim")}, 2, quick)
	r.await(StateRetrying, "401 Unauthorized", 8*time.Second)
	if err := r.stop(); err != nil {
		t.Errorf("want an orderly end, got %v", err)
	}
	all := fmt.Sprint(r.boss.told(), r.log)
	for _, secret := range []string{"geh", "eim"} {
		if strings.Contains(all, secret) {
			t.Errorf("the password is in what is told or logged: %s", all)
		}
	}
}
