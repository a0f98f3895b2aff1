package status

// Notes on a heartbeat that says nothing of its writer's life.
const (
	HeartbeatFuture   = "future"   // it is later than now
	HeartbeatNegative = "negative" // it is before the clock began
)

// HeartbeatAge is the age in ms of a heartbeat, both of CLOCK_MONOTONIC in ns; now is to be
// read after the heartbeat was. Nil is no age: without a note there was no heartbeat yet,
// else the note says what is wrong. The word is a child's, who may write anything there.
func HeartbeatAge(heartbeatNS, nowNS int64) (ageMS *int64, note string) {
	const ms = int64(1e6)
	switch {
	case heartbeatNS == 0:
		return nil, ""
	case heartbeatNS < 0:
		return nil, HeartbeatNegative
	case heartbeatNS-nowNS >= ms: // two processes' readings of one clock are closer
		return nil, HeartbeatFuture
	}
	age := max(0, nowNS-heartbeatNS) / ms
	return &age, ""
}
