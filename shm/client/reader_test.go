package client

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/sink"
	"github.com/skewgate/skewgate/shm"
)

// outputDesk is an appliance's end of the socket for readers, with a real output ring, that
// a test can end and begin again.
type outputDesk struct {
	t      *testing.T
	path   string
	output *sink.Ring
	seq    uint64
	file   *os.File
	l      *net.UnixListener
	conns  chan *net.UnixConn
}

func newOutputDesk(t *testing.T, path string) *outputDesk {
	t.Helper()
	c := shm.RingConfig{Slots: 128, PayloadBytes: 2048, Model: "fused"}
	s, err := shm.CreateSegment("output", c.Bytes())
	if err == nil {
		err = shm.FormatOutputRing(s.Bytes(), c)
	}
	d := &outputDesk{t: t, path: path, conns: make(chan *net.UnixConn, 4)}
	if err == nil {
		d.file, err = s.OpenReadOnly()
	}
	if err == nil {
		d.output, err = sink.NewRing(s.Bytes(), 7, "box", []string{"gate"}, []string{"a", "b"}, 1)
	}
	if err == nil {
		d.l, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	}
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := d.l.AcceptUnix()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, maxPacketBytes))
			packet := `{"ok":true,"abi":1,"unit":"box","cameras":[{"name":"gate","stream_epoch":1}],"files":["output"]}`
			_, _, _ = conn.WriteMsgUnix([]byte(packet), unix.UnixRights(int(d.file.Fd())), nil)
			d.conns <- conn
		}
	}()
	t.Cleanup(func() { d.l.Close(); <-served; d.file.Close(); s.Close() })
	return d
}

// publish gives the next n frames out.
func (d *outputDesk) publish(n int) {
	for range n {
		d.seq++
		d.output.Offer(&sink.Frame{Seq: d.seq, Unit: "box", Camera: "gate", StreamEpoch: 1, CaptureNS: 5, Reason: "quorum",
			Models: []sink.Answer{{Model: "a", CaptureNS: 5}}})
	}
}

// end is the appliance's: the socket closes.
func (d *outputDesk) end() {
	d.l.Close()
	(<-d.conns).Close()
}

// want reads frames first to last, and then the error, nil for nothing more at present.
func want(t *testing.T, r *Reader, nowNS int64, first, last uint64, is error) {
	t.Helper()
	for seq := first; seq <= last; seq++ {
		if f, err := r.Next(nowNS); f == nil || f.Seq != seq {
			t.Fatalf("want frame %d, got %+v, %v", seq, f, err)
		}
	}
	if f, err := r.Next(nowNS); f != nil || !errors.Is(err, is) {
		t.Fatalf("after frame %d: want %v, got %+v, %v", last, is, f, err)
	}
}

// The last frames of an appliance are read before its end is told, whoever has seen the end.
func TestReaderReadsToTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "attach.sock")
	d := newOutputDesk(t, path)
	r, err := AttachReader(Options{Socket: path})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	now := int64(1e9)
	d.publish(2)
	want(t, r, now, 1, 2, nil)

	// Another call sees the end; what a living one would add later does not keep us.
	d.publish(3)
	d.end()
	now += 2e6
	if _, _, err := r.Newest(0, now); !errors.Is(err, ErrDetached) {
		t.Fatalf("a picture after the end: %v", err)
	}
	d.publish(1)
	want(t, r, now, 3, 5, ErrDetached)
	if r.output != nil || r.Lost() != 0 {
		t.Errorf("a ring read to its end is kept: %v, or lost %d", r.output != nil, r.Lost())
	}

	// Frames that come between the look at the ring and the look at the socket: the event
	// before the end is heard in between.
	d = newOutputDesk(t, path)
	again(t, r, &now)
	hear := r.session.hear
	r.session.hear = func(e *said) { d.publish(4); hear(e) }
	conn := <-d.conns
	if _, err := conn.Write([]byte(`{"event":"stream_epoch","camera":"gate","stream_epoch":2}`)); err != nil {
		t.Fatal(err)
	}
	d.l.Close()
	conn.Close()
	now += 2e6
	want(t, r, now, 1, 4, ErrDetached)
	r.session.hear = hear

	// A re-attachment by another call gives up what was not read, and says how much.
	d = newOutputDesk(t, path)
	again(t, r, &now)
	d.publish(5)
	want(t, r, now, 1, 5, nil)
	read := r.Read()
	d.publish(3)
	d.end()
	now += 2e6
	if _, _, err := r.Newest(0, now); !errors.Is(err, ErrDetached) {
		t.Fatalf("a picture after the end: %v", err)
	}
	d = newOutputDesk(t, path)
	again(t, r, &now)
	if r.Lost() != 3 || r.Read() != read {
		t.Errorf("lost %d, read %d; want 3, %d", r.Lost(), r.Read(), read)
	}
	d.publish(1)
	want(t, r, now, 1, 1, nil)
}

