package attach

import "log/slog"

// SetEpoch says that a camera's pictures carry this stream_epoch from now on.
func (s *Server) SetEpoch(camera int, epoch uint32) {
	s.epochs[camera].Store(epoch)
	select {
	case s.wake <- struct{}{}:
	default: // a token is there already
	}
}

// tellEpochs passes new stream_epochs on. Who does not read is sent away, for it would
// work with an epoch that is over.
func (s *Server) tellEpochs() {
	for {
		select {
		case <-s.wake:
		case <-s.ended:
			return
		}
		// Sending never waits, so holding the lock meanwhile delays nobody but other clients.
		s.mu.Lock()
		for c := range s.conns {
			for i, at := range c.cameras {
				epoch := s.epochs[at].Load()
				if c.told[i] == epoch { // only the newest is told, however many there were
					continue
				}
				c.told[i] = epoch
				if err := c.send(packet(event{Event: "stream_epoch", Camera: s.o.Cameras[at].Name, StreamEpoch: &epoch}), nil); err != nil {
					s.say(slog.LevelWarn, "attached client does not hear", "desk", c.where(), "pid", c.peer.PID, "err", err)
					_ = c.c.Close()
					break
				}
			}
		}
		s.mu.Unlock()
	}
}

// Drain tells all clients to finish, and lets nobody in any more.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for c := range s.conns {
		_ = c.send(packet(event{Event: "drain"}), nil) // who cannot hear it sees the end
	}
}

// Close ends all connections and Serve's helpers; the listener is the caller's to close.
func (s *Server) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed, s.draining = true, true
	all := make([]*conn, 0, len(s.conns)+len(s.half))
	for c := range s.conns {
		all = append(all, c)
	}
	for c := range s.half {
		all = append(all, c)
	}
	s.mu.Unlock()
	// Each connection's own goroutine sees its end and takes itself off the books.
	close(s.ended)
	for _, c := range all {
		c.end("the appliance ends")
	}
}
