"""The C library: where it is found, and what its functions take.

There are two handles on the one library. Calls through ``quick`` keep Python's lock:
they take about 0.1 µs, and giving the lock away could mean waiting milliseconds for
another thread to return it. Calls through ``patient`` give it away: they may wait for
the appliance.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from pathlib import Path

from .errors import ArgumentError, LibraryError
from .structs import SIZES

NAME = "libskewgate_shm.so"

P = c_void_p  # any pointer: an address, bytes, or a ctypes object
_FUNCTIONS = {
    "sg_attach_writer": (P, c_char_p, c_char_p, c_uint, P),
    "sg_attach_reader": (P, c_char_p, P),
    "sg_close": (None, P),
    "sg_stream": (c_int, P, c_char_p, P),
    "sg_stream_count": (c_int, P),
    "sg_stream_name": (c_char_p, P, c_int),
    "sg_stream_epoch": (c_uint32, P, c_int),
    "sg_unit": (c_char_p, P),
    "sg_newest": (c_int, P, c_int, P, P),
    "sg_hold": (P, P, P),
    "sg_release": (None, P),
    "sg_publish_boxes": (c_int, P, P, P, c_size_t, P),
    "sg_publish_json": (c_int, P, P, P, c_size_t, P),
    "sg_publish_progress": (c_int, P, c_int, c_int64, P),
    "sg_publish_text": (c_int, P, P, P, c_size_t, P, c_size_t, P),
    "sg_poll": (c_int, P, c_int64, P),
    "sg_heartbeat": (c_int, P, c_int64),
    "sg_set_state": (c_int, P, c_int),
    "sg_draining": (c_int, P),
    "sg_attached": (c_int, P),
    "sg_output_next": (c_int, P, P, P),
    "sg_output_model": (c_char_p, P, c_uint),
    "sg_output_class": (c_char_p, P, c_uint),
    "sg_output_read": (c_uint64, P),
    "sg_output_lost": (c_uint64, P),
    "sg_reason_name": (c_char_p, c_int),
    "sg_sizeof": (c_size_t, c_char_p),
    "sg_ring_bytes": (c_size_t, P),
    "sg_ring_format": (c_int, P, c_size_t, P, P),
    "sg_ring_writer_init": (c_int, P, P, c_size_t, c_uint32, P, P),
    "sg_ring_stream": (c_int, P, c_char_p, c_char_p, c_uint32, P),
    "sg_ring_set_state": (None, P, c_uint32),
    "sg_ring_heartbeat": (None, P, c_int64),
    "sg_ring_set_generation": (None, P, c_uint64),
    "sg_ring_publish": (c_int, P, P, P, c_size_t, P),
    "sg_ring_publish_text": (c_int, P, P, P, c_size_t, P, c_size_t, P),
    "sg_ring_reader_init": (c_int, P, P, c_size_t, P),
    "sg_ring_rewind": (None, P, c_uint64),
    "sg_ring_next": (c_int, P, P, P, c_size_t, P),
    "sg_ring_stream_info": (c_int, P, c_uint32, P, P),
    "sg_ring_reader_info": (c_int, P, P, P),
    "sg_fused_parse": (c_int, P, P, c_size_t, P, P),
    "sg_frames_init": (c_int, P, P, c_size_t, P),
    "sg_frames_newest": (c_int, P, P, P),
    "sg_frames_get": (c_int, P, c_uint64, P, P),
    "sg_frame_valid": (c_int, P),
}


def places() -> list[str]:
    """Where the library is looked for, in this order; $SKEWGATE_SHM_LIB alone when it is set."""
    named = os.environ.get("SKEWGATE_SHM_LIB")
    if named:
        return [named]
    here = Path(__file__).resolve().parent
    return [
        str(here / NAME),  # a wheel brings it along
        str(here.parent.parent / "c" / "build" / NAME),  # a checkout, after `make -C shm/c`
        NAME + ".1",  # where the system's loader looks
    ]


def find() -> str:
    """The first of places() that is there, to be given to the loader.

    Raises LibraryError with all places and the cure.
    """
    tried = places()
    for place in tried:
        if "/" in place and os.path.exists(place):
            return place
        if "/" not in place:
            try:
                ctypes.CDLL(place)
                return place
            except OSError:
                pass
    raise LibraryError(
        f"find the C library: none of {', '.join(tried)} is there: build it with `make -C shm/c`, "
        f"or let SKEWGATE_SHM_LIB name {NAME}"
    )


def _declare(library: ctypes.CDLL, path: str) -> ctypes.CDLL:
    for name, (result, *arguments) in _FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise LibraryError(f"load {path}: it has no {name}: take library and binding from one release") from None
        function.restype = result
        function.argtypes = arguments
    return library


def load(path: str) -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """Loads the library at path: (quick, patient). Raises LibraryError when it cannot be
    loaded, or when its structs have other sizes than ours."""
    try:
        pair = ctypes.PyDLL(path), ctypes.CDLL(path)
    except OSError as e:
        raise LibraryError(f"load the C library: {e}") from e
    for library in pair:
        _declare(library, path)
    for name, mirror in SIZES.items():
        ours = mirror.size if hasattr(mirror, "size") else ctypes.sizeof(mirror)
        theirs = pair[0].sg_sizeof(name.encode())
        if ours != theirs:
            raise LibraryError(
                f"load {path}: its {name} has {theirs} bytes, this binding's {ours}: take both from one release"
            )
    return pair


def c_name(name: str) -> bytes:
    """A name for C, which would not see what follows a zero; it checks the rest itself."""
    if not isinstance(name, str) or "\0" in name:
        raise ArgumentError(f"name {name!r}: want a text of 1…63 bytes without control characters")
    return name.encode("utf-8", "surrogateescape")


quick, patient = load(find())
