"""The appliance's answer: one fused frame for all that the detectors said of a picture."""
from __future__ import annotations

from ctypes import string_at
from dataclasses import dataclass
from typing import Callable

from .structs import FUSED_BOX, FUSED_MISSING, FUSED_MODEL, RAW_CAPTURE, VOTE, FusedStruct

REASONS = {1: "quorum", 2: "settled", 3: "timeout", 4: "eviction"}
MISSING = {1: "absent", 2: "dead", 3: "passed", 4: "late", 5: "other_bucket", 6: "wrong_generation"}


@dataclass(frozen=True)
class FusedBox:
    """A box that the models agreed on.

    box    (x1, y1, x2, y2) in fractions of the frame
    score  0…1
    label  name of the class
    votes  {model: score} of those that saw it
    """

    box: tuple[float, float, float, float]
    score: float
    label: str
    votes: dict[str, float]


@dataclass(frozen=True)
class FusedFrame:
    """A fused frame. Times named _mono_ns are CLOCK_MONOTONIC, capture times the source's own.

    seq              number of the frame, from 1 over the appliance's run
    unit, camera     whose picture it was, of stream_epoch
    frame_id         None when the source gave none
    generation       of the configuration; None for none
    capture_ns       earliest capture time; None when known as text only
    captures         {model: capture_ns} of those that answered
    missing          {model: why} of those that did not: "absent", "dead", "passed", "late",
                     "other_bucket", "wrong_generation"; "other" for a reason that is newer
    reason           why it was closed: "quorum", "settled", "timeout", "eviction"
    arrival_skew_ns  last arrival − first; None when fewer than two answered
    degraded         a model was missing
    boxes            best score first
    """

    seq: int
    unit: str
    camera: str
    stream_epoch: int
    frame_id: int | None
    generation: int | None
    capture_ns: int | None
    captures: dict[str, int | None]
    missing: dict[str, str]
    reason: str
    first_arrival_mono_ns: int
    closed_mono_ns: int
    published_mono_ns: int
    arrival_skew_ns: int | None
    degraded: bool
    boxes: tuple[FusedBox, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """Those that answered."""
        return tuple(self.captures)


def fused_frame(
    f: FusedStruct, unit: str, camera: str, model: Callable[[int], str], label: Callable[[int], str]
) -> FusedFrame:
    """Copies what the C library took apart out of its buffer; model and label name numbers."""

    def records(form, address, n):
        return form.iter_unpack(string_at(address, n * form.size)) if n else ()

    votes = [(model(m), score) for m, score in records(VOTE, f.votes, f.vote_count)]
    m = f.message
    return FusedFrame(
        seq=f.seq,
        unit=unit,
        camera=camera,
        stream_epoch=m.stream_epoch,
        frame_id=m.frame_id or None,
        generation=f.generation or None,
        capture_ns=_capture(m.capture_ns),
        captures={model(i): _capture(ns) for i, ns in records(FUSED_MODEL, f.models, f.model_count)},
        missing={model(i): MISSING.get(why, "other") for i, why in records(FUSED_MISSING, f.missing, f.missing_count)},
        reason=REASONS.get(f.reason, "unknown"),
        first_arrival_mono_ns=f.first_arrival_ns,
        closed_mono_ns=f.closed_ns,
        published_mono_ns=m.publish_ns,
        arrival_skew_ns=None if f.arrival_skew_ns < 0 else f.arrival_skew_ns,
        degraded=f.degraded != 0,
        boxes=tuple(
            FusedBox((x1, y1, x2, y2), score, label(c), dict(votes[first : first + n]))
            for x1, y1, x2, y2, score, c, first, n in records(FUSED_BOX, f.boxes, f.box_count)
        ),
    )


def _capture(ns: int) -> int | None:
    return None if ns == RAW_CAPTURE else ns
