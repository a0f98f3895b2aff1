"""A camera's picture where it lies in shared memory."""
from __future__ import annotations

import ctypes
from typing import Any

from .errors import ArgumentError
from .library import quick
from .structs import FrameStruct

FORMATS = {1: "I420", 2: "RGB24"}
CLOCKS = {1: "camera", 2: "arrival", 3: "monotonic", 4: "file"}


class _Held:
    """Keeps a mapping for as long as this lives, beyond re-attachment and close."""

    __slots__ = ("token", "release")

    def __init__(self, token: int, release: Any) -> None:
        self.token = token
        self.release = release  # kept here: at the interpreter's end module names are gone

    def __del__(self) -> None:
        self.release(self.token)


def view_of(address: int, length: int, keep: Any) -> memoryview:
    """A read-only view of bytes in memory; it and all made of it keep `keep` alive."""
    array = (ctypes.c_ubyte * length).from_address(address)
    array.keep = keep
    return memoryview(array).cast("B").toreadonly()


class Frame:
    """One picture, used in place: nobody waits for us, so its writer may overwrite it.

    Work with it, then ask valid(); if that says no, throw away what was made of it. Its
    memory stays mapped for as long as a view of it lives, so a late look is harmless.

    camera        its name
    sequence      of the picture in its ring, from 1
    capture_ns    the source's time, ns since 1970
    publish_ns    when it was there, ns of CLOCK_MONOTONIC
    frame_id      from 1 within a stream_epoch
    tag           free for the source
    stream_epoch  raised at each start of the source
    format        "I420" or "RGB24"
    width, height in pixels
    clock         where the capture time comes from: "camera", "arrival", "monotonic", "file"
    pixels        all bytes as a read-only memoryview, planes without padding
    """

    __slots__ = (
        "camera", "sequence", "capture_ns", "publish_ns", "frame_id", "tag", "stream_epoch", "format", "width", "height",
        "clock", "pixels", "stream", "source", "_struct", "_address",
    )

    def __init__(self, f: FrameStruct, keep: Any, camera: str, stream: int, source: Any) -> None:
        """Made by Client.newest and FrameReader; keep holds the memory, source says whose it is."""
        self.camera = camera
        self.stream = stream
        self.source = source
        self.sequence = f.sequence
        self.capture_ns = f.capture_ns
        self.publish_ns = f.publish_ns
        self.frame_id = f.frame_id
        self.tag = f.tag
        self.stream_epoch = f.stream_epoch
        self.format = FORMATS[f.format]  # the C library refuses others
        self.width = f.width
        self.height = f.height
        self.clock = CLOCKS.get(f.clock, "unknown")
        self.pixels = view_of(f.pixels, f.length, keep)
        self._struct = f
        self._address = ctypes.addressof(f)

    def valid(self) -> bool:
        """Whether all that was read of the pixels until now was of this picture."""
        return quick.sg_frame_valid(self._address) != 0

    @property
    def luma(self) -> memoryview:
        """The Y plane, width · height bytes, row by row. Only of I420."""
        if self.format != "I420":
            raise ArgumentError(f"luma of a picture in {self.format}: only I420 has a plane of it")
        return self.pixels[: self.width * self.height]

    def planes(self) -> tuple[memoryview, ...]:
        """Read-only views without a copy: Y, U and V as rows × columns (the chroma planes
        with half of each, rounded up), or one of rows × columns × 3 for RGB24."""
        w, h = self.width, self.height
        if self.format == "RGB24":
            return (self.pixels.cast("B", (h, w, 3)),)
        cw, ch = (w + 1) // 2, (h + 1) // 2
        u, v = w * h, w * h + cw * ch
        return (
            self.pixels[:u].cast("B", (h, w)),
            self.pixels[u:v].cast("B", (ch, cw)),
            self.pixels[v:].cast("B", (ch, cw)),
        )

    def arrays(self) -> tuple[Any, ...]:
        """planes() as read-only numpy arrays of uint8, without a copy. Raises ImportError without numpy."""
        import numpy

        return tuple(numpy.asarray(plane) for plane in self.planes())

    def __repr__(self) -> str:
        return (
            f"<Frame {self.sequence} of {self.camera!r}: {self.width}x{self.height} {self.format}, "
            f"id {self.frame_id} in epoch {self.stream_epoch}>"
        )
