package machine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tickNS is what /proc/stat counts in: USER_HZ is 100 on every Linux that Go runs on.
const tickNS = 10_000_000

// Usage is a reading of the processors' counters. Two make a Load.
type Usage struct {
	at      time.Time
	busyNS  int64 // all processors, all processes, interrupts
	stealNS int64 // the hypervisor ran somebody else
	ownNS   int64 // this process and those of its children that were waited for
}

// ReadUsage reads them now.
func ReadUsage() (Usage, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Usage{}, fmt.Errorf("read processor usage: %w", err)
	}
	u, err := parseUsage(string(text))
	if err != nil {
		return Usage{}, err
	}
	u.at = time.Now()
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if err := unix.Getrusage(who, &r); err != nil {
			return Usage{}, fmt.Errorf("read own processor usage: %w", err)
		}
		u.ownNS += r.Utime.Nano() + r.Stime.Nano()
	}
	return u, nil
}

// parseUsage takes the first line of /proc/stat: user nice system idle iowait irq
// softirq steal, in ticks; guest time is in user already.
func parseUsage(text string) (Usage, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return Usage{}, fmt.Errorf("read /proc/stat: first line is %q, want cpu and eight counters", line)
	}
	var ticks [8]int64
	for i := range ticks {
		n, err := strconv.ParseInt(fields[i+1], 10, 64)
		if err != nil {
			return Usage{}, fmt.Errorf("read /proc/stat: %w", err)
		}
		ticks[i] = n * tickNS
	}
	return Usage{busyNS: ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6], stealNS: ticks[7]}, nil
}

// Load is what went on between two readings, in processors kept busy.
type Load struct {
	Others float64 `json:"others_cores"` // by processes that are none of ours
	Steal  float64 `json:"steal_cores"`  // by the hypervisor
	Own    float64 `json:"own_cores"`
}

// Since is the load from before to u. Ticks make it coarse: 0.01 cores over a second.
func (u Usage) Since(before Usage) Load {
	wall := float64(u.at.Sub(before.at))
	if wall <= 0 {
		return Load{}
	}
	own := float64(u.ownNS - before.ownNS)
	return Load{
		Others: max(0, float64(u.busyNS-before.busyNS)-own) / wall,
		Steal:  float64(u.stealNS-before.stealNS) / wall,
		Own:    own / wall,
	}
}

// Worst takes of each figure the larger one.
func (l Load) Worst(o Load) Load {
	return Load{Others: max(l.Others, o.Others), Steal: max(l.Steal, o.Steal), Own: max(l.Own, o.Own)}
}

// quietCores is the most that others may have used during a run that counts as quiet.
const quietCores = 0.10

// Quiet says whether a run under this load tells of what was run, not of its neighbours.
func (l Load) Quiet() bool { return l.Others <= quietCores && l.Steal <= quietCores }
