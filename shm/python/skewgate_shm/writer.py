"""A detector's side: what it saw goes into its detection ring."""
from __future__ import annotations

import ctypes
import enum
import json as _json
import os
import struct
import time
from typing import Any, NoReturn

from . import library
from .boxes import packed
from .client import Client
from .errors import ArgumentError, Reattached, error_of
from .frame import Frame
from .structs import RAW_CAPTURE, STAMP, ErrorStruct, MessageStruct

_stamp = STAMP.pack_into
_getpid = os.getpid

KIND_BOXES, KIND_JSON, KIND_PROGRESS, KIND_FUSED = 1, 2, 3, 4


class State(enum.IntEnum):
    """What the appliance's status shows of a detector."""

    STARTING = 0
    BUILDING = 1  # loading a model
    WARMING = 2
    READY = 3
    DRAINING = 4


class Writer(Client):
    """The one writer of the detection ring of (model, replica).

    Publishing is about a picture: either a Frame of this writer, which knows its capture
    time, id and epoch, or the name of a camera with capture_ns (ns since 1970, as the
    source says) and, if there is one, frame_id.

    Every publish may raise Detached (the appliance is gone, nothing was published) or
    Reattached (it is back, nothing was published, the picture at hand is of before).
    """

    _state = State.STARTING

    @classmethod
    def attach(cls, model: str, replica: int = 0, path: str | os.PathLike[str] | None = None) -> Writer:
        """Attaches as (model, replica), for which the appliance's configuration says
        `command: attach`. Waits at most two seconds.

        path is that of the appliance's attach.sock; without one it is $SKEWGATE_ATTACH,
        else the usual place. Raises SystemCallError when nobody is there, RefusedError
        with the appliance's reasons, ProtocolError, ArgumentError.
        """
        error = ErrorStruct()
        sock = None if path is None else os.fsencode(path)
        if not 0 <= replica < 1 << 32:
            raise ArgumentError(f"attach as replica {replica}: want 0…4294967295")
        handle = library.patient.sg_attach_writer(sock, library.c_name(model), replica, ctypes.addressof(error))
        if not handle:
            raise error_of(error, library.quick.sg_reason_name)
        return cls(handle, error)

    def __init__(self, handle: int, error: ErrorStruct) -> None:
        self._stamp_bytes = bytearray(STAMP.size)
        self._stamp_array = (ctypes.c_char * STAMP.size).from_buffer(self._stamp_bytes)
        self._stamp = ctypes.addressof(self._stamp_array)
        super().__init__(handle, error)

    def _use(self, lib: Any) -> None:
        super()._use(lib)
        self._publish_boxes = lib.sg_publish_boxes
        self._publish_json = lib.sg_publish_json
        self._publish_progress = lib.sg_publish_progress
        self._publish_text = lib.sg_publish_text

    def _about(self, of: Frame | str, capture_ns: int | None, frame_id: int, tag: int, stream_epoch: int) -> None:
        """Writes what a message is about where the C function reads it."""
        try:
            if type(of) is Frame:
                if of.source != (self, self._attachment):
                    self._foreign(of)
                if capture_ns is not None or frame_id or stream_epoch:
                    raise ArgumentError(f"publish about {of!r}: it knows its capture_ns, frame_id and stream_epoch; do not give them")
                _stamp(self._stamp_bytes, 0, of.capture_ns, of.frame_id, tag, of.stream, of.stream_epoch)
            else:
                if capture_ns is None:
                    raise ArgumentError(f"publish for camera {of!r}: capture_ns is missing, the picture's time in ns since 1970")
                _stamp(self._stamp_bytes, 0, capture_ns, frame_id, tag, self._stream(of), stream_epoch)
        except struct.error:
            raise ArgumentError(
                f"publish with capture_ns {capture_ns!r}, frame_id {frame_id!r}, tag {tag!r}, stream_epoch {stream_epoch!r}: "
                "want whole numbers of 64 bits (stream_epoch: 32), only capture_ns may be negative"
            ) from None

    def _foreign(self, frame: Frame) -> NoReturn:
        if isinstance(frame.source, tuple) and frame.source[0] is self:
            raise Reattached(f"publish about {frame!r}: it is of the memory before re-attachment: take a new picture")
        raise ArgumentError(f"publish about {frame!r}: it is not of this writer; name camera, capture_ns and frame_id instead")

    def publish(
        self, of: Frame | str, boxes: Any, *, capture_ns: int | None = None, frame_id: int = 0, tag: int = 0, stream_epoch: int = 0
    ) -> None:
        """Publishes what was found in a picture. No boxes is an answer too: looked, found nothing.

        boxes: a list of (x1, y1, x2, y2, score, label) in fractions of the frame, bytes or
        any buffer of packed boxes, a numpy array of BOX_DTYPE or of (N, 6) floats; see
        boxes.py for what is copied. tag: what was read from the pixels themselves, if
        anything. stream_epoch: 0 is the appliance's latest word.

        Raises ArgumentError, TooLargeError (more boxes than a slot holds), StreamError,
        Detached, Reattached.
        """
        if _getpid() != self._pid:
            self._refuse()
        self._about(of, capture_ns, frame_id, tag, stream_epoch)
        body, n = packed(boxes)
        if self._publish_boxes(self._handle, self._stamp, body, n, self._error) != 0:
            self._fail()

    def publish_json(
        self, of: Frame | str, json: Any, *, capture_ns: int | None = None, frame_id: int = 0, tag: int = 0, stream_epoch: int = 0
    ) -> None:
        """Publishes {"detections": [{"box": [x1, y1, x2, y2], "score": 0.9, "label": "person"}]}:
        JSON as text or bytes, or anything that json.dumps takes. Labels may be names here.

        Raises as publish does, and TypeError from json.dumps.
        """
        self._check()
        self._about(of, capture_ns, frame_id, tag, stream_epoch)
        text = json if isinstance(json, (bytes, str)) else _json.dumps(json, separators=(",", ":"))
        body = text.encode() if isinstance(text, str) else text
        if self._publish_json(self._handle, self._stamp, body, len(body), self._error) != 0:
            self._fail()

    def publish_text(
        self, camera: str, capture: str | bytes, boxes: Any, *, frame_id: int = 0, tag: int = 0, stream_epoch: int = 0
    ) -> None:
        """publish, with a capture time as text ("2024-05-01T12:00:00.040Z", "1714564800.04"),
        which the appliance reads. At most 65535 bytes. Raises as publish does."""
        self._check()
        self._about(camera, RAW_CAPTURE, frame_id, tag, stream_epoch)
        body, n = packed(boxes)
        text = capture.encode() if isinstance(capture, str) else capture
        if n > 0xFFFF:
            raise ArgumentError(f"publish {n} boxes: at most 65535 fit")
        m = MessageStruct(frame_id=frame_id, tag=tag, stream=self._stream(camera), stream_epoch=stream_epoch, kind=KIND_BOXES, count=n)
        code = self._publish_text(self._handle, ctypes.addressof(m), text, len(text), body, n * 24, self._error)
        if code != 0:
            self._fail()

    def publish_progress(self, camera: str, capture_ns: int) -> None:
        """Promises that nothing captured at or before capture_ns will come any more for this
        camera: the appliance need not wait for it. Raises as publish does."""
        self._check()
        self._about(camera, capture_ns, 0, 0, 0)
        if self._publish_progress(self._handle, self._stream(camera), capture_ns, self._error) != 0:
            self._fail()

    def heartbeat(self, now_ns: int | None = None) -> None:
        """A sign of life while nothing is published, for long loads; poll() gives one too.
        now_ns: CLOCK_MONOTONIC, read when not given. Does nothing while detached."""
        self._check()
        library.quick.sg_heartbeat(self._handle, time.monotonic_ns() if now_ns is None else now_ns)

    @property
    def state(self) -> State:
        """What the appliance shows of this detector. May be set; kept through re-attachment."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._check()
        self._state = State(state)
        library.quick.sg_set_state(self._handle, int(state))
