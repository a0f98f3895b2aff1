"""What publishing costs: python3 -m tests.timing in the folder above.

Prints one JSON document: medians, lowest and highest of rounds, in ns a call. The
appliance of the tests is attached to, so every millisecond a call looks at its socket too.
"""
from __future__ import annotations

import ctypes
import json
import statistics
import sys
import time

from skewgate_shm import BOX_BYTES, Writer, boxes

from . import numpy, segments
from .appliance import Appliance

# What interpreter and machine are worth that day: a method that looks a name up, takes a
# buffer and calls C, which is what publish cannot do without.
ROUNDS, CALLS = 101, 1000  # rounds shorter than a time slice, so that most are undisturbed
EIGHT = [(0.1, 0.2, 0.3, 0.4, 0.9, i) for i in range(8)]


class Plain:
    """Publishes nothing."""

    def __init__(self) -> None:
        self._numbers = {"gate": 3}
        self._call = ctypes.CDLL(None).labs
        self._call.argtypes, self._call.restype = [ctypes.c_long], ctypes.c_long

    def publish(self, of: str, data: bytes, *, capture_ns: int, frame_id: int) -> int:
        number = self._numbers.get(of)
        return self._call(capture_ns + frame_id + number + memoryview(data).nbytes // BOX_BYTES)


def cases(writer: Writer, frame) -> dict:
    packed = bytes(boxes.packed(EIGHT)[0])
    buffer = bytearray(packed)
    all_cases = {
        "bytes": lambda: writer.publish("gate", packed, capture_ns=1, frame_id=2),
        "bytearray": lambda: writer.publish("gate", buffer, capture_ns=1, frame_id=2),
        "list of 8": lambda: writer.publish("gate", EIGHT, capture_ns=1, frame_id=2),
        "list of 8, of a frame": lambda: writer.publish(frame, EIGHT),
        "empty list": lambda: writer.publish("gate", [], capture_ns=1, frame_id=2),
        "newest": lambda: writer.newest("gate"),
        "valid": frame.valid,
    }
    if numpy is not None:
        array = numpy.frombuffer(buffer, boxes.box_dtype())
        floats = numpy.array(EIGHT, "f4")
        all_cases["numpy, BOX_DTYPE"] = lambda: writer.publish("gate", array, capture_ns=1, frame_id=2)
        all_cases["numpy, (8, 6) float32"] = lambda: writer.publish("gate", floats, capture_ns=1, frame_id=2)
    assert len(packed) == 8 * BOX_BYTES
    return all_cases


def timed(call) -> float:
    """ns a call."""
    begin = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - begin) / CALLS


def measure(call) -> dict:
    """Over ROUNDS rounds, each beside one of plain calls: times is the median of how many plain
    calls one call is worth."""
    plain = Plain()
    packed = bytes(8 * BOX_BYTES)
    rounds = [(timed(call), timed(lambda: plain.publish("gate", packed, capture_ns=1, frame_id=2))) for _ in range(ROUNDS)]
    ns = [call_ns for call_ns, _ in rounds]
    times = statistics.median(call_ns / plain_ns for call_ns, plain_ns in rounds)
    return {"median": statistics.median(ns), "low": min(ns), "high": max(ns), "times": times}


def main() -> None:
    with Appliance(slots=1024) as appliance, Writer.attach("mine", path=appliance.path) as writer:
        appliance.cameras["gate"].publish(segments.i420(64, 48), 64, 48)
        result = {name: measure(call) for name, call in cases(writer, writer.newest("gate")).items()}
    json.dump({"python": sys.version.split()[0], "rounds": ROUNDS, "calls": CALLS, "ns": result}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
