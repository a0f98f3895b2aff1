"""Attached to an appliance: publishing, its events, what it refuses."""
import gc
import json
import os
import struct
import tempfile
import threading
import time
import warnings

import skewgate_shm
from skewgate_shm import (ArgumentError, ClosedError, NotSealedError, ProtocolError, Reader, RefusedError, State,
                          StreamError, SystemCallError, TooLargeError, Writer, ring, unpacked)

from . import Case, segments, wait_for
from .appliance import Appliance

BOX = (0.25, 0.5, 0.75, 1.0, 0.5, 7)
PICTURE = segments.i420(8, 6)


class Attached(Case):
    def setUp(self):
        self.appliance = self.enterContext(Appliance(cameras=("gate", "road")))
        self.writer = self.enterContext(Writer.attach("mine", path=self.appliance.path))

    def test_what_it_is_attached_to(self):
        w = self.writer
        self.assertEqual(("box-7", {"gate": 1, "road": 1}, True, False, 1),
                         (w.unit, w.cameras, w.attached, w.draining, w.attachment))
        hello = self.appliance.hellos[0]
        self.assertEqual((1, 1, "writer", "mine", 0), tuple(hello[k] for k in ("skewgate_attach", "abi", "role", "model", "replica")))

    def test_publish_for_a_camera(self):
        self.writer.publish("road", [BOX], capture_ns=123, frame_id=45, tag=6, stream_epoch=7)
        self.writer.publish("gate", [], capture_ns=-1)
        first, second = self.appliance.messages()
        self.assertEqual((1, 123, 45, 6, 7, 1, [BOX]),
                         (first.kind, first.capture_ns, first.frame_id, first.tag, first.stream_epoch, first.count, unpacked(first.body)))
        self.assertEqual(("box-7", "road", 1), self.appliance.reader.stream(first.stream))
        self.assertEqual((1, -1, 0, 0, 1, 0, b""),
                         (second.kind, second.capture_ns, second.frame_id, second.tag, second.stream_epoch, second.count, second.body))
        self.assertEqual("gate", self.appliance.reader.stream(second.stream)[1])
        self.assertLess(abs(time.monotonic_ns() - second.publish_ns), 10**11)

    def test_publish_about_a_frame(self):
        self.assertIsNone(self.writer.newest("road"))
        self.appliance.cameras["road"].publish(PICTURE, 8, 6, capture_ns=1000, frame_id=3, epoch=2, tag=99)
        frame = self.writer.newest("road")
        self.assertEqual(PICTURE, bytes(frame.pixels))
        self.assertTrue(frame.valid())
        self.writer.publish(frame, [BOX, BOX], tag=5)
        (got,) = self.appliance.messages()
        self.assertEqual(("road", 1000, 3, 2, 5, 2),
                         (self.appliance.reader.stream(got.stream)[1], got.capture_ns, got.frame_id, got.stream_epoch, got.tag, got.count))

    def test_other_bodies(self):
        answer = {"detections": [{"box": [0, 0, 1, 1], "score": 0.9, "label": "Käfer"}]}
        for given in (answer, json.dumps(answer), json.dumps(answer).encode()):
            self.writer.publish_json("gate", given, capture_ns=1)
        self.writer.publish_progress("road", 77)
        self.writer.publish_text("gate", "2024-05-01T12:00:00Z", [BOX], frame_id=4)
        *json_messages, progress, text = self.appliance.messages()
        self.assertEqual([answer] * 3, [json.loads(m.body) for m in json_messages])
        self.assertEqual({2}, {m.kind for m in json_messages})
        self.assertEqual((3, 77, b""), (progress.kind, progress.capture_ns, progress.body))
        self.assertEqual((1, -(2**63), 4, 1), (text.kind, text.capture_ns, text.frame_id, text.count))
        self.assertEqual(b"\x14\x002024-05-01T12:00:00Z" + struct.pack("<5fI", *BOX), text.body)

    def test_state_and_heartbeat(self):
        self.assertEqual(State.STARTING, self.writer.state)
        self.writer.state = State.READY
        self.writer.heartbeat(4242)
        info = self.appliance.reader.info()
        self.assertEqual((State.READY, 4242, os.getpid(), 1), (info.state, info.heartbeat_ns, info.pid, info.ring_epoch))
        self.writer.poll()
        self.assertGreater(self.appliance.reader.info().heartbeat_ns, 4242)
        with self.assertRaises(ValueError):
            self.writer.state = 9

    def test_stream_epoch_event(self):
        self.appliance.say(event="stream_epoch", camera="road", stream_epoch=12)
        self.appliance.say(event="of a later version", with_something="else")
        self.writer.poll()
        self.assertEqual({"gate": 1, "road": 12}, self.writer.cameras)
        self.writer.publish("road", [], capture_ns=1)
        self.assertEqual(12, self.appliance.messages()[0].stream_epoch)

    def test_drain_event(self):
        self.appliance.say(event="drain")
        self.writer.poll()
        self.assertTrue(self.writer.draining)
        self.writer.publish("gate", [], capture_ns=1)  # what is at hand may be finished
        self.assertEqual(1, len(self.appliance.messages()))

    def test_the_bell_is_rung_when_the_appliance_sleeps(self):
        bell = self.appliance.bell.memory
        self.writer.publish("gate", [], capture_ns=1)
        self.assertEqual(0, struct.unpack_from("<I", bell, segments.HOT)[0])
        segments.put(bell, segments.HOT + 256, "I", 1)
        self.writer.publish("gate", [], capture_ns=1)
        self.assertEqual(1, struct.unpack_from("<I", bell, segments.HOT)[0])

    def test_refusals(self):
        w = self.writer
        other = self.enterContext(Reader.attach(self.appliance.path))
        self.appliance.cameras["gate"].publish(PICTURE, 8, 6)
        mine, foreign = w.newest("gate"), other.newest("gate")
        for name, do, kind, text in [
            ("unknown camera", lambda: w.publish("gaet", [], capture_ns=1), StreamError, 'camera "gaet" is none of the 2'),
            ("unknown camera, looking", lambda: w.newest("gaet"), StreamError, "gaet"),
            ("camera with a zero", lambda: w.publish("gate\0", [], capture_ns=1), ArgumentError, "name"),
            ("no camera", lambda: w.publish(None, [], capture_ns=1), ArgumentError, "name None"),
            ("no capture time", lambda: w.publish("gate", []), ArgumentError, "capture_ns is missing"),
            ("capture time of a float", lambda: w.publish("gate", [], capture_ns=1.5), ArgumentError, "capture_ns 1.5"),
            ("capture time of 65 bits", lambda: w.publish("gate", [], capture_ns=2**63), ArgumentError, "whole numbers of 64 bits"),
            ("negative frame id", lambda: w.publish("gate", [], capture_ns=1, frame_id=-1), ArgumentError, "frame_id -1"),
            ("frame and capture time", lambda: w.publish(mine, [], capture_ns=1), ArgumentError, "it knows its capture_ns"),
            ("frame of another client", lambda: w.publish(foreign, []), ArgumentError, "not of this writer"),
            ("too many boxes", lambda: w.publish(mine, [BOX] * 17), TooLargeError, "408 bytes into slots of 384"),
            ("boxes beyond any count", lambda: w.publish(mine, bytes(24 * 65536)), TooLargeError, "65536 boxes"),
            ("boxes beyond any count, text", lambda: w.publish_text("gate", "1", bytes(24 * 65536)), ArgumentError, "65536 boxes"),
            ("no boxes", lambda: w.publish(mine, None), ArgumentError, "NoneType"),
            ("json too large", lambda: w.publish_json(mine, "x" * 400), TooLargeError, "400 bytes"),
            ("progress of a float", lambda: w.publish_progress("gate", 0.5), ArgumentError, "0.5"),
            ("text too long", lambda: w.publish_text("gate", "1" * 70000, []), TooLargeError, "70000 bytes"),
        ]:
            with self.subTest(name), self.assertRaisesRegex(kind, text):
                do()
        self.assertEqual([], self.appliance.messages())

    def test_frames_passes_old_pictures_over(self):
        gate = self.appliance.cameras["gate"]
        gate.publish(PICTURE, 8, 6, frame_id=1)
        frames = self.writer.frames("gate")
        got = [next(frames).frame_id]
        for n in (2, 3):
            gate.publish(PICTURE, 8, 6, frame_id=n)
        got.append(next(frames).frame_id)
        threading.Timer(0.05, lambda: gate.publish(PICTURE, 8, 6, frame_id=4)).start()
        got.append(next(frames).frame_id)
        self.assertEqual([1, 3, 4], got)
        with self.assertRaises(StreamError):
            next(self.writer.frames("gaet"))

    def test_views_outlive_close(self):
        self.appliance.cameras["gate"].publish(PICTURE, 8, 6)
        frame = self.writer.newest("gate")
        y = frame.planes()[0]
        self.writer.close()
        self.assertEqual(16, y[0, 0])
        self.assertTrue(frame.valid())
        del frame
        gc.collect()
        self.assertEqual(17, y[0, 1])

    def test_memory_goes_with_its_last_user(self):
        def mapped():
            with open("/proc/self/maps") as f:
                return sum("memfd:skewgate:test" in line for line in f)

        self.appliance.cameras["gate"].publish(PICTURE, 8, 6)
        before = mapped()
        with Writer.attach("mine", path=self.appliance.path) as w:
            held = [w.newest("gate").pixels for _ in range(5)]
            self.assertEqual(before + 4, mapped())  # ring, doorbell, two cameras
        self.assertEqual(before + 1, mapped())
        del held[1:]
        self.assertEqual(16, held[0][0])
        self.assertEqual(before + 1, mapped())
        held.clear()
        self.assertEqual(before, mapped())

    def test_closed(self):
        w = self.writer
        self.assertIs(w, w.__enter__())
        w.close()
        w.close()
        for name, do in [
            ("publish", lambda: w.publish("gate", [], capture_ns=1)),
            ("publish_json", lambda: w.publish_json("gate", {}, capture_ns=1)),
            ("publish_text", lambda: w.publish_text("gate", "1", [])),
            ("publish_progress", lambda: w.publish_progress("gate", 1)),
            ("heartbeat", w.heartbeat), ("poll", w.poll), ("newest", lambda: w.newest("gate")),
            ("frames", lambda: next(w.frames("gate"))),
            ("state", lambda: setattr(w, "state", State.READY)),
            *((name, lambda name=name: getattr(w, name)) for name in ("unit", "cameras", "attached", "draining")),
        ]:
            with self.subTest(name), self.assertRaisesRegex(ClosedError, "after close"):
                do()
        self.assertEqual(b"", self.appliance.connections[0].recv(1))

    def test_forgotten_clients_close_with_a_warning(self):
        w = Writer.attach("mine", path=self.appliance.path)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del w
            gc.collect()
        self.assertEqual([ResourceWarning], [c.category for c in caught])
        wait_for(self, lambda: len(self.appliance.connections) == 2)
        self.assertEqual(b"", self.appliance.connections[1].recv(1))


