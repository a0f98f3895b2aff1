package shm

import (
	"fmt"
	"testing"
)

// Without clock read and without doorbell.
func BenchmarkPublish(b *testing.B) {
	for _, size := range []int{0, 64, 256, 1024, 4096} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			w, _, _ := testRing(b, RingConfig{Slots: 1024, PayloadBytes: 4096})
			benchmarkPublish(b, w, size)
		})
	}
	b.Run("256B/doorbell", func(b *testing.B) {
		w, _, _ := testRing(b, RingConfig{Slots: 1024, PayloadBytes: 4096})
		bell := make([]byte, DoorbellBytes())
		if err := FormatDoorbell(bell); err != nil {
			b.Fatal(err)
		}
		var err error
		if w.bell, err = NewDoorbell(bell); err != nil {
			b.Fatal(err)
		}
		benchmarkPublish(b, w, 256)
	})
}

func benchmarkPublish(b *testing.B, w *Writer, size int) {
	body := make([]byte, size)
	h := SlotHeader{Kind: KindBoxes, CaptureNS: 1, FrameID: 2}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Publish(&h, body); err != nil {
			b.Fatal(err)
		}
	}
}

// One publish and the reading of it, by one thread.
func BenchmarkPublishNext256(b *testing.B) {
	w, r, _ := testRing(b, RingConfig{Slots: 1024, PayloadBytes: 256})
	body := make([]byte, 256)
	h := SlotHeader{Kind: KindBoxes}
	b.SetBytes(256)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Publish(&h, body); err != nil {
			b.Fatal(err)
		}
		if _, ok, err := r.Next(&h, body); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkEmptyPoll(b *testing.B) {
	_, r, _ := testRing(b, RingConfig{Slots: 1024, PayloadBytes: 256})
	var h SlotHeader
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := r.Next(&h, nil); ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkEnqueueNext(b *testing.B) {
	w, r, _ := testDispatch(b, 16)
	_, reader, _ := testRing(b, RingConfig{Slots: 2, PayloadBytes: 8})
	w.SetPeer(reader.Peer())
	var a Assignment
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Enqueue(&a); err != nil {
			b.Fatal(err)
		}
		if ok, err := r.Next(&a); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
