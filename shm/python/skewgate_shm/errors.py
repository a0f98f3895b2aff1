"""Errors: one class a cause, each with the C library's own text.

All are of class Error, so ``except skewgate_shm.Error`` catches whatever this package
raises by itself. The text says what was done, where, and what would mend it.
"""
from __future__ import annotations

from .structs import ErrorStruct


class Error(Exception):
    """Anything that this package or its C library refuses."""


class LibraryError(Error, ImportError):
    """libskewgate_shm.so is not there, cannot be loaded, or is of another version."""


class ArgumentError(Error, ValueError):
    """The caller's mistake: a value out of range, boxes that are none, a reader asked to write."""


class TooLargeError(Error, ValueError):
    """Body, text or name exceeds its slot."""


class StreamError(Error, LookupError):
    """A camera that the appliance does not give, or gives without pictures."""


class QuarantineError(Error):
    """The shared memory makes no sense and is not used any more.

    ``reason`` is the word of ABI.md and of the appliance's status, such as "slot_sequence".
    """

    reason = ""


class NotSealedError(Error):
    """A segment whose size could change under us; the appliance never hands out such a one."""


class SystemCallError(Error, OSError):
    """A system call failed; ``errno`` says how. Raised by attach when nobody listens there."""


class ProtocolError(Error):
    """The other end of the socket is not a skewgate that this library knows."""


class RefusedError(Error):
    """The appliance said no to attaching.

    ``refusal`` is its word for why: "abi_version", "unknown_model", "not_allowed",
    "writer_present", "bad_request", "shutting_down", "no_output", "busy" or "other".
    """

    refusal = ""


class Detached(Error, ConnectionError):
    """The appliance is gone: nothing was published or read, and nothing is written any more.

    Go on calling: it is looked for again at growing distances of 0.1 to 5 seconds.
    """


class Reattached(Detached):
    """The appliance was gone and is back. Nothing was published: the message was about a
    picture of the old memory. Take a new picture; from the next call on all is as before.

    A kind of Detached, so that one ``except Detached`` does for both.
    """


class MalformedError(Error, ValueError):
    """One message's body is not what its kind promises. The next one may be good."""


class ClosedError(Error, ValueError):
    """close() was called on it."""


class ForkedError(Error, RuntimeError):
    """Used in another process than the one that attached: attach anew after the fork."""


# enum sg_code
_CLASSES = {
    -1: ArgumentError, -2: TooLargeError, -3: StreamError, -4: QuarantineError, -5: NotSealedError,
    -6: SystemCallError, -7: ProtocolError, -8: RefusedError, -9: Detached, -10: Reattached, -11: MalformedError,
}

# enum sg_refusal
_REFUSALS = ("", "other", "abi_version", "unknown_model", "not_allowed", "writer_present", "bad_request",
             "shutting_down", "no_output", "busy")


def error_of(e: ErrorStruct, reason_name) -> Error:
    """The exception for what the C library wrote into e; reason_name is sg_reason_name."""
    err = _CLASSES.get(e.code, Error)(e.text.decode("utf-8", "replace"))
    if isinstance(err, QuarantineError):
        err.reason = reason_name(e.reason).decode()
    elif isinstance(err, SystemCallError):
        err.errno = e.system
    elif isinstance(err, RefusedError):
        err.refusal = _REFUSALS[e.refusal] if 0 < e.refusal < len(_REFUSALS) else "other"
    return err