class Refused(Case):
    def attach(self, **answer):
        with Appliance() as a:
            a.answer = answer
            with Writer.attach("mine", path=a.path):
                self.fail("attached")

    def test_refusals_say_why(self):
        for code in ("abi_version", "unknown_model", "not_allowed", "writer_present", "bad_request", "shutting_down",
                     "no_output", "busy", "other"):
            with self.subTest(code), self.assertRaisesRegex(RefusedError, f"{code}.*both sides' facts") as caught:
                self.attach(ok=False, code=code, error="both sides' facts")
            self.assertEqual(code, caught.exception.refusal)

    def test_answers_that_make_no_sense(self):
        for name, answer in [
            ("ABI version 2", {"abi": 2}),
            ("more files than sent", {"files": ["ring", "doorbell", "frames/gate", "frames/road"]}),
            ("no ring", {"files": ["what", "doorbell", "frames/gate"]}),
            ("another model", {"files": ["doorbell", "ring", "frames/gate"]}),
            ("unit without a name", {"unit": ""}),
        ]:
            with self.subTest(name), self.assertRaises((ProtocolError, skewgate_shm.QuarantineError)):
                self.attach(**answer)

    def test_a_ring_of_somebody_else(self):
        with Appliance() as a, self.assertRaisesRegex(ProtocolError, "asked for the ring of other/0, was given that of mine/0"):
            Writer.attach("other", path=a.path)

    def test_memory_that_could_shrink(self):
        with Appliance() as a:
            size = len(a.ring.memory)
            a.ring = segments.Segment(size, seals=0)
            with self.assertRaises(NotSealedError):
                Writer.attach("mine", path=a.path)

    def test_nobody_there(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "attach.sock")
            with self.assertRaisesRegex(SystemCallError, "is skewgate running") as caught:
                Writer.attach("mine", path=path)
            self.assertIsInstance(caught.exception, OSError)
            self.assertEqual(2, caught.exception.errno)
            with self.assertRaisesRegex(SystemCallError, "is skewgate running"):
                Reader.attach(path)

    def test_arguments(self):
        for name, do in [
            ("path too long", lambda: Writer.attach("mine", path="/" + "x" * 120)),
            ("no model", lambda: Writer.attach("", path="/nowhere")),
            ("model with a zero", lambda: Writer.attach("a\0b", path="/nowhere")),
            ("negative replica", lambda: Writer.attach("mine", -1, path="/nowhere")),
            ("replica of 33 bits", lambda: Writer.attach("mine", 2**32, path="/nowhere")),
        ]:
            with self.subTest(name), self.assertRaises((ArgumentError, TooLargeError)):
                do()

    def test_the_environment_names_the_place(self):
        with Appliance() as a:
            os.environ["SKEWGATE_ATTACH"] = a.path
            self.addCleanup(os.environ.pop, "SKEWGATE_ATTACH")
            with Writer.attach("mine") as w, Reader.attach() as r:
                self.assertEqual(("box-7", "box-7"), (w.unit, r.unit))
