package shm

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// cNumbers are the numbers both sides must agree on.
var cNumbers = map[string]uint64{
	"version": Version, "magic": magic,
	"kind detection": kindDetection, "kind frame": kindFrame, "kind dispatch": kindDispatch, "kind doorbell": kindDoorbell, "kind output": kindOutput,
	"offMagic": offMagic, "offVersion": offVersion, "offKind": offKind, "offSegmentBytes": offSegmentBytes,
	"offSlotsAt": offSlotsAt, "offSlots": offSlots, "offSlotBytes": offSlotBytes, "offPayloadBytes": offPayloadBytes,
	"offHotAt": offHotAt, "offIndex": offIndex, "offTableAt": offTableAt, "offTableEntries": offTableEntries,
	"offEntryBytes": offEntryBytes, "offPixelsAt": offPixelsAt, "offPixelsStride": offPixelsStride,
	"offModel": offModel, "offUnit": offUnit, "offCamera": offCamera, "offReplica": offReplica, "offModelHash": offModelHash,
	"offGeneration": offGeneration, "offRingEpoch": offRingEpoch, "offPID": offPID, "offStreamCount": offStreamCount,
	"hotAt": hotAt, "hotBlock": hotBlock, "hotSteps": hotSteps, "hotBytes": hotBytes,
	"hotHead": hotHead, "hotSleep": hotSleep, "hotState": hotState, "hotHeartbeat": hotHeartbeat, "pageBytes": pageBytes,
	"maxStreams": MaxStreams, "maxName": MaxName, "nameBytes": nameBytes, "tableAt": tableAt, "entryBytes": entryBytes,
	"entryUnit": entryUnit, "entryCamera": entryCamera, "entryHash": entryHash, "entryEpoch": entryEpoch,
	"slotHeaderBytes": slotHeaderBytes, "frameSlotBytes": frameSlotBytes, "ringSlotsAt": ringSlotsAt, "frameSlotsAt": frameSlotsAt,
	"maxSlots": maxSlots, "maxPayloadBytes": maxPayloadBytes, "maxFrameSlots": maxFrameSlots, "maxPixelBytes": maxPixelBytes,
	"maxSide": maxSide, "maxSequence": maxSequence, "maxSegmentBytes": maxSegmentBytes, "maxRaw": MaxRaw, "rawCapture": 1 << 63,
	"frameCapture": frameCapture, "framePublish": framePublish, "frameFrameID": frameFrameID, "frameTag": frameTag,
	"frameEpoch": frameEpoch, "frameFormat": frameFormat, "frameWidth": frameWidth, "frameHeight": frameHeight,
	"frameLength": frameLength, "frameClock": frameClock,
	"kind boxes": uint64(KindBoxes), "kind JSON": uint64(KindJSON), "kind progress": uint64(KindProgress), "kind fused": uint64(KindFused),
	"state ready": uint64(StateReady), "state draining": uint64(StateDraining),
	"format I420": FormatI420, "format RGB24": FormatRGB24, "clock camera": uint64(ClockCamera), "clock file": uint64(ClockFile),
	"missing absent": 1, "missing dead": 2, "missing passed": 3, "missing late": 4, "missing other bucket": 5, "missing wrong generation": 6,
}

// cReasons are the reasons C has too, in its order. It does not compare a header later on.
var cReasons = []Reason{
	ReasonMagic, ReasonVersion, ReasonKind, ReasonSize, ReasonLayout, ReasonName, ReasonHead, ReasonHeadBackwards,
	ReasonSequence, ReasonLength, ReasonMessageKind, ReasonStream, ReasonStreamTable, ReasonPicture,
}

func testCNumbers(t *testing.T, c *cBuild) {
	got := map[string]string{}
	for line := range strings.Lines(c.output(t, nil, "abi")) {
		i := strings.LastIndexByte(strings.TrimSpace(line), ' ')
		got[line[:i]] = strings.TrimSpace(line[i:])
	}
	want := map[string]string{}
	for name, n := range cNumbers {
		want[name] = strconv.FormatUint(n, 10)
	}
	for i, reason := range cReasons {
		want[fmt.Sprintf("reason %d", i+1)] = string(reason)
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: want %s, C has %q", name, want[name], got[name])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: C has it, this test does not compare it", name)
		}
	}
}

func testCOwn(t *testing.T, c *cBuild) {
	t.Log(c.output(t, nil, "selftest"))
	t.Log(c.output(t, nil, "probe"))
	rounds := count(t, "SHM_TEST_C_ROUNDS", 4000)
	if c.run != nil {
		rounds = max(1, rounds/10)
	}
	t.Log(c.output(t, nil, "hostile", strconv.Itoa(rounds)))
}
