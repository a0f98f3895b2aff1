"""The lower floor: rings in any memory, for tests, tools and other sources of segments.

Memory is any writable buffer aligned to 8 bytes: an mmap, a bytearray. Classes here keep
it from going away. One ring has one writer; nothing here checks that.
"""
from __future__ import annotations

import ctypes
import os
import struct
from dataclasses import dataclass
from typing import Any

from .boxes import packed
from .errors import ArgumentError, error_of
from .frame import Frame
from .fused import FusedFrame, fused_frame
from .library import c_name, quick
from .structs import (MESSAGE, ErrorStruct, FrameStruct, FusedStruct, MessageStruct, RingConfigStruct, RingInfoStruct,
                      RingReaderStruct, StreamInfoStruct)
from .writer import KIND_BOXES, State


class _Ring:
    """Memory, its address and size, and the error that calls about it write into."""

    def __init__(self, memory: Any) -> None:
        self._size = memoryview(memory).nbytes
        self._memory = (ctypes.c_char * self._size).from_buffer(memory)
        self._at = ctypes.addressof(self._memory)
        self._error_struct = ErrorStruct()
        self._error = ctypes.addressof(self._error_struct)

    def _raise_below(self, code: int) -> int:
        if code < 0:
            raise error_of(self._error_struct, quick.sg_reason_name)
        return code


def ring_bytes(slots: int, payload_bytes: int, output: bool = False) -> int:
    """Bytes of a ring's segment. slots is a power of two, 2…2^20; payload_bytes the largest
    body, 1…2^24. Raises ArgumentError for anything else."""
    c = RingConfigStruct(slots=_u32("slots", slots), payload_bytes=_u32("payload bytes", payload_bytes), output=output)
    size = quick.sg_ring_bytes(ctypes.addressof(c))
    if size == 0:
        raise ArgumentError(f"lay out a ring of {slots} slots of {payload_bytes} bytes: want 2^1…2^20 slots of 1…2^24 bytes")
    return size


def format_ring(
    memory: Any, slots: int, payload_bytes: int, model: str, *, replica: int = 0, index: int = 0, generation: int = 0, output: bool = False
) -> None:
    """Makes memory of ring_bytes an empty ring; output: an output ring, else a detection ring.
    Raises ArgumentError."""
    ring = _Ring(memory)
    text = ctypes.create_string_buffer(c_name(model))
    c = RingConfigStruct(
        _u32("slots", slots), _u32("payload bytes", payload_bytes), ctypes.addressof(text), _u32("replica", replica),
        _u32("index", index), generation, output,
    )
    ring._raise_below(quick.sg_ring_format(ring._at, ring._size, ctypes.addressof(c), ring._error))


@dataclass
class Message:
    """A message of a ring; see ABI.md for its words. body is raw, see Message.text and unpacked()."""

    kind: int
    stream: int
    stream_epoch: int
    capture_ns: int
    publish_ns: int
    frame_id: int = 0
    tag: int = 0
    count: int = 0
    flags: int = 0
    sequence: int = 0
    body: bytes = b""


@dataclass(frozen=True)
class RingInfo:
    """What a ring's header says of it and its writer. heartbeat_ns is CLOCK_MONOTONIC."""

    model: str
    replica: int
    slots: int
    payload_bytes: int
    pid: int
    ring_epoch: int
    state: State
    streams: int
    generation: int
    head: int
    heartbeat_ns: int


class RingWriter(_Ring):
    """Writes a detection or output ring that somebody has formatted."""

    def __init__(self, memory: Any, pid: int | None = None) -> None:
        """Takes the ring over: its ring_epoch rises, writing goes on at its head. pid is our
        own when not given. Raises QuarantineError when it is no ring."""
        super().__init__(memory)
        self._writer = ctypes.create_string_buffer(quick.sg_sizeof(b"sg_ring_writer"))
        self._w = ctypes.addressof(self._writer)
        pid = os.getpid() if pid is None else pid
        self._raise_below(quick.sg_ring_writer_init(self._w, self._at, self._size, pid, None, self._error))

    def stream(self, unit: str, camera: str, stream_epoch: int) -> int:
        """The number of (unit, camera) in this ring, and notes its epoch. Raises StreamError
        when all 64 are taken, ArgumentError for a bad name."""
        return self._raise_below(quick.sg_ring_stream(self._w, c_name(unit), c_name(camera), _u32("stream_epoch", stream_epoch), self._error))

    def publish(self, m: Message) -> int:
        """Publishes m with its body; returns its sequence. Raises TooLargeError, StreamError, ArgumentError."""
        c = _message(m)
        self._raise_below(quick.sg_ring_publish(self._w, ctypes.addressof(c), m.body, len(m.body), self._error))
        return c.sequence

    def publish_boxes(self, m: Message, boxes: Any) -> int:
        """publish of kind boxes, with boxes as Writer.publish takes them in place of m.body."""
        body, n = packed(boxes)
        c = _message(m, KIND_BOXES, n)
        self._raise_below(quick.sg_ring_publish(self._w, ctypes.addressof(c), body, n * 24, self._error))
        return c.sequence

    def publish_text(self, m: Message, capture: bytes) -> int:
        """publish, with a capture time as text in place of m.capture_ns."""
        c = _message(m)
        self._raise_below(
            quick.sg_ring_publish_text(self._w, ctypes.addressof(c), capture, len(capture), m.body, len(m.body), self._error)
        )
        return c.sequence

    def set_state(self, state: State) -> None:
        quick.sg_ring_set_state(self._w, int(state))

    def set_generation(self, generation: int) -> None:
        quick.sg_ring_set_generation(self._w, generation)

    def heartbeat(self, now_ns: int) -> None:
        """now_ns: CLOCK_MONOTONIC."""
        quick.sg_ring_heartbeat(self._w, now_ns)


