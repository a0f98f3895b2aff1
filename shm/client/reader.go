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
	ring    *shm.Reader
	decoder sink.Decoder
	header  shm.SlotHeader
	body    []byte
	skipped uint64
}

// AttachReader asks the appliance for its output ring and all frame rings. It waits at
// most two seconds. A *RefusedError is the appliance's no.
func AttachReader(o Options) (*Reader, error) {
	r := &Reader{}
	var err error
	if r.session, err = newSession(&o, hello{Role: "reader"}); err != nil {
		return nil, err
	}
	r.session.adopt, r.session.hear, r.session.forget = r.adopt, r.hear, r.streams.forget
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
	if r.ring, err = shm.NewReader(output.Bytes()); err != nil {
		return err
	}
	r.decoder, r.body = sink.Decoder{}, make([]byte, r.ring.PayloadBytes())
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
	return r.streams.take(s, mapped)
}

func (r *Reader) hear(e *said) {
	if i := r.streams.find(e.Camera); e.Event == "stream_epoch" && i >= 0 {
		r.streams.all[i].epoch = e.StreamEpoch
	}
}

// Next returns the oldest frame not yet read, nil when there is none. It is valid until
// the next call. Frames published before the attachment are not seen.
func (r *Reader) Next(nowNS int64) (*sink.Frame, error) {
	// First the ring, then the socket: what was published before the end is read before it.
	if r.session.stage == attached {
		if f, err := r.next(nowNS); f != nil || err != nil {
			return f, err
		}
	}
	if err := r.session.advance(nowNS); err != nil {
		return nil, err
	}
	return r.next(nowNS)
}

func (r *Reader) next(nowNS int64) (*sink.Frame, error) {
	for {
		n, ok, err := r.ring.Next(&r.header, r.body)
		if err != nil {
			r.session.leave(nowNS, err)
			return nil, r.session.detached()
		}
		if !ok {
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
			r.skipped++ // that message alone
		case err != nil:
			return nil, err
		}
	}
}

// Read counts the messages read, names included; Lost those overwritten before they could
// be; Skipped those read that could not be understood. All since the attachment.
func (r *Reader) Read() uint64    { return r.ring.Read() }
func (r *Reader) Lost() uint64    { return r.ring.Lost() }
func (r *Reader) Skipped() uint64 { return r.skipped }

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
func (r *Reader) Close() error { return r.session.close() }
