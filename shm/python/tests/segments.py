"""Sealed segments as an appliance makes them, and a frame ring written by ABI.md alone."""
from __future__ import annotations

import fcntl
import mmap
import os
import struct

from skewgate_shm import ring

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
HOT = 4096
FRAME_SLOTS_AT, FRAME_SLOT = 12288, 128


class Segment:
    """A memfd: fd for its writer, fd_reader for others, memory mapped here."""

    def __init__(self, size: int, seals: int = SEALS) -> None:
        self.fd = os.memfd_create("skewgate:test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.posix_fallocate(self.fd, 0, size)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)
        self.fd_reader = os.open(f"/proc/self/fd/{self.fd}", os.O_RDONLY | os.O_CLOEXEC)
        self.memory = mmap.mmap(self.fd, size)

    def close(self) -> None:
        os.close(self.fd)
        os.close(self.fd_reader)
        # memory goes with its last user: readers of tests may still hold it


def ring_segment(model: str, slots: int = 8, payload: int = 24 * 16, replica: int = 0, output: bool = False) -> Segment:
    s = Segment(ring.ring_bytes(slots, payload, output))
    ring.format_ring(s.memory, slots, payload, model, replica=replica, output=output)
    return s


def put(memory, at: int, form: str, *values) -> None:
    struct.pack_into("<" + form, memory, at, *values)


def doorbell_segment() -> Segment:
    s = Segment(12288)
    put(s.memory, 8, "IIQIIIIII", 1, 4, 12288, 0, 0, 0, 0, HOT, 0)
    put(s.memory, 0, "8s", b"SKEWGATE")
    return s


def up(n: int) -> int:
    return (n + 4095) // 4096 * 4096


class FrameRing:
    """The writer of a frame ring, as ABI.md tells a fourth language to write it."""

    def __init__(self, unit: str, camera: str, slots: int = 3, pixel_bytes: int = 64 * 48 * 3 // 2) -> None:
        self.slots, self.stride = slots, up(pixel_bytes)
        self.pixels_at = up(FRAME_SLOTS_AT + slots * FRAME_SLOT)
        size = self.pixels_at + slots * self.stride
        self.segment = Segment(size)
        self.memory = m = self.segment.memory
        put(m, 8, "IIQIIIIII", 1, 2, size, FRAME_SLOTS_AT, slots, FRAME_SLOT, pixel_bytes, HOT, 0)
        put(m, 64, "QQ", self.pixels_at, self.stride)
        put(m, 320, "64s64s", unit.encode(), camera.encode())
        put(m, 0, "8s", b"SKEWGATE")
        self.head = 0

    def at(self, sequence: int) -> tuple[int, int]:
        i = sequence % self.slots
        return FRAME_SLOTS_AT + i * FRAME_SLOT, self.pixels_at + i * self.stride

    def begin(self) -> None:
        """Takes the oldest picture away."""
        slot, _ = self.at(self.head + 1)
        put(self.memory, slot, "Q", 0)

    def publish(self, pixels: bytes, width: int, height: int, *, format: int = 1, capture_ns: int = 0, frame_id: int = 0,
                tag: int = 0, epoch: int = 1, clock: int = 4, length: int | None = None) -> int:
        self.begin()
        self.head += 1
        slot, at = self.at(self.head)
        self.memory[at : at + len(pixels)] = pixels
        put(self.memory, slot + 8, "qqQQIIIIII", capture_ns, 77, frame_id, tag, epoch, format, width, height,
            len(pixels) if length is None else length, clock)
        put(self.memory, slot, "Q", self.head)
        put(self.memory, HOT, "Q", self.head)
        return self.head


def i420(width: int, height: int, luma: int = 16) -> bytes:
    """A picture whose Y plane counts up from luma, U is 100 and V is 200."""
    chroma = (width + 1) // 2 * ((height + 1) // 2)
    return bytes((luma + i) % 256 for i in range(width * height)) + b"\x64" * chroma + b"\xc8" * chroma
