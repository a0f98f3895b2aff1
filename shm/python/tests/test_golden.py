"""The frozen segments of version 1, written and read by Python as by Go and C.

A recipe beside each says how it came to be and what reading it gives; its README.md explains the
words. Python writes detection and output rings, and reads these and frame rings.
"""
from __future__ import annotations

import json
import struct

from skewgate_shm import State, ring

from . import Case
from .test_library import HERE

GOLDEN = HERE.parent / "testdata" / "golden"


def recipe(name: str) -> tuple[list[list[str]], list[tuple[list[str], str]]]:
    """The operations that write, and the questions with their answers."""
    write, _, read = (GOLDEN / f"{name}.txt").read_text("utf-8").partition("\n---\n")

    def lines(text):
        return [line for line in text.splitlines() if line and not line.startswith("#")]

    asked = [line.partition(" = ") for line in lines(read)]
    return [line.split(" ") for line in lines(write)], [(question.split(" "), answer) for question, _, answer in asked]


def unhex(word: str) -> bytes:
    return b"" if word == "-" else bytes.fromhex(word)


def fnv(data: bytes, value: int = 0xCBF29CE484222325) -> int:
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


class Writing:
    """Does what a recipe says."""

    def do(self, op: str, *words: str) -> None:
        getattr(self, op.replace("-", "_"))(*words)

    def format(self, output, slots, payload, model, replica, index, generation):
        output = output == "1"
        self.memory = bytearray(ring.ring_bytes(int(slots), int(payload), output))
        ring.format_ring(self.memory, int(slots), int(payload), model, replica=int(replica), index=int(index),
                         generation=int(generation), output=output)

    def writer(self, pid):
        self.w = ring.RingWriter(self.memory, int(pid))

    def stream(self, unit, camera, epoch):
        self.w.stream(unit, camera, int(epoch))

    def message(self, kind, stream, epoch, capture, publish, frame, tag, count, flags):
        return ring.Message(int(kind), int(stream), int(epoch), int(capture), int(publish), int(frame), int(tag), int(count), int(flags))

    def publish(self, *words):
        m = self.message(*words[:9])
        m.body = unhex(words[9])
        self.w.publish(m)

    def publish_text(self, *words):
        m = self.message(*words[:9])
        m.body = unhex(words[10])
        self.w.publish_text(m, unhex(words[9]))

    def state(self, state):
        self.w.set_state(State(int(state)))

    def heartbeat(self, ns):
        self.w.heartbeat(int(ns))

    def generation(self, generation):
        self.w.set_generation(int(generation))


class Reading:
    """Answers what a recipe asks."""

    def __init__(self, memory: bytearray) -> None:
        self.memory = memory

    def ask(self, question: str, *words: str) -> str:
        answer = getattr(self, question.replace("-", "_"))(*words)
        return " ".join(map(str, answer)) if isinstance(answer, tuple) else str(answer)

    def reader(self):
        self.r = ring.RingReader(self.memory)
        return 0

    def rewind(self, n):
        self.r.rewind(int(n))
        return 0

    def info(self):
        i = self.r.info()
        return (i.model, i.replica, i.slots, i.payload_bytes, i.generation, i.pid, i.ring_epoch, int(i.state), i.heartbeat_ns, i.head, i.streams)

    def stream_info(self, number):
        unit, camera, epoch = self.r.stream(int(number))
        hashed = fnv(unit.encode() + b"\0" + camera.encode() + b"\0")  # as ABI.md says, by ourselves
        return unit, camera, epoch, hashed, fnv(struct.pack("<I", epoch), hashed)

    def next(self, room):
        m = self.r.next()
        if m is None:
            return 0
        return (1, m.sequence, m.capture_ns, m.publish_ns, m.frame_id, m.tag, m.stream, m.stream_epoch, len(m.body), m.count, m.kind,
                m.flags, m.body[: int(room)].hex() or "-")

    def counts(self):
        return self.r.start, self.r.read, self.r.lost, self.r.info().head

    def frames(self):
        self.f = ring.FrameReader(self.memory)
        return 0

    def frame(self, sequence):
        f = self.f.newest() if sequence == "newest" else self.f.get(int(sequence))
        if f is None or not f.valid():
            return 0
        formats, clocks = {"I420": 1, "RGB24": 2}, {"camera": 1, "arrival": 2, "monotonic": 3, "file": 4}
        return (1, f.sequence, f.capture_ns, f.publish_ns, f.frame_id, f.tag, f.stream_epoch, formats[f.format], f.width, f.height,
                len(f.pixels), clocks[f.clock], f"{fnv(bytes(f.pixels)):x}")


# Questions about what the binding has no words for: the header of a frame ring, which an
# appliance's tools read, and the work of the appliance's own detectors.
FOREIGN = {"frame-info", "work"}


class Golden(Case):
    def test_written_byte_for_byte(self):
        for name in ("detection", "output"):
            with self.subTest(name):
                writing = Writing()
                for line in recipe(name)[0]:
                    writing.do(*line)
                want = (GOLDEN / f"{name}.seg").read_bytes()
                self.assertEqual(len(want), len(writing.memory))
                wrong = [i for i, (a, b) in enumerate(zip(want, writing.memory)) if a != b]
                self.assertEqual([], wrong[:10])

    def test_read_as_ever(self):
        for name in ("detection", "output", "frames", "replica"):
            asked = 0
            reading = Reading(bytearray((GOLDEN / f"{name}.seg").read_bytes()))
            for question, answer in recipe(name)[1]:
                if question[0] not in FOREIGN:
                    with self.subTest(name, question=question):
                        self.assertEqual(answer, reading.ask(*question))
                    asked += 1
            self.assertGreater(asked, 3)

    def test_fused_frames_say_what_the_json_line_says(self):
        want = [json.loads(line) for line in (GOLDEN / "output.jsonl").read_text("utf-8").splitlines()]
        memory = bytearray((GOLDEN / "output.seg").read_bytes())
        r = ring.RingReader(memory)
        r.rewind(15)
        models, classes, got = [], [], []
        while (m := r.next()) is not None:
            if m.kind == 2:
                names = json.loads(m.body)
                models = names["models"]
                classes[names["first_class"] :] = names["classes"]
                continue
            unit, camera, _ = r.stream(m.stream)
            f = ring.parse_fused(m, models, classes, unit, camera)
            boxes = [{"box": list(b.box), "score": b.score, "label": b.label, "by": list(b.votes), "scores": b.votes} for b in f.boxes]
            got.append({
                "schema": 1, "seq": f.seq, "unit": f.unit, "camera": f.camera, "stream_epoch": f.stream_epoch,
                "frame_id": None if f.frame_id is None else str(f.frame_id), "generation": f.generation, "capture_ns": f.capture_ns,
                "timestamps": {model: "" if ns is None else str(ns) for model, ns in f.captures.items()}, "reason": f.reason,
                "models": list(f.models), "missing": f.missing, "arrival_skew_ns": f.arrival_skew_ns,
                "first_arrival_mono_ns": f.first_arrival_mono_ns, "closed_mono_ns": f.closed_mono_ns, "boxes": boxes, "degraded": f.degraded,
            })
        self.assertEqual(want, got)
