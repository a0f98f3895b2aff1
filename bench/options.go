package bench

import (
	"fmt"
	"io"
	"time"
)

// Options say how thorough a bench is.
type Options struct {
	Reps     int           // repetitions that count, of each comparison
	Tries    int           // of one repetition, until nobody else used the machine
	Scale    float64       // of messages and times; 1 = full
	Patience time.Duration // for a quiet moment, before each repetition
	Out      string        // folder for histogram logs; "" = none are kept
	Source   string        // checkout, for the parts in C and Python; "" = those are not measured
	Progress io.Writer     // a line for each repetition
	Program  []string      // command that calls Role with its arguments
}

// Bounds of Options.
const (
	maxReps     = 1000
	maxTries    = 100
	maxScale    = 100
	maxPatience = time.Hour
)

func (o *Options) check() error {
	switch {
	case o.Reps < 1 || o.Reps > maxReps:
		return fmt.Errorf("repetitions %d out of range 1…%d", o.Reps, maxReps)
	case o.Tries < 1 || o.Tries > maxTries:
		return fmt.Errorf("tries %d out of range 1…%d", o.Tries, maxTries)
	case !(o.Scale > 0 && o.Scale <= maxScale):
		return fmt.Errorf("scale %v out of range 0…%d", o.Scale, maxScale)
	case o.Patience < 0 || o.Patience > maxPatience:
		return fmt.Errorf("patience %v out of range 0…%v", o.Patience, maxPatience)
	case len(o.Program) == 0:
		return fmt.Errorf("no program for the roles")
	}
	return nil
}

// count scales n messages, but not below least.
func (o *Options) count(n, least uint64) uint64 {
	return max(uint64(float64(n)*o.Scale), least)
}
