package shm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// After the same operations in C and in Go the two segments are the same, byte for byte:
// a golden file of one is a golden file of the other.
func testCSameBytes(t *testing.T, c *cBuild) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 2))
	t.Logf("seed %d", seed)
	for range count(t, "SHM_TEST_C_SAME", 20) {
		sameBytes(t, c, random)
	}
}

func sameBytes(t *testing.T, c *cBuild, random *rand.Rand) {
	t.Helper()
	config := RingConfig{Slots: 2 << random.IntN(5), PayloadBytes: 1 + random.IntN(400), Replica: random.Uint32(),
		Model: "mödel-" + strconv.Itoa(random.IntN(1000)), Index: random.IntN(40), Generation: random.Uint64()}
	format, output := FormatRing, 0
	if random.IntN(2) == 0 {
		format, output = FormatOutputRing, 1
	}
	theirs := newSegment(t, config.Bytes(), func(b []byte) error {
		for i := range b[:ringSlotsAt] { // whatever stood there is forgotten
			b[i] = byte(i)
		}
		return nil
	})
	ours := make([]byte, config.Bytes())
	if err := format(ours, config); err != nil {
		t.Fatal(err)
	}
	d := c.drive(t, theirs.File())
	d.want("0", "map 3 rw 0")
	d.want("0", "format 0 %d %d %d %s %d %d %d", output, config.Slots, config.PayloadBytes, config.Model, config.Replica, config.Index, config.Generation)
	var w *Writer
	renew := func() {
		var err error
		pid := random.Uint32()
		if w, err = NewWriter(ours, pid, nil); err != nil {
			t.Fatal(err)
		}
		d.want("0", "writer 0 %d 0", pid)
	}
	renew()
	for range 100 {
		switch random.IntN(12) {
		case 0:
			renew()
		case 1:
			unit, camera, epoch := "u"+strconv.Itoa(random.IntN(3)), "c"+strconv.Itoa(random.IntN(4)), random.Uint32()
			i, err := w.RegisterStream(unit, camera, epoch)
			if err != nil {
				t.Fatal(err)
			}
			d.want(fmt.Sprint(i), "stream %s %s %d", unit, camera, epoch)
		case 2:
			n := random.IntN(5)
			w.SetState(State(n))
			d.want("0", "state %d", n)
		case 3:
			n := int64(random.Uint64())
			w.Heartbeat(n)
			d.want("0", "heartbeat %d", n)
		case 4:
			n := random.Uint64()
			w.SetGeneration(n)
			d.want("0", "generation %d", n)
		default:
			samePublish(t, d, w, random)
		}
	}
	d.end()
	if !bytes.Equal(ours, theirs.Bytes()) {
		for i := range ours {
			if ours[i] != theirs.Bytes()[i] {
				t.Fatalf("%+v: byte %d is %#x in Go, %#x in C", config, i, ours[i], theirs.Bytes()[i])
			}
		}
	}
}

// samePublish publishes on both sides, sometimes what neither may take.
func samePublish(t *testing.T, d *cDriver, w *Writer, random *rand.Rand) {
	t.Helper()
	body := make([]byte, random.IntN(w.PayloadBytes()+8))
	for i := range body {
		body[i] = byte(random.Uint32())
	}
	h := SlotHeader{Kind: Kind(1 + random.IntN(4)), Stream: uint32(random.IntN(int(w.streams.count) + 1)), StreamEpoch: random.Uint32(),
		CaptureNS: int64(random.Uint64()), PublishNS: int64(random.Uint64()), FrameID: random.Uint64(), Tag: random.Uint64(),
		Count: uint16(random.Uint32()), Flags: uint8(random.Uint32())}
	words := fmt.Sprintf("%d %d %d %d %d %d %d %d %d", h.Kind, h.Stream, h.StreamEpoch, h.CaptureNS, h.PublishNS, h.FrameID, h.Tag, h.Count, h.Flags)
	var answer string
	var err error
	if random.IntN(4) == 0 {
		text := []byte("time")[:random.IntN(5)]
		h.CaptureNS = RawCapture
		var raw []byte
		if raw, err = AppendRaw(nil, string(text), body); err == nil {
			err = w.Publish(&h, raw)
		}
		answer = d.ask("publish-text %s %s %s", words, hexOf(text), hexOf(body))
	} else {
		err = w.Publish(&h, body)
		answer = d.ask("publish %s %s", words, hexOf(body))
	}
	if err != nil && !strings.HasPrefix(answer, "error ") || err == nil && answer != fmt.Sprint(h.Sequence) {
		t.Fatalf("Go: sequence %d, error %v; C: %s", h.Sequence, err, answer)
	}
}
