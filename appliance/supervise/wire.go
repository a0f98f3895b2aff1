package supervise

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// The control protocol: one JSON document a packet, both ways.
//
//	parent → child  {"skewgate":1,"type":"hello","task":"detect/people/0","start":3,"files":["ring","doorbell"],"job":{…}}
//	                {"type":"drain"}
//	child → parent  {"type":"state","start":3,"name":"warming","detail":{…}}
//	                {"type":"ready","start":3,"detail":{…}}
const (
	protocolVersion = 1
	maxPacketBytes  = 64 << 10
	controlFD       = 3
	firstFileFD     = 4
	maxFiles        = 256
	// controlEnv tells a child that descriptor 3 is its control socket. Attach
	// removes it again, so that no grandchild takes itself for a child.
	controlEnv = "SKEWGATE_CONTROL"
)

// order is a packet from parent to child.
type order struct {
	Version int             `json:"skewgate,omitempty"`
	Type    string          `json:"type"`
	Task    string          `json:"task,omitempty"`
	Start   uint64          `json:"start,omitempty"`
	Files   []string        `json:"files,omitempty"`
	Job     json.RawMessage `json:"job,omitempty"`
}

// report is a packet from child to parent. The parent takes it for hostile.
type report struct {
	Type   string          `json:"type"`
	Start  uint64          `json:"start"`
	Name   string          `json:"name,omitempty"`
	Detail json.RawMessage `json:"detail,omitempty"`
}

var reportName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// decodeReport checks one packet of a child.
func decodeReport(packet []byte) (report, error) {
	var r report
	if err := json.Unmarshal(packet, &r); err != nil {
		return report{}, fmt.Errorf("decode report: %w", err)
	}
	switch {
	case r.Type == "ready" && r.Name == "":
	case r.Type == "state" && reportName.MatchString(r.Name):
	default:
		return report{}, fmt.Errorf("decode report: type %.20q with name %.40q is neither ready nor a state", r.Type, r.Name)
	}
	return r, nil
}

// decodeHello checks the first packet of a parent.
func decodeHello(packet []byte) (order, error) {
	var o order
	if err := json.Unmarshal(packet, &o); err != nil {
		return order{}, fmt.Errorf("decode hello: %w", err)
	}
	switch {
	case o.Type != "hello":
		return order{}, fmt.Errorf("decode hello: first packet is %.20q", o.Type)
	case o.Version != protocolVersion:
		return order{}, fmt.Errorf("decode hello: parent speaks control protocol %d, this program %d: use both from one release", o.Version, protocolVersion)
	case len(o.Files) > maxFiles:
		return order{}, fmt.Errorf("decode hello: %d files, at most %d", len(o.Files), maxFiles)
	}
	return o, nil
}

// encode turns v into a packet and holds it to the packet size.
func encode(v any) ([]byte, error) {
	packet, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(packet) > maxPacketBytes {
		return nil, fmt.Errorf("control packet of %d bytes, at most %d", len(packet), maxPacketBytes)
	}
	return packet, nil
}

// decodeStrict refuses unknown fields, so that a job written for another release
// is an error at start and not a setting silently without effect.
func decodeStrict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON document")
	}
	return nil
}
