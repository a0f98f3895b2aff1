package machine

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Allowed lists the processors this process may run on.
func Allowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read processor affinity: %w", err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// Pair is the two processors that writer and reader are pinned to: the first and the
// last allowed, which on machines with two threads a core are rarely of one core.
func Pair() (writer, reader int, err error) {
	cpus, err := Allowed()
	if err != nil {
		return 0, 0, err
	}
	if len(cpus) < 2 {
		return 0, 0, fmt.Errorf("one processor allowed (%v): writer and reader need one each; run on a machine with two, without taskset", cpus)
	}
	return cpus[0], cpus[len(cpus)-1], nil
}

// Pin keeps the calling goroutine on an OS thread of its own and that on one processor.
func Pin(cpu int) error {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin to processor %d: %w", cpu, err)
	}
	return nil
}