// again attaches anew, by calls that look at pictures.
func again(t *testing.T, r *Reader, now *int64) {
	t.Helper()
	for range 1000 {
		*now += 100e6
		_, _, err := r.Newest(0, *now)
		if errors.Is(err, ErrReattached) {
			return
		}
		unixSleep()
	}
	t.Fatal("not attached again")
}

// unixSleep gives the other side a millisecond: this package's tests too do without time.
func unixSleep() { _, _ = unix.Poll(nil, 1) }

// Null is as good as no such key, an element of a list is never null, and an event of a later
// release may use our keys as it likes: as the C library has it.
func TestNullAndLaterEvents(t *testing.T) {
	for packet, is := range map[string]error{
		`{"ok":null,"abi":1,"files":[]}`:                             ErrProtocol,
		`{"ok":true,"abi":null,"files":[]}`:                          ErrProtocol,
		`{"ok":true,"abi":1,"unit":"u","cameras":[null],"files":[]}`: ErrProtocol,
		`{"ok":true,"abi":1,"unit":"u","cameras":[],"files":[null]}`: ErrProtocol,
		`{"ok":true,"abi":1,"unit":"u","cameras":null,"files":null}`: ErrProtocol, // no output ring
		`{"ok":true,"abi":1,"unit":"u","cameras":7,"files":[]}`:      ErrProtocol,
		`{"ok":5,"abi":1}`: ErrProtocol,
	} {
		if _, err := AttachReader(Options{Socket: strange(t, packet)}); !errors.Is(err, is) {
			t.Errorf("%s: want %v, got %v", packet, is, err)
		}
	}
	_, err := AttachReader(Options{Socket: strange(t, `{"ok":false,"code":null,"error":null,"abi":1}`)})
	var no *RefusedError
	if !errors.As(err, &no) || no.Code != "" {
		t.Errorf("a refusal of nulls: %v", err)
	}

	path := filepath.Join(t.TempDir(), "attach.sock")
	d := newOutputDesk(t, path)
	r, err := AttachReader(Options{Socket: path})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	conn, now := <-d.conns, int64(1e9)
	for _, event := range []string{
		`{"event":"of a later release","camera":{"x":[1]},"stream_epoch":-1}`, `{"event":7}`, `{"event":null}`,
		`{"event":"stream_epoch","camera":null,"stream_epoch":null}`, `{"event":"drain","reason":7}`,
	} {
		now += 2e6
		if _, err := conn.Write([]byte(event)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(now); err != nil {
			t.Errorf("%s: %v", event, err)
		}
	}
	if !r.Draining() {
		t.Error("drain was not heard")
	}
	if _, err := conn.Write([]byte(`{"event":"stream_epoch","camera":"gate","stream_epoch":-1}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(now + 2e6); !errors.Is(err, ErrProtocol) {
		t.Errorf("a stream_epoch below 0: %v", err)
	}
	conn.Close()
}
