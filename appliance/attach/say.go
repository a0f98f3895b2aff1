package attach

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// linesPerSecond bounds what strangers can make the appliance log.
const linesPerSecond = 10

// spoken counts lines in the present second and those left out since the last line.
type spoken struct {
	mu     sync.Mutex
	second int64
	lines  int
	left   int
}

// may says whether one more line may be logged, and how many were left out before it.
func (p *spoken) may(second int64) (ok bool, left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if second != p.second {
		p.second, p.lines = second, 0
	}
	if p.lines >= linesPerSecond {
		p.left++
		return false, 0
	}
	p.lines++
	left, p.left = p.left, 0
	return true, left
}

// say logs what a client did.
func (s *Server) say(level slog.Level, text string, args ...any) {
	ok, left := s.spoken.may(time.Now().Unix())
	if !ok {
		return
	}
	if left > 0 {
		args = append(args, "lines_left_out", left)
	}
	s.o.Log.Log(context.Background(), level, text, args...)
}
