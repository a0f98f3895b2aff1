"""skewgate's shared memory from Python: be a detector, or read what the appliance answers.

    from skewgate_shm import Writer

    with Writer.attach("mine") as writer:
        for frame in writer.frames("gate"):
            writer.publish(frame, [(0.1, 0.2, 0.3, 0.4, 0.9, 0)])

Standard library only, on the C library libskewgate_shm.so through ctypes. numpy is used
where an array is given or asked for, and never needed.
"""
from __future__ import annotations

from typing import Any

from .boxes import BOX_BYTES, box_dtype, unpacked
from .errors import (ArgumentError, ClosedError, Detached, Error, ForkedError, LibraryError, MalformedError,
                     NotSealedError, ProtocolError, QuarantineError, Reattached, RefusedError, StreamError,
                     SystemCallError, TooLargeError)
from .frame import Frame
from .fused import FusedBox, FusedFrame
from .reader import Reader
from .writer import State, Writer

__version__ = "1.0.0"  # of the C library it goes with

__all__ = [
    "ArgumentError", "BOX_BYTES", "ClosedError", "Detached", "Error", "ForkedError", "Frame", "FusedBox", "FusedFrame",
    "LibraryError", "MalformedError", "NotSealedError", "ProtocolError", "QuarantineError", "Reader", "Reattached",
    "RefusedError", "State", "StreamError", "SystemCallError", "TooLargeError", "Writer", "box_dtype", "unpacked",
]


def __getattr__(name: str) -> Any:
    """BOX_DTYPE is made when asked for, so that numpy is not imported for nothing."""
    if name == "BOX_DTYPE":
        return box_dtype()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
