package sink

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// A small queue against a slice: same lines, same order, at every boundary; full only
// when it has to be.
func TestQueueModel(t *testing.T) {
	const lines, size, longest = 6, 40, 12
	rapid.Check(t, func(rt *rapid.T) {
		q := newQueue(lines, size)
		var model [][]byte
		used, next := 0, byte(0)
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				n := rapid.IntRange(1, longest).Draw(rt, "bytes")
				next++
				line := bytes.Repeat([]byte{next}, n)
				if q.put(line) {
					model, used = append(model, line), used+n
				} else if len(model) < lines && used+2*longest <= size {
					// What is lost at the end of the ring and between the ends is less than two lines.
					rt.Fatalf("%d bytes refused with %d lines and %d bytes queued", n, len(model), used)
				}
				if len(model) > lines || used > size {
					rt.Fatalf("%d lines and %d bytes are queued, above the bound", len(model), used)
				}
			},
			"pop": func(rt *rapid.T) {
				line, ok := q.front()
				if ok != (len(model) > 0) {
					rt.Fatalf("front says %t with %d queued", ok, len(model))
				}
				if ok {
					if !bytes.Equal(line, model[0]) {
						rt.Fatalf("front has %v, want %v", line, model[0])
					}
					q.pop()
					model, used = model[1:], used-len(line)
				}
			},
		})
	})
}

func TestQueueHoldsItsLines(t *testing.T) {
	q := newQueue(queueLines, queueBytes)
	for i := range queueLines {
		if !q.put([]byte("x")) {
			t.Fatalf("line %d of %d is refused", i+1, queueLines)
		}
	}
	if q.put([]byte("x")) {
		t.Errorf("line %d is taken", queueLines+1)
	}
	q.pop()
	if !q.put([]byte("x")) {
		t.Error("no room after a pop")
	}
}

// Two goroutines, heap memory: the race detector watches the hand-over.
func TestQueueAcrossGoroutines(t *testing.T) {
	const lines = 100_000
	q := newQueue(queueLines, queueBytes)
	errs := make(chan error, 1)
	go func() {
		for want := uint64(0); want < lines; {
			line, ok := q.front()
			if !ok {
				<-q.wake
				continue
			}
			if got := binary.LittleEndian.Uint64(line); got != want || !bytes.Equal(line[8:], bytes.Repeat([]byte{byte(got)}, len(line)-8)) {
				errs <- fmt.Errorf("line %d has number %d and %d bytes", want, got, len(line))
				return
			}
			q.pop()
			want++
		}
		errs <- nil
	}()
	random := rand.New(rand.NewPCG(1, 2))
	line := make([]byte, 2000)
	for i := uint64(0); i < lines; {
		n := 8 + random.IntN(len(line)-8)
		binary.LittleEndian.PutUint64(line, i)
		for j := 8; j < n; j++ {
			line[j] = byte(i)
		}
		if q.put(line[:n]) {
			i++
			continue
		}
		select {
		case err := <-errs:
			t.Fatal(err)
		default:
		}
	}
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
}
