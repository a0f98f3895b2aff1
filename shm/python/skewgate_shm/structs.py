"""The C library's structs, field by field as skewgate_shm.h has them.

library.py compares their sizes with the library's own (sg_sizeof) when it loads it.
Structs that are only handed from call to call have no mirror: they are plain bytes.
"""
from __future__ import annotations

import struct
from ctypes import Structure, c_char, c_int, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

RAW_CAPTURE = -(1 << 63)  # as capture_ns: the time is text
NAME_BYTES = 64

# A box and a stamp are written and read by struct, which is quicker than by field.
BOX = struct.Struct("<5fI")  # sg_box: x1, y1, x2, y2, score, label
MESSAGE = struct.Struct("<QqqQQIIIHBB")  # sg_message, in the order of MessageStruct
STAMP = struct.Struct("<qQQII")  # sg_stamp: capture_ns, frame_id, tag, stream, stream_epoch
FUSED_MODEL = struct.Struct("<H6xq")  # sg_fused_model: model, capture_ns
FUSED_MISSING = struct.Struct("<HBx")  # sg_fused_missing: model, why
FUSED_BOX = struct.Struct("<5fIII")  # sg_fused_box: x1, y1, x2, y2, score, class, first vote, votes
VOTE = struct.Struct("<Hxxf")  # sg_vote: model, score


class ErrorStruct(Structure):
    _fields_ = [("code", c_int), ("reason", c_int), ("refusal", c_int), ("system", c_int), ("text", c_char * 496)]


class MessageStruct(Structure):
    _fields_ = [
        ("sequence", c_uint64), ("capture_ns", c_int64), ("publish_ns", c_int64), ("frame_id", c_uint64),
        ("tag", c_uint64), ("stream", c_uint32), ("stream_epoch", c_uint32), ("length", c_uint32),
        ("count", c_uint16), ("kind", c_uint8), ("flags", c_uint8),
    ]


class FrameStruct(Structure):
    _fields_ = [
        ("sequence", c_uint64), ("capture_ns", c_int64), ("publish_ns", c_int64), ("frame_id", c_uint64),
        ("tag", c_uint64), ("stream_epoch", c_uint32), ("format", c_uint32), ("width", c_uint32),
        ("height", c_uint32), ("length", c_uint32), ("clock", c_uint32), ("pixels", c_void_p), ("word", c_void_p),
    ]


class FusedStruct(Structure):
    _fields_ = [
        ("message", MessageStruct), ("unit", c_void_p), ("camera", c_void_p), ("seq", c_uint64),
        ("generation", c_uint64), ("first_arrival_ns", c_int64), ("closed_ns", c_int64), ("arrival_skew_ns", c_int64),
        ("reason", c_uint32), ("degraded", c_uint32), ("model_count", c_uint32), ("missing_count", c_uint32),
        ("box_count", c_uint32), ("vote_count", c_uint32), ("models", c_void_p), ("missing", c_void_p),
        ("boxes", c_void_p), ("votes", c_void_p),
    ]


class RingConfigStruct(Structure):
    _fields_ = [
        ("slots", c_uint32), ("payload_bytes", c_uint32), ("model", c_void_p), ("replica", c_uint32),
        ("index", c_uint32), ("generation", c_uint64), ("output", c_int),
    ]


class StreamInfoStruct(Structure):
    _fields_ = [("unit", c_char * NAME_BYTES), ("camera", c_char * NAME_BYTES), ("hash", c_uint64), ("epoch", c_uint32)]


class RingInfoStruct(Structure):
    _fields_ = [
        ("model", c_char * NAME_BYTES), ("replica", c_uint32), ("slots", c_uint32), ("payload_bytes", c_uint32),
        ("pid", c_uint32), ("ring_epoch", c_uint32), ("state", c_uint32), ("streams", c_uint32),
        ("generation", c_uint64), ("head", c_uint64), ("heartbeat_ns", c_int64),
    ]


class RingReaderStruct(Structure):
    _fields_ = [
        ("segment", c_void_p), ("slots", c_void_p), ("mask", c_uint64), ("stride", c_uint64), ("payload", c_uint64),
        ("hot_at", c_uint64), ("head_at", c_void_p), ("start", c_uint64), ("next", c_uint64), ("head", c_uint64),
        ("read", c_uint64), ("lost", c_uint64), ("streams", c_uint32), ("reason", c_int), ("why", ErrorStruct),
    ]


# Bytes of each struct here by its name in C.
SIZES = {
    "sg_error": ErrorStruct, "sg_message": MessageStruct, "sg_frame": FrameStruct, "sg_fused": FusedStruct,
    "sg_ring_config": RingConfigStruct, "sg_stream_info": StreamInfoStruct, "sg_ring_info": RingInfoStruct,
    "sg_ring_reader": RingReaderStruct, "sg_box": BOX, "sg_stamp": STAMP, "sg_fused_model": FUSED_MODEL,
    "sg_fused_missing": FUSED_MISSING, "sg_fused_box": FUSED_BOX, "sg_vote": VOTE,
}
