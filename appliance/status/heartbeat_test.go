package status

import (
	"math"
	"strings"
	"testing"
)

func TestHeartbeatAge(t *testing.T) {
	const now = int64(5e9)
	for _, tc := range []struct {
		name      string
		heartbeat int64
		ageMS     int64 // -1 = none
		note      string
	}{
		{"none yet", 0, -1, ""},
		{"long ago", 1, 4999, ""},
		{"a moment ago", now - 1_999_999, 1, ""},
		{"now", now, 0, ""},
		{"read a moment later", now + 999_999, 0, ""},
		{"in the future", now + 1_000_000, -1, HeartbeatFuture},
		{"at the end of time", math.MaxInt64, -1, HeartbeatFuture},
		{"before time", -1, -1, HeartbeatNegative},
		{"as far before as can be", math.MinInt64, -1, HeartbeatNegative},
	} {
		age, note := HeartbeatAge(tc.heartbeat, now)
		got := int64(-1)
		if age != nil {
			got = *age
		}
		if got != tc.ageMS || note != tc.note {
			t.Errorf("%s: want %d, %q, got %d, %q", tc.name, tc.ageMS, tc.note, got, note)
		}
	}
}

// A detector whose heartbeat makes no sense is named: its age cannot tell that it hangs.
func TestOddHeartbeatIsAFinding(t *testing.T) {
	for _, m := range []Model{
		{Name: "mine", State: "attached", Foreign: true, Peer: &Peer{PID: 7}, HeartbeatNote: HeartbeatFuture},
		{Name: "mine", State: "ready", HeartbeatNote: HeartbeatNegative},
	} {
		d := &Document{State: "running", Models: []Model{m}}
		found := false
		for _, f := range Examine(d) {
			found = found || f.Code == CodeModelDown && strings.Contains(f.Text, m.HeartbeatNote) && f.Subject == "mine/0" && f.Next != ""
		}
		if !found {
			t.Errorf("%+v: no finding among %+v", m, Examine(d))
		}
	}
}
