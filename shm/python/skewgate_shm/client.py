"""What Writer and Reader have in common: an attachment to a running appliance."""
from __future__ import annotations

import ctypes
import logging
import os
import time
import warnings
import weakref
from types import TracebackType
from typing import Any, Iterator, NoReturn

from . import library
from .errors import ClosedError, Detached, ForkedError, Reattached, error_of
from .frame import Frame, _Held
from .structs import ErrorStruct, FrameStruct

_log = logging.getLogger("skewgate_shm")
_clients: weakref.WeakSet[Client] = weakref.WeakSet()


def _leave_after_fork() -> None:
    """A child's copy of the socket would keep the appliance from noticing its parent's death."""
    for client in list(_clients):
        client._leave()


os.register_at_fork(after_in_child=_leave_after_fork)


class Client:
    """An attachment. One thread at a time may use it, and only the process that made it.

    When the appliance goes, the call that notices raises Detached; from then on each call
    raises it until the appliance is back, which one call tells by raising Reattached.
    Nothing is written into memory whose appliance is gone.
    """

    def __init__(self, handle: int, error: ErrorStruct) -> None:
        self._handle = handle
        self._pid = os.getpid()  # 0 once closed, so that one check does for both
        self._owner = self._pid
        self._error_struct = error
        self._error = ctypes.addressof(error)
        self._attachment = 1
        self._said = ""
        self._use(library.quick)
        self._learn()
        _clients.add(self)

    # -- life -------------------------------------------------------------------------

    def close(self) -> None:
        """Gives everything back; the appliance takes it as the end of this client. Frames
        still at hand stay readable. May be called twice."""
        if self._pid == os.getpid():
            self._leave()

    def _leave(self) -> None:
        handle, self._handle, self._pid = self._handle, 0, 0
        if handle:
            library.quick.sg_close(handle)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            warnings.warn(f"unclosed {self!r}: use it in a with statement", ResourceWarning, source=self)
            self.close()

    def _check(self) -> None:
        """Raises when this is closed, or not this process's."""
        if os.getpid() != self._pid:
            self._refuse()

    def _refuse(self) -> NoReturn:
        if os.getpid() != self._owner:
            raise ForkedError(
                f"use a {type(self).__name__} of process {self._owner} in process {os.getpid()}: "
                "one ring has one writer; attach in the process that uses it, after the fork"
            )
        raise ClosedError(f"use a {type(self).__name__} after close(): attach a new one")

    # -- the C library's answers --------------------------------------------------------

    def _use(self, lib: Any) -> None:
        """Binds the functions that attach anew when detached: patient ones then, quick ones else."""
        self._poll = lib.sg_poll
        self._newest = lib.sg_newest

    def _learn(self) -> None:
        """Notes the cameras. A number keeps its camera through re-attachment."""
        quick, handle = library.quick, self._handle
        names = (quick.sg_stream_name(handle, i).decode() for i in range(quick.sg_stream_count(handle)))
        self._streams = {name: i for i, name in enumerate(names)}

    def _fail(self) -> NoReturn:
        """Raises what the C library has just written into the error."""
        err = error_of(self._error_struct, library.quick.sg_reason_name)
        if isinstance(err, Reattached):
            self._attachment += 1
            self._learn()
            self._use(library.quick)
            self._said = ""
            _log.warning("attached anew to unit %s", self.unit)
        elif isinstance(err, Detached):
            self._use(library.patient)
            why = str(err).partition("; tried again in ")[0]
            if why != self._said:  # once for each reason
                _log.warning("%s; tried again until it is back", why)
            self._said = why
        raise err

    def _stream(self, camera: str) -> int:
        """The number of a camera. Raises StreamError."""
        stream = self._streams.get(camera)
        if stream is None:
            stream = library.quick.sg_stream(self._handle, library.c_name(camera), self._error)
            if stream < 0:
                self._fail()
        return stream

    # -- what it is attached to -----------------------------------------------------------

    @property
    def unit(self) -> str:
        """Name of the appliance."""
        self._check()
        return library.quick.sg_unit(self._handle).decode()

    @property
    def cameras(self) -> dict[str, int]:
        """The cameras given, each with its latest stream_epoch (0: no picture yet)."""
        self._check()
        return {name: library.quick.sg_stream_epoch(self._handle, i) for name, i in self._streams.items()}

    @property
    def attached(self) -> bool:
        """False while the appliance is gone, as far as noticed."""
        self._check()
        return library.quick.sg_attached(self._handle) != 0

    @property
    def attachment(self) -> int:
        """1, and one more with each re-attachment."""
        return self._attachment

    @property
    def draining(self) -> bool:
        """True once the appliance has asked to finish and close."""
        self._check()
        return library.quick.sg_draining(self._handle) != 0

    def poll(self, now_ns: int | None = None) -> None:
        """For times without other calls: a look at the socket, and a writer's heartbeat.
        now_ns: CLOCK_MONOTONIC, read when not given. Raises Detached and Reattached."""
        self._check()
        if self._poll(self._handle, time.monotonic_ns() if now_ns is None else now_ns, self._error) != 0:
            self._fail()

    # -- pictures ---------------------------------------------------------------------------

    def newest(self, camera: str) -> Frame | None:
        """The camera's newest picture, in place; None when there is none yet.

        Raises StreamError, Detached, Reattached, and QuarantineError when the ring makes no sense.
        """
        self._check()
        stream = self._stream(camera)
        f = FrameStruct()
        code = self._newest(self._handle, stream, ctypes.addressof(f), self._error)
        if code < 0:
            self._fail()
        if code == 0:
            return None
        held = _Held(library.quick.sg_hold(self._handle, f.pixels), library.quick.sg_release)
        return Frame(f, held, camera, stream, (self, self._attachment))

    def frames(self, camera: str, every_s: float = 0.001) -> Iterator[Frame]:
        """Each new picture of the camera, looked for every every_s seconds. Pictures that
        come while the caller is busy are passed over: it always gets the newest.

        Never ends by itself: while the appliance is away it waits for its return, and says
        so through the logger "skewgate_shm". Of a restart, the caller only sees that its
        next publish raises Detached. Raises what newest raises but that.
        """
        last: Any = None
        while True:
            try:
                frame = self.newest(camera)
            except Reattached:
                continue
            except Detached:
                frame = None
            if frame is not None and (self._attachment, frame.sequence) != last:
                last = (self._attachment, frame.sequence)
                yield frame
            else:
                time.sleep(every_s)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'of' if self._handle else 'closed, of'} process {self._owner}>"
