package client

import (
	"errors"
	"fmt"

	"github.com/skewgate/skewgate/appliance/sink"
	"github.com/skewgate/skewgate/shm"
)

// lookBack is how far back the names in an output ring are told again.
const lookBack = 127

// Reader is a consumer's attachment to the output ring.
type Reader struct {
	session *session
	streams streams
	output  *shm.Segment // nil: given back
	ring    *shm.Reader  // of output
	decoder sink.Decoder
	header  shm.SlotHeader
	body    []byte

	last             uint64 // detached: the ring's last message to be read
	read, lost, skip uint64 // of former attachments; skip of the present one too
}

// AttachReader asks the appliance for its output ring and all frame rings. It waits at
// most two seconds. A *RefusedError is the appliance's no.
func AttachReader(o Options) (*Reader, error) {
	r := &Reader{}
	var err error
	if r.session, err = newSession(&o, hello{Role: "reader"}); err != nil {
		return nil, err
	}
	r.session.adopt, r.session.hear, r.session.forget = r.adopt, r.hear, r.forget
	if err := r.session.attach(); err != nil {
		return nil, fmt.Errorf("attach to the output ring: %w", err)
	}
	return r, nil
}

// adopt begins at the ring's head, after it learned the names told before.
func (r *Reader) adopt(s *said, mapped map[string]*shm.Segment) error {
	output := mapped["output"]
	if output == nil {
		return fmt.Errorf("%w: an answer to a reader without an output ring", ErrProtocol)
	}
	back, err := shm.NewReader(output.Bytes())
	if err != nil {
		return err
	}
	ring, err := shm.NewReader(output.Bytes())
	if err != nil {
		return err
	}
	if err := r.streams.take(s, mapped); err != nil {
		return err
	}
	// From here on the former ring, if its end was not read, is given up for this one.
	r.drop()
	r.decoder, r.body = sink.Decoder{}, make([]byte, ring.PayloadBytes())
	back.Rewind(lookBack)
	for range lookBack {
		n, ok, err := back.Next(&r.header, r.body)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if r.header.Kind == shm.KindJSON {
			if err := r.decoder.Names(&r.header, r.body[:n]); err != nil {
				return err
			}
		}
	}
	r.ring, r.output, r.session.keep = ring, output, output
	return nil
}

// forget is called when the connection has ended. The appliance publishes its last frame
// before that, so all of them are under the head of now. One that lives on, and has only
// sent this reader away, does not keep it by what it adds.
func (r *Reader) forget() {
	r.streams.forget()
	if r.output != nil && r.session.stage == attached {
		r.last = r.position() + r.ring.Pending()
	}
}

// position is the last message read, or lost.
func (r *Reader) position() uint64 { return r.ring.Start() + r.ring.Read() + r.ring.Lost() }

// drop gives the ring back. What was not read of it is lost.
func (r *Reader) drop() {
	if r.output == nil {
		return
	}
	r.read, r.lost = r.read+r.ring.Read(), r.lost+r.ring.Lost()
	if r.session.stage != attached && r.last > r.position() {
		r.lost += r.last - r.position()
	}
	_ = r.output.Close()
	r.output, r.ring, r.session.keep = nil, nil, nil
}

func (r *Reader) hear(e *said) {
	if i := r.streams.find(e.Camera); e.Event == "stream_epoch" && i >= 0 {
		r.streams.all[i].epoch = e.StreamEpoch
	}
}

// Next returns the oldest frame not yet read, nil when there is none. It is valid until
// the next call. Frames published before the attachment are not seen; those published
// before the appliance went come before ErrDetached, also when another call has noticed
// its end. A re-attachment gives them up, and counts them lost.
func (r *Reader) Next(nowNS int64) (*sink.Frame, error) {
	for {
		if f, err := r.next(nowNS); f != nil || err != nil {
			return f, err
		}
		// The ring first, then the socket; and when that has ended the ring once more, for
		// what was published in between.
		err := r.session.advance(nowNS)
		if err == nil || r.output == nil || r.session.stage == attached {
			return nil, err
		}
	}
}

// next reads on in the ring. One whose appliance is gone is dropped at its end.
func (r *Reader) next(nowNS int64) (*sink.Frame, error) {
	gone := r.session.stage != attached
	for r.output != nil {
		var n int
		var ok bool
		var err error
		if !gone || r.position() < r.last {
			n, ok, err = r.ring.Next(&r.header, r.body)
		}
		if err != nil {
			if !gone {
				r.session.leave(nowNS, err)
			}
			r.drop()
			return nil, r.session.detached()
		}
		if !ok {
			if gone {
				r.drop()
			}
			return nil, nil
		}
		if r.header.Kind == shm.KindJSON {
			err = r.decoder.Names(&r.header, r.body[:n])
		} else {
			info, _ := r.ring.Stream(r.header.Stream)
			var f *sink.Frame
			if f, err = r.decoder.Frame(&r.header, info.Unit, info.Camera, r.body[:n]); err == nil {
				return f, nil
			}
		}
		switch {
		case errors.Is(err, sink.ErrNames), errors.Is(err, sink.ErrRecord):
			r.skip++ // that message alone
		case err != nil:
			return nil, err
		}
	}
	return nil, nil
}

// Read counts the messages read, names included; Lost those overwritten or given up
// before they could be; Skipped those read that could not be understood. All since
// AttachReader.
func (r *Reader) Read() uint64 {
	if r.output == nil {
		return r.read
	}
	return r.read + r.ring.Read()
}

// Lost is explained at Read.
func (r *Reader) Lost() uint64 {
	if r.output == nil {
		return r.lost
	}
	return r.lost + r.ring.Lost()
}

// Skipped is explained at Read.
func (r *Reader) Skipped() uint64 { return r.skip }

// Stream returns the number of a camera.
func (r *Reader) Stream(camera string) (int, error) { return r.streams.number(camera) }

// Cameras are all cameras by their stream numbers.
func (r *Reader) Cameras() []string { return r.streams.names() }

// Newest returns the newest picture of a camera in place; false: there is none yet.
func (r *Reader) Newest(stream int, nowNS int64) (Frame, bool, error) {
	if err := r.session.advance(nowNS); err != nil {
		return Frame{}, false, err
	}
	return r.streams.newest(stream)
}

// Valid says whether all that was read of picture seq so far was of that picture.
func (r *Reader) Valid(stream int, seq uint64) bool { return r.streams.valid(stream, seq) }

// Draining says that the appliance is about to end.
func (r *Reader) Draining() bool { return r.session.draining }

// Close detaches.
func (r *Reader) Close() error {
	err := r.session.close()
	r.drop()
	return err
}
