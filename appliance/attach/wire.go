package attach

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/skewgate/skewgate/shm"
)

// Protocol is the version of what is said on the socket.
const Protocol = 1

const (
	// maxPacketBytes bounds a packet in both directions.
	maxPacketBytes = 64 << 10
	// maxClientBytes bounds what a client calls itself.
	maxClientBytes = 64
)

// Roles a client may ask for.
const (
	RoleWriter   = "writer"
	RoleReader   = "reader"
	RoleObserver = "observer"
)

// Code says why an attach was refused.
type Code string

// Codes, as in shm/ABI.md.
const (
	CodeABI           Code = "abi_version"
	CodeUnknownModel  Code = "unknown_model"
	CodeNotAllowed    Code = "not_allowed"
	CodeWriterPresent Code = "writer_present"
	CodeNoOutput      Code = "no_output"
	CodeBadRequest    Code = "bad_request"
	CodeBusy          Code = "busy"
	CodeShuttingDown  Code = "shutting_down"
)

// hello is the one thing a client says.
type hello struct {
	// Protocol comes first: it also tells a client of ours from a lost stranger.
	Protocol int    `json:"skewgate_attach"`
	ABI      int    `json:"abi"`
	Role     string `json:"role"`
	Model    string `json:"model"`
	Replica  uint32 `json:"replica"`
	Client   string `json:"client"`
}

// answer to it when it is let in. Descriptors come with the packet in the order of Files.
type answer struct {
	OK        bool           `json:"ok"`
	ABI       int            `json:"abi"`
	Unit      string         `json:"unit"`
	Model     string         `json:"model,omitempty"`
	Replica   *uint32        `json:"replica,omitempty"`
	RingEpoch *uint32        `json:"ring_epoch,omitempty"`
	Cameras   []answerCamera `json:"cameras"`
	Files     []string       `json:"files"`
}

type answerCamera struct {
	Name        string `json:"name"`
	StreamEpoch uint32 `json:"stream_epoch"`
}

// refusal is the answer when it is not.
type refusal struct {
	OK    bool   `json:"ok"`
	Code  Code   `json:"code"`
	Error string `json:"error"`
	ABI   int    `json:"abi"`
}

// event is what the appliance says later.
type event struct {
	Event       string  `json:"event"` // stream_epoch, drain, closed
	Camera      string  `json:"camera,omitempty"`
	StreamEpoch *uint32 `json:"stream_epoch,omitempty"`
	Reason      string  `json:"reason,omitempty"`
}

// refused is a refusal on its way; it says both sides' facts.
type refused struct {
	code Code
	text string
}

func (r *refused) Error() string { return string(r.code) + ": " + r.text }

func refuse(code Code, format string, args ...any) *refused {
	return &refused{code, fmt.Sprintf(format, args...)}
}

func (r *refused) packet() []byte {
	return packet(refusal{Code: r.code, Error: r.text, ABI: shm.Version})
}

// parseHello reads the packet of somebody unknown.
func parseHello(b []byte) (*hello, *refused) {
	if len(b) > maxPacketBytes {
		return nil, refuse(CodeBadRequest, "the packet has more than %d bytes", maxPacketBytes)
	}
	// Keys that a later client adds are ignored: what matters has its version.
	var h hello
	if err := json.Unmarshal(b, &h); err != nil {
		return nil, refuse(CodeBadRequest, "the packet is not the JSON of an attach: %v", err)
	}
	if h.Protocol != Protocol {
		return nil, refuse(CodeBadRequest, "the client speaks attach protocol %d, this appliance %d: use one release on both sides", h.Protocol, Protocol)
	}
	if h.ABI != shm.Version {
		return nil, refuse(CodeABI, "the client speaks ABI version %d, this appliance %d: use one release on both sides", h.ABI, shm.Version)
	}
	h.Client = printable(h.Client)
	return &h, nil
}

// printable makes a stranger's text fit to be shown and logged.
func printable(text string) string {
	out := make([]rune, 0, maxClientBytes)
	for _, r := range text {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			r = '?'
		}
		if len(string(out))+utf8.RuneLen(r) > maxClientBytes {
			break
		}
		out = append(out, r)
	}
	return string(out)
}

// packet encodes what consists of texts and numbers, which cannot fail.
func packet(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a fault of ours that any attach shows
	}
	return b
}
