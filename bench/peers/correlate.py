"""What people run today in place of the appliance's correlator: dicts and json.loads, on one
core. It knows the same rules, as far as such programs do: a group for each picture of a
camera, quorum, timeout, eviction, and counters for what is late, a duplicate or not expected.
Messages are in memory already: no transport is part of it.

correlate.py CPU MESSAGES BODIES CAMERAS MODELS
"""
import gc
import json
import os
import platform
import signal
import sys
import time

TIMEOUT_NS = 500_000_000
MAX_PENDING = 1024
CLOSED_TTL_NS = 60_000_000_000
MAX_CLOSED = 65_536


class Correlator:
    """Groups messages by (unit, camera, frame). Both dicts keep the order in which keys came."""

    def __init__(self, expected, publish):
        self.expected = frozenset(expected)
        self.publish = publish
        self.open = {}  # key: (first arrival, {model: detections})
        self.closed = {}  # key: (closed at, first arrival, models)
        self.accepted = self.late = self.duplicate = self.unexpected = self.malformed = 0
        self.quorum = self.timeout = self.eviction = self.skew_ns = 0

    def step(self, now, text):
        self.tick(now)
        try:
            message = json.loads(text)
            model, detections = message["model"], message["detections"]
            key = (message["unit"], message["camera"], message["frame_id"])
        except (ValueError, KeyError, TypeError):
            self.malformed += 1
            return
        if model not in self.expected:
            self.unexpected += 1
        record = self.closed.get(key)
        if record is not None:
            if model in record[2]:
                self.duplicate += 1
            else:
                self.late += 1
                record[2].add(model)
            return
        group = self.open.get(key)
        if group is None:
            group = self.open[key] = (now, {})
        answers = group[1]
        if model in answers:
            self.duplicate += 1
            return
        answers[model] = detections
        self.accepted += 1
        if len(answers) >= len(self.expected) and self.expected <= answers.keys():
            self.quorum += 1
            self.close(now, key)
        elif len(self.open) > MAX_PENDING:
            self.eviction += 1
            self.close(now, next(iter(self.open)))

    def tick(self, now):
        while self.open:
            key = next(iter(self.open))
            if now - self.open[key][0] < TIMEOUT_NS:
                break
            self.timeout += 1
            self.close(now, key)
        while self.closed:
            key = next(iter(self.closed))
            if now - self.closed[key][0] < CLOSED_TTL_NS and len(self.closed) <= MAX_CLOSED:
                break
            del self.closed[key]

    def close(self, now, key):
        first, answers = self.open.pop(key)
        self.closed[key] = (now, first, set(answers))
        self.skew_ns = max(self.skew_ns, now - first)
        self.publish(key, answers)


def traffic(first_frame, frames, cameras, models, bodies):
    """Every model of every camera answers every picture, in order, every 100 ns: its arrival and
    its text, without a space that is not needed."""
    n, at = 0, first_frame * cameras * models
    for frame in range(first_frame, first_frame + frames):
        for model in range(models):
            for camera in range(cameras):
                head = {"unit": "bench", "camera": f"camera-{camera}", "model": f"model-{model}", "frame_id": frame}
                yield 100 * (at + n), json.dumps({**head, **bodies[n % len(bodies)]}, separators=(",", ":"))
                n += 1


def main() -> None:
    cpu, wanted, path, cameras, models = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    signal.alarm(120)  # should our caller be gone
    os.sched_setaffinity(0, {cpu})
    with open(path, encoding="utf-8") as f:
        bodies = [json.loads(line) for line in f]
    published = []
    correlator = Correlator([f"model-{m}" for m in range(models)], lambda key, answers: published.append(len(answers)))
    frames = max(wanted // (cameras * models), 1)
    warm = list(traffic(1, frames // 10 + 1, cameras, models, bodies))
    messages = list(traffic(frames // 10 + 2, frames, cameras, models, bodies))
    for message in warm:
        correlator.step(*message)
    published.clear()
    gc.collect()
    gc.freeze()  # the messages themselves are not for the collector to look through
    began, cpu_began = time.perf_counter_ns(), time.thread_time_ns()
    for message in messages:
        correlator.step(*message)
    took, cpu = time.perf_counter_ns() - began, time.thread_time_ns() - cpu_began
    print(json.dumps({
        "messages": len(messages), "first_ns": 0, "last_ns": took, "cpu_ns": cpu, "closed": len(published),
        "interpreter": f"{platform.python_implementation()} {platform.python_version()}",
    }))


if __name__ == "__main__":
    main()