def _message(m: Message, kind: int | None = None, count: int | None = None) -> MessageStruct:
    """m for C, whose fields would silently cut what is too large for them."""
    try:
        return MessageStruct.from_buffer_copy(
            MESSAGE.pack(
                0, m.capture_ns, m.publish_ns, m.frame_id, m.tag, m.stream, m.stream_epoch, 0,
                m.count if count is None else count, m.kind if kind is None else kind, m.flags,
            )
        )
    except struct.error as e:
        raise ArgumentError(f"publish {m!r:.200}: a value does not fit its word: {e}") from None


def _u32(what: str, value: int) -> int:
    if not 0 <= value < 1 << 32:
        raise ArgumentError(f"{what} {value}: want 0…4294967295")
    return value


class RingReader(_Ring):
    """Reads a detection or output ring from its present head on.

    Once the ring is empty, its head is start + read + lost. A ring that makes no sense
    raises QuarantineError, at once and for ever after; read it with a new reader.
    """

    def __init__(self, memory: Any) -> None:
        super().__init__(memory)
        self._reader = RingReaderStruct()
        self._r = ctypes.addressof(self._reader)
        self._raise_below(quick.sg_ring_reader_init(self._r, self._at, self._size, self._error))
        self._body = ctypes.create_string_buffer(self._reader.payload)
        self._body_at = ctypes.addressof(self._body)

    def next(self) -> Message | None:
        """The oldest message not yet read; None when there is nothing new. Raises QuarantineError."""
        c = MessageStruct()
        if self._raise_below(quick.sg_ring_next(self._r, ctypes.addressof(c), self._body_at, len(self._body), self._error)) == 0:
            return None
        return Message(c.kind, c.stream, c.stream_epoch, c.capture_ns, c.publish_ns, c.frame_id, c.tag, c.count, c.flags,
                       c.sequence, ctypes.string_at(self._body_at, c.length))

    def rewind(self, n: int) -> None:
        """Begins up to n messages further back; before the first next()."""
        quick.sg_ring_rewind(self._r, n)

    def stream(self, number: int) -> tuple[str, str, int]:
        """(unit, camera, latest epoch) of a stream. Raises StreamError when there is no such."""
        s = StreamInfoStruct()
        self._raise_below(quick.sg_ring_stream_info(self._r, _u32("stream", number), ctypes.addressof(s), self._error))
        return s.unit.decode(), s.camera.decode(), s.epoch

    def info(self) -> RingInfo:
        """What the header says now."""
        i = RingInfoStruct()
        self._raise_below(quick.sg_ring_reader_info(self._r, ctypes.addressof(i), self._error))
        values = {name: getattr(i, name) for name, _ in i._fields_}
        state = values["state"]
        return RingInfo(**{**values, "model": i.model.decode(), "state": State(state) if state <= State.DRAINING else state})

    @property
    def start(self) -> int:
        """The head at which it began."""
        return self._reader.start

    @property
    def read(self) -> int:
        """Messages read."""
        return self._reader.read

    @property
    def lost(self) -> int:
        """Messages overwritten before they were read."""
        return self._reader.lost


def parse_fused(m: Message, models: list[str], classes: list[str], unit: str = "", camera: str = "") -> FusedFrame:
    """Takes the body of a message of kind fused apart, with the names that its ring told.
    Raises MalformedError; IndexError for a number beyond its table."""
    c, f, error = _message(m), FusedStruct(), ErrorStruct()
    body = (ctypes.c_uint64 * (len(m.body) // 8 + 1))()  # aligned to 8, as C wants it
    ctypes.memmove(body, m.body, len(m.body))
    if quick.sg_fused_parse(ctypes.addressof(c), ctypes.addressof(body), len(m.body), ctypes.addressof(f), ctypes.addressof(error)) < 0:
        raise error_of(error, quick.sg_reason_name)
    return fused_frame(f, unit, camera, models.__getitem__, classes.__getitem__)


class FrameReader(_Ring):
    """Reads a camera's frame ring."""

    def __init__(self, memory: Any, camera: str = "") -> None:
        super().__init__(memory)
        self.camera = camera
        self._reader = ctypes.create_string_buffer(quick.sg_sizeof(b"sg_frame_reader"))
        self._r = ctypes.addressof(self._reader)
        self._raise_below(quick.sg_frames_init(self._r, self._at, self._size, self._error))

    def _frame(self, code: int, f: FrameStruct) -> Frame | None:
        return None if self._raise_below(code) == 0 else Frame(f, self._memory, self.camera, -1, None)

    def newest(self) -> Frame | None:
        """The newest picture; None when there is none yet. Raises QuarantineError."""
        f = FrameStruct()
        return self._frame(quick.sg_frames_newest(self._r, ctypes.addressof(f), self._error), f)

    def get(self, sequence: int) -> Frame | None:
        """Picture number `sequence`; None when it is gone or not there yet. Raises QuarantineError."""
        f = FrameStruct()
        return self._frame(quick.sg_frames_get(self._r, sequence, ctypes.addressof(f), self._error), f)
