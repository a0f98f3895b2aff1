package capture

import "time"

const (
	backoffFirst = 500 * time.Millisecond
	backoffMax   = 30 * time.Second
	// goodPass is how long a source must have delivered to start over from backoffFirst.
	goodPass = 5 * time.Second
)

// backoff is the wait before the next try of a source.
type backoff struct{ first, next time.Duration }

// after returns the wait after a pass that delivered pictures for that long.
func (b *backoff) after(delivered time.Duration) time.Duration {
	if delivered >= goodPass || b.next == 0 {
		b.next = b.first
	}
	wait := b.next
	b.next = min(2*b.next, backoffMax)
	return wait
}
