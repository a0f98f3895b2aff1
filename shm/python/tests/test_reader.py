"""Fused frames, and pictures of all cameras."""
import json
import logging
import struct
import threading

import skewgate_shm
from skewgate_shm import Detached, Reader, ring

from . import Case, segments
from .appliance import Appliance

PICTURE = segments.i420(8, 6)


class Readers(Case):
    NAMES = {"schema": 1, "unit": "box-7", "tables": 1, "models": ["a", "b", "c"], "first_class": 0, "classes": ["person", "car"]}

    def tell(self, a):
        """A writer of the appliance's output ring, with its names told."""
        w = ring.RingWriter(a.output.memory)
        w.stream("box-7", "gate", 1)
        w.publish(ring.Message(2, 0, 1, 0, 0, body=json.dumps(self.NAMES).encode()))
        return w

    def record(self, seq, **more):
        head = struct.pack("<QqqqQBBBBI", seq, 100, 150, 50, more.get("generation", 0), 1, 2, 1, 1, 3)
        models = struct.pack("<HHIqHHIq", 0, 0, 0, 1000, 1, 0, 0, -(2**63))
        missing = struct.pack("<HBB", 2, 2, 0) + bytes(4)
        boxes = struct.pack("<5f3I", 0, 0.25, 0.5, 1, 0.75, 1, 0, 2) + struct.pack("<5f3I", 0, 0, 1, 1, 0.5, 0, 2, 1)
        votes = struct.pack("<HHf", 0, 0, 0.5) + struct.pack("<HHf", 1, 0, 1) + struct.pack("<HHf", 1, 0, 0.25)
        return ring.Message(4, 0, 1, 1000, 160, 9, seq, 2, body=head + models + missing + boxes + votes)

    def test_a_fused_frame(self):
        with Appliance() as a:
            w = self.tell(a)
            with Reader.attach(a.path) as r:
                self.assertIsNone(r.next())
                w.publish(self.record(7, generation=3))
                got = r.next()
                self.assertIsNone(r.next())
                self.assertEqual((1, 0), (r.read, r.lost))
        votes = {"a": 0.5, "b": 1.0}
        want = skewgate_shm.FusedFrame(
            seq=7, unit="box-7", camera="gate", stream_epoch=1, frame_id=9, generation=3, capture_ns=1000,
            captures={"a": 1000, "b": None}, missing={"c": "dead"}, reason="quorum", first_arrival_mono_ns=100,
            closed_mono_ns=150, published_mono_ns=160, arrival_skew_ns=50, degraded=True,
            boxes=(
                skewgate_shm.FusedBox((0.0, 0.25, 0.5, 1.0), 0.75, "car", votes),
                skewgate_shm.FusedBox((0.0, 0.0, 1.0, 1.0), 0.5, "person", {"b": 0.25}),
            ),
        )
        self.assertEqual(want, got)
        self.assertEqual(("a", "b"), got.models)

    def test_parse_fused_agrees(self):
        got = ring.parse_fused(self.record(7), self.NAMES["models"], self.NAMES["classes"], "box-7", "gate")
        self.assertEqual((7, "gate", "car", None), (got.seq, got.camera, got.boxes[0].label, got.generation))

    def test_the_last_frames_come_before_the_end(self):
        with self.assertLogs("skewgate_shm", logging.WARNING), Appliance() as a, Reader.attach(a.path) as r:
            w = self.tell(a)
            w.publish(self.record(1))
            self.assertEqual(1, r.next().seq)
            for seq in (2, 3):
                w.publish(self.record(seq))
            a.stop()
            with self.assertRaises(Detached):  # another call notices the end
                for _ in range(10**6):
                    r.poll()
            self.assertFalse(r.attached)
            self.assertEqual([2, 3], [r.next().seq, r.next().seq])
            with self.assertRaises(Detached):
                r.next()
            self.assertEqual((4, 0), (r.read, r.lost))  # with the names

    def test_iteration_goes_on_through_a_restart(self):
        with self.assertLogs("skewgate_shm", logging.WARNING), Appliance() as a, Reader.attach(a.path) as r:
            w = self.tell(a)
            for seq in (1, 2):
                w.publish(self.record(seq))
            fused = iter(r)
            self.assertEqual([1, 2], [next(fused).seq, next(fused).seq])
            a.stop()

            def again():
                with Appliance(a.folder) as b:
                    w = self.tell(b)
                    seq = 0
                    while not done.wait(0.01):  # a reader sees what comes after it
                        seq += 1
                        w.publish(self.record(seq))

            done = threading.Event()
            thread = threading.Thread(target=again)
            thread.start()
            self.addCleanup(thread.join)
            self.addCleanup(done.set)
            self.assertEqual("gate", next(fused).camera)
            self.assertEqual(2, r.attachment)

    def test_a_bad_record_is_left_out(self):
        with Appliance() as a, Reader.attach(a.path) as r:
            w = self.tell(a)
            bad = self.record(1)
            bad.body = bad.body[:-1]
            w.publish(bad)
            w.publish(self.record(2))
            with self.assertRaises(skewgate_shm.MalformedError):
                r.next()
            self.assertEqual(2, r.next().seq)

    def test_what_was_too_fast_is_counted(self):
        with Appliance() as a, Reader.attach(a.path) as r:
            w = self.tell(a)
            for seq in range(1, 301):
                w.publish(self.record(seq))
            seen = 0
            while r.next() is not None:
                seen += 1
            self.assertEqual((256, 301), (seen, r.read + r.lost))

    def test_pictures_of_all_cameras(self):
        with Appliance(cameras=("gate", "road")) as a, Reader.attach(a.path) as r:
            a.cameras["road"].publish(PICTURE, 8, 6, frame_id=4)
            self.assertIsNone(r.newest("gate"))
            self.assertEqual(4, r.newest("road").frame_id)
