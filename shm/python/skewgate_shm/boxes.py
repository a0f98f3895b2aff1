"""Boxes on their way into a ring: 24 bytes each, five float32 and a uint32 label.

Taken as they are, without a copy of our own: bytes, and any writable contiguous buffer
of such boxes (bytearray, memoryview, array, numpy array of BOX_DTYPE). Packed first:
lists of tuples and (N, 6) arrays of floats, whose sixth column is a float and has to
become a whole number. Read-only and strided buffers are copied.

Corners are fractions of the full frame, 0 ≤ x1 ≤ x2 ≤ 1 and 0 ≤ y1 ≤ y2 ≤ 1, the score
is 0…1. That is not looked at here: the appliance judges every box at its gate, counts
what it turns away, and says so in its status.
"""
from __future__ import annotations

import ctypes
import re
import struct
from itertools import starmap
from typing import Any, Iterable

from .errors import ArgumentError
from .structs import BOX

BOX_BYTES = BOX.size
FIELDS = ("x1", "y1", "x2", "y2", "score", "label")

_pack = BOX.pack
_AT = ctypes.c_char * 0  # its from_buffer is the quickest way to an address
_PACKED = re.compile(r"[<=@]?[bBc]|T\{(?:[<=@]?f(?::\w+:)?){5}[<=@]?[IL](?::\w+:)?\}")
_is_packed: dict[str, bool] = {}  # by format: there are few, and matching takes a µs


def box_dtype() -> Any:
    """The numpy dtype of a box: fields x1, y1, x2, y2, score, label in 24 bytes.

    Also to be had as skewgate_shm.BOX_DTYPE. Raises ImportError without numpy.
    """
    import numpy

    return numpy.dtype([(name, "<f4") for name in FIELDS[:5]] + [("label", "<u4")])


def packed(boxes: Any) -> tuple[Any, int]:
    """What a C function takes for boxes, and how many there are.

    The first lives at least as long as it is referred to, and keeps alive what it points
    into. Raises ArgumentError that names the box which is none.
    """
    kind = type(boxes)
    if kind is list or kind is tuple:
        try:
            return b"".join(starmap(_pack, boxes)), len(boxes)
        except (TypeError, ValueError, OverflowError, struct.error):
            return _one_by_one(boxes), len(boxes)
    if kind is bytes:
        return boxes, _whole(len(boxes))
    if kind is bytearray:
        return _AT.from_buffer(boxes), _whole(len(boxes))
    try:
        view = memoryview(boxes)
    except TypeError:
        return packed(_listed(boxes))
    return _from_buffer(view)


def _listed(boxes: Any) -> list:
    try:
        return list(boxes)
    except TypeError:
        raise ArgumentError(
            f"publish boxes given as {type(boxes).__name__}: want a list of ({', '.join(FIELDS)}), packed bytes, or an array"
        ) from None


def _whole(size: int) -> int:
    n, rest = divmod(size, BOX_BYTES)
    if rest:
        raise ArgumentError(f"publish {size} bytes of packed boxes: not a multiple of {BOX_BYTES} (five float32, one uint32)")
    return n


def _from_buffer(view: memoryview) -> tuple[Any, int]:
    form = view.format
    if form not in _is_packed:
        _is_packed[form] = _PACKED.fullmatch(form) is not None
    if _is_packed[form]:
        n = _whole(view.nbytes)
        if view.readonly or not view.c_contiguous:
            return view.tobytes(), n
        return _AT.from_buffer(view), n
    if view.nbytes == 0:  # numpy.array([]) has a shape of its own
        return b"", 0
    if form not in ("f", "d") or view.ndim != 2 or view.shape[1] != 6:
        raise ArgumentError(
            f"publish boxes given as a buffer of shape {view.shape} and format {form!r}: "
            "want (N, 6) of float32 or float64, or boxes of BOX_DTYPE"
        )
    rows = view.tolist()
    try:
        whole = [[x1, y1, x2, y2, score, int(label)] for x1, y1, x2, y2, score, label in rows]
        if whole == rows:
            return packed(whole)
    except (ValueError, OverflowError):
        pass  # a label that is not even a number: _one_by_one says which
    return _one_by_one(rows), len(rows)


def _one_by_one(boxes: Iterable) -> bytes:
    """Packs boxes of which at least one is unusual, and says which if it is no box at all."""
    out = []
    for i, box in enumerate(boxes):
        try:
            x1, y1, x2, y2, score, label = box
        except (TypeError, ValueError):
            raise ArgumentError(f"publish box {i}: {box!r:.100} is not six numbers ({', '.join(FIELDS)})") from None
        try:
            if not hasattr(label, "__index__") and float(label).is_integer():
                label = int(label)  # models often give all six as floats
            out.append(_pack(x1, y1, x2, y2, score, label))
        except (TypeError, ValueError, OverflowError, struct.error):
            if all(_is_float32(v) for v in (x1, y1, x2, y2, score)):
                raise _no_label(i, label) from None
            raise ArgumentError(f"publish box {i}: {box!r:.100}: corners and score are numbers that fit a float32") from None
    return b"".join(out)


def _is_float32(v: Any) -> bool:
    try:
        struct.pack("<f", v)
        return True
    except (TypeError, ValueError, OverflowError, struct.error):
        return False


def _no_label(row: int, label: Any) -> ArgumentError:
    return ArgumentError(f"publish box {row}: label {label!r:.40} is not a whole number 0…4294967295: send the class's number")


def unpacked(body: bytes | memoryview) -> list[tuple[float, float, float, float, float, int]]:
    """The boxes of a message's body as tuples. Raises ArgumentError for a part of a box."""
    _whole(len(body))
    return list(BOX.iter_unpack(body))
