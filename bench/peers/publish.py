"""What one publish costs a detector in Python: eight boxes about a picture, as packed
bytes and as a list of tuples. Attached to a real server, through the public interface.

publish.py SOCKET CPU MESSAGES
"""
import gc
import json
import os
import signal
import struct
import sys
import time

from skewgate_shm import Writer

BOXES = [(0.125, 0.25, 0.5, 0.75, 0.875, label) for label in range(8)]


def cost(publish, frame, boxes, n: int) -> float:
    """ns of one call, over n of them after a tenth as many to warm up."""
    for _ in range(n // 10 + 1):
        publish(frame, boxes)
    began = time.perf_counter_ns()
    for _ in range(n):
        publish(frame, boxes)
    return (time.perf_counter_ns() - began) / n


def main() -> None:
    path, cpu, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    signal.alarm(60)  # should our caller be gone
    os.sched_setaffinity(0, {cpu})
    gc.disable()  # as timeit does
    with Writer.attach("bench", path=path) as writer:
        frame = writer.newest("camera")
        packed = bytearray(b"".join(struct.pack("<5fI", *box) for box in BOXES))
        # The loop's own cost is part of it: 20 to 40 ns.
        print(json.dumps({"buffer_ns": cost(writer.publish, frame, packed, n), "list_ns": cost(writer.publish, frame, BOXES, n)}))


main()
