package shm

import "fmt"

// FrameRingConfig describes a camera's frame ring.
type FrameRingConfig struct {
	Slots        int // 2…1024
	PixelBytes   int // of the largest picture
	Unit, Camera string
	Index        int // as in RingConfig
}

func (c FrameRingConfig) layout() (layout, error) {
	return newLayout(kindFrame, c.Slots, c.PixelBytes, c.Index%hotSteps)
}

// Bytes is the size of the ring's segment; 0 when FormatFrameRing would refuse the config.
func (c FrameRingConfig) Bytes() int {
	l, err := c.layout()
	if err != nil {
		return 0
	}
	return l.segmentBytes
}

// FormatFrameRing lays a frame ring out in b, which has c.Bytes() bytes.
func FormatFrameRing(b []byte, c FrameRingConfig) error {
	if err := checkName("unit", c.Unit); err != nil {
		return fmt.Errorf("format frame ring: %w", err)
	}
	if err := checkName("camera", c.Camera); err != nil {
		return fmt.Errorf("format frame ring: %w", err)
	}
	l, err := c.layout()
	if err != nil {
		return fmt.Errorf("format frame ring of %s/%s: %w", c.Unit, c.Camera, err)
	}
	return l.format(b, func(b []byte) {
		putName(b, offUnit, c.Unit)
		putName(b, offCamera, c.Camera)
	})
}

// Pixel formats. Planes lie one after the other without padding.
const (
	FormatI420  = 1 // luma, then both chroma planes at half size, rounded up
	FormatRGB24 = 2
)

// maxSide bounds width and height, so that no product overflows.
const maxSide = 1 << 14

// FrameBytes is the size of a picture, or false for an unknown format or a side that
// is not 1…16384.
func FrameBytes(format, width, height uint32) (int, bool) {
	if width == 0 || height == 0 || width > maxSide || height > maxSide {
		return 0, false
	}
	w, h := int(width), int(height)
	switch format {
	case FormatI420:
		return w*h + 2*((w+1)/2)*((h+1)/2), true
	case FormatRGB24:
		return 3 * w * h, true
	}
	return 0, false
}

// ClockSource says where a picture's capture time comes from.
type ClockSource uint32

// Clock sources, best first.
const (
	ClockUnknown   ClockSource = iota
	ClockCamera                // the camera's own time, mapped to CLOCK_MONOTONIC
	ClockArrival               // when the picture reached us
	ClockMonotonic             // CLOCK_MONOTONIC read by the source
	ClockFile                  // a film's own time
)

func (c ClockSource) String() string {
	names := [...]string{"unknown", "camera", "arrival", "monotonic", "file"}
	if int64(c) < int64(len(names)) {
		return names[c]
	}
	return fmt.Sprintf("clock(%d)", uint32(c))
}

// FrameMeta is a picture without its pixels.
type FrameMeta struct {
	Seq           uint64 // 1, 2, 3, … over the ring's life; set by Publish and readers
	CaptureNS     int64
	PublishNS     int64  // CLOCK_MONOTONIC
	FrameID       uint64 // counts from 1 within a stream_epoch
	Tag           uint64
	StreamEpoch   uint32
	Width, Height uint32
	Format        uint32
	Length        uint32 // of the pixels in bytes; set by Publish
	ClockSource   ClockSource
	Flags         uint32 // 0 in v1
}

// Frame slot header: 128 bytes, in an array of its own, so that pixels lie on pages.
const (
	frameSequence = 0  // u64; 0 = being written
	frameCapture  = 8  // i64
	framePublish  = 16 // i64
	frameFrameID  = 24 // u64
	frameTag      = 32 // u64
	frameEpoch    = 40 // u32
	frameFormat   = 44 // u32
	frameWidth    = 48 // u32
	frameHeight   = 52 // u32
	frameLength   = 56 // u32
	frameClock    = 60 // u32
	frameFlags    = 64 // u32
	// 68…127 are 0 in v1 and ignored by readers.
)

func (m *FrameMeta) put(b []byte) {
	_ = b[frameSlotBytes-1]
	le.PutUint64(b[frameCapture:], uint64(m.CaptureNS))
	le.PutUint64(b[framePublish:], uint64(m.PublishNS))
	le.PutUint64(b[frameFrameID:], m.FrameID)
	le.PutUint64(b[frameTag:], m.Tag)
	le.PutUint32(b[frameEpoch:], m.StreamEpoch)
	le.PutUint32(b[frameFormat:], m.Format)
	le.PutUint32(b[frameWidth:], m.Width)
	le.PutUint32(b[frameHeight:], m.Height)
	le.PutUint32(b[frameLength:], m.Length)
	le.PutUint32(b[frameClock:], uint32(m.ClockSource))
	le.PutUint32(b[frameFlags:], m.Flags)
}

func (m *FrameMeta) get(b []byte) {
	_ = b[frameSlotBytes-1]
	m.CaptureNS = int64(le.Uint64(b[frameCapture:]))
	m.PublishNS = int64(le.Uint64(b[framePublish:]))
	m.FrameID = le.Uint64(b[frameFrameID:])
	m.Tag = le.Uint64(b[frameTag:])
	m.StreamEpoch = le.Uint32(b[frameEpoch:])
	m.Format = le.Uint32(b[frameFormat:])
	m.Width = le.Uint32(b[frameWidth:])
	m.Height = le.Uint32(b[frameHeight:])
	m.Length = le.Uint32(b[frameLength:])
	m.ClockSource = ClockSource(le.Uint32(b[frameClock:]))
	m.Flags = le.Uint32(b[frameFlags:])
}
