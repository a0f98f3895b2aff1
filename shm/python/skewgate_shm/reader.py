"""The other end: fused frames as the appliance publishes them, and all cameras."""
from __future__ import annotations

import ctypes
import os
import time
from typing import Any, Iterator

from . import library
from .client import Client
from .errors import Detached, Reattached, error_of
from .fused import FusedFrame, fused_frame
from .structs import ErrorStruct, FusedStruct


class Reader(Client):
    """Reads the output ring from the moment it attached, and pictures of every camera.

    Nobody waits for a reader: what it is too slow for is overwritten and counted in lost.
    """

    @classmethod
    def attach(cls, path: str | os.PathLike[str] | None = None) -> Reader:
        """Attaches to an appliance whose configuration has a sink `shm`. Waits at most two
        seconds. path and errors are those of Writer.attach."""
        error = ErrorStruct()
        sock = None if path is None else os.fsencode(path)
        handle = library.patient.sg_attach_reader(sock, ctypes.addressof(error))
        if not handle:
            raise error_of(error, library.quick.sg_reason_name)
        return cls(handle, error)

    def _use(self, lib: Any) -> None:
        super()._use(lib)
        self._output_next = lib.sg_output_next

    def next(self) -> FusedFrame | None:
        """The oldest fused frame not yet read; None when there is none.

        Raises Detached, Reattached, MalformedError for one bad record (the next call goes
        on behind it), QuarantineError when the ring makes no sense.
        """
        self._check()
        f = FusedStruct()
        code = self._output_next(self._handle, ctypes.addressof(f), self._error)
        if code == 0:
            return None
        if code < 0:
            self._fail()
        unit, camera = ctypes.string_at(f.unit).decode(), ctypes.string_at(f.camera).decode()
        return fused_frame(f, unit, camera, self._model, self._label)

    def _model(self, index: int) -> str:
        name = library.quick.sg_output_model(self._handle, index)
        return f"model {index}" if name is None else name.decode("utf-8", "replace")

    def _label(self, index: int) -> str:
        name = library.quick.sg_output_class(self._handle, index)
        return f"class {index}" if name is None else name.decode("utf-8", "replace")

    def fused(self, every_s: float = 0.001) -> Iterator[FusedFrame]:
        """Each fused frame as it comes, looked for every every_s seconds when there is none.
        Never ends by itself: when the appliance is away it waits for its return."""
        while True:
            try:
                frame = self.next()
            except Reattached:
                continue
            except Detached:
                frame = None
            if frame is None:
                time.sleep(every_s)
            else:
                yield frame

    __iter__ = fused

    @property
    def read(self) -> int:
        """Messages read, those that tell names included."""
        self._check()
        return library.quick.sg_output_read(self._handle)

    @property
    def lost(self) -> int:
        """Messages overwritten before they were read."""
        self._check()
        return library.quick.sg_output_lost(self._handle)
