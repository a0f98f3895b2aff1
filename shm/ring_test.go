package shm

import "testing"

func testRing(t testing.TB, c RingConfig) (*Writer, *Reader, []byte) {
	t.Helper()
	if c.Model == "" {
		c.Model = "people"
	}
	b := make([]byte, c.Bytes())
	if err := FormatRing(b, c); err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(b, 42, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.RegisterStream("box-7", "road", 1); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(b)
	if err != nil {
		t.Fatal(err)
	}
	return w, r, b
}

func TestPublishNext(t *testing.T) {
	w, r, _ := testRing(t, RingConfig{Slots: 8, PayloadBytes: 256})
	in := SlotHeader{CaptureNS: -5, PublishNS: 7, FrameID: 9, Tag: 11, StreamEpoch: 3, Kind: KindJSON, Count: 2, Flags: 1}
	if err := w.Publish(&in, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	var out SlotHeader
	body := make([]byte, 256)
	n, ok, err := r.Next(&out, body)
	if err != nil || !ok || string(body[:n]) != "hello" || out != in {
		t.Fatalf("want %+v hello, got %+v %q ok=%v err=%v", in, out, body[:n], ok, err)
	}
}
