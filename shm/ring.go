package shm

import "fmt"

// RingConfig describes a detection ring: one writer, any number of readers.
type RingConfig struct {
	Slots        int // a power of two
	PayloadBytes int // largest body
	Model        string
	Replica      uint32
	Generation   uint64
	Index        int // which ring of the appliance this is; staggers hot words by 128 bytes
}

func (c RingConfig) layout(kind uint32) (layout, error) {
	return newLayout(kind, c.Slots, c.PayloadBytes, c.Index%hotSteps)
}

// Bytes is the size of the ring's segment; 0 when FormatRing would refuse the config.
func (c RingConfig) Bytes() int {
	l, err := c.layout(kindDetection)
	if err != nil {
		return 0
	}
	return l.segmentBytes
}

// FormatRing lays a detection ring out in b, which has c.Bytes() bytes. Any former
// content is forgotten.
func FormatRing(b []byte, c RingConfig) error {
	return formatRing(b, c, kindDetection)
}

// FormatOutputRing lays out the appliance's ring of fused frames: the same layout,
// another segment kind.
func FormatOutputRing(b []byte, c RingConfig) error {
	return formatRing(b, c, kindOutput)
}

func formatRing(b []byte, c RingConfig, kind uint32) error {
	if err := checkName("model", c.Model); err != nil {
		return fmt.Errorf("format ring: %w", err)
	}
	l, err := c.layout(kind)
	if err != nil {
		return fmt.Errorf("format ring of %q: %w", c.Model, err)
	}
	return l.format(b, func(b []byte) {
		putName(b, offModel, c.Model)
		le.PutUint32(b[offReplica:], c.Replica)
		le.PutUint32(b[offModelHash:], modelHash(c.Model))
		le.PutUint64(b[offGeneration:], c.Generation)
	})
}
