"""The appliance goes, and comes back."""
import logging
import os
import socket
import threading
import time

from skewgate_shm import Detached, Reattached, State, StreamError, Writer

from . import Case, segments
from .appliance import Appliance

BOX = (0.25, 0.5, 0.75, 1.0, 0.5, 7)
PICTURE = segments.i420(8, 6)


class Restarted(Case):
    def setUp(self):
        self.log: list[str] = []
        handler = logging.Handler()
        handler.emit = lambda record: self.log.append(record.getMessage())
        logger = logging.getLogger("skewgate_shm")
        logger.addHandler(handler)
        logger.propagate = False
        self.addCleanup(setattr, logger, "propagate", True)
        self.addCleanup(logger.removeHandler, handler)
        self.first = self.enterContext(Appliance())
        self.writer = self.enterContext(Writer.attach("mine", path=self.first.path))
        self.writer.state = State.READY
        self.first.cameras["gate"].publish(PICTURE, 8, 6, frame_id=1)
        self.old = self.writer.newest("gate")
        self.writer.publish(self.old, [BOX])

    def publish(self):
        self.writer.publish("gate", [BOX], capture_ns=5)

    def detach(self):
        """Publishes until the end is noticed, which takes a millisecond; says how often."""
        self.first.stop()
        for n in range(10**6):
            try:
                self.publish()
            except Detached as e:
                self.assertNotIsInstance(e, Reattached)
                return n
        self.fail("never noticed")

    def come_back(self):
        second = self.enterContext(Appliance(self.first.folder))
        second.cameras["gate"].publish(PICTURE, 8, 6, frame_id=2)
        return second

    def reattach(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                self.writer.poll()
            except Reattached:
                return
            except Detached:
                time.sleep(0.01)
        self.fail("never attached anew")

    def test_nothing_is_written_into_an_orphan(self):
        written = len(self.first.messages()) + self.detach()
        self.assertFalse(self.writer.attached)
        before = bytes(self.first.ring.memory)
        for _ in range(100):
            with self.assertRaisesRegex(Detached, "the appliance is gone; tried again in [0-9]+ ms"):
                self.publish()
        for call in (
            lambda: self.writer.publish(self.old, [BOX]),
            lambda: self.writer.publish_json("gate", {}, capture_ns=1),
            lambda: self.writer.publish_text("gate", "1", []),
            lambda: self.writer.publish_progress("gate", 1),
            lambda: self.writer.newest("gate"),
            self.writer.poll,
        ):
            with self.assertRaises(Detached):
                call()
        self.writer.heartbeat()
        self.writer.state = State.WARMING
        self.assertEqual(before, bytes(self.first.ring.memory))
        self.assertEqual(written, self.first.reader.info().head)

    def test_back_with_new_memory(self):
        self.detach()
        second = self.come_back()
        self.reattach()
        self.assertEqual((True, 2, State.READY), (self.writer.attached, self.writer.attachment, self.writer.state))
        self.assertEqual(State.READY, second.reader.info().state)
        self.assertEqual([], second.messages())
        frame = self.writer.newest("gate")
        self.assertEqual(2, frame.frame_id)
        self.writer.publish(frame, [BOX])
        self.assertEqual([2], [m.frame_id for m in second.messages()])

    def test_a_picture_of_before_is_not_published(self):
        self.detach()
        second = self.come_back()
        self.reattach()
        with self.assertRaisesRegex(Reattached, "of the memory before re-attachment"):
            self.writer.publish(self.old, [BOX])
        self.assertEqual([], second.messages())
        self.assertEqual(PICTURE, bytes(self.old.pixels))  # still mapped

    def test_frames_goes_on_by_itself(self):
        frames = self.writer.frames("gate")
        self.assertEqual(1, next(frames).frame_id)
        self.first.stop()
        timer = threading.Timer(0.3, self.come_back)
        timer.start()
        self.addCleanup(timer.join)
        frame = next(frames)
        self.assertEqual((2, 2), (frame.frame_id, self.writer.attachment))
        self.writer.publish(frame, [BOX])

    def test_tries_grow_rarer(self):
        self.first.stop()
        now = time.monotonic_ns() + 10**9
        waits = []
        for _ in range(9):
            with self.assertRaises(Detached) as caught:
                self.writer.poll(now)
            with self.assertRaises(Detached) as again:  # too early for another try
                self.writer.poll(now + 1)
            self.assertEqual(str(caught.exception)[:60], str(again.exception)[:60])
            waits.append(int(str(caught.exception).rpartition("tried again in ")[2].split()[0]))
            now += waits[-1] * 10**6 + 10**6
        for got, want in zip(waits, (100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000)):
            self.assertTrue(want - 1 <= got <= want * 1.25, waits)

    def test_waiting_for_an_answer_holds_up_no_other_thread(self):
        self.first.stop()
        with self.assertRaises(Detached):
            self.writer.poll()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
            silent.bind(self.first.path)
            silent.listen()
            turns, over = [], threading.Event()

            def other():
                while not over.wait(0.01):
                    turns.append(time.monotonic())

            thread = threading.Thread(target=other)
            thread.start()
            self.addCleanup(thread.join)
            self.addCleanup(over.set)
            begin = time.monotonic()
            with self.assertRaisesRegex(Detached, "no answer within"):
                self.writer.poll(time.monotonic_ns() + 10**9)
            end = time.monotonic()
        os.unlink(self.first.path)
        self.assertGreater(end - begin, 0.4)
        self.assertGreater(sum(begin < at < end for at in turns), 5)

    def test_a_camera_that_is_no_more(self):
        self.detach()
        self.enterContext(Appliance(self.first.folder, cameras=("road",)))
        self.reattach()
        self.assertEqual(["gate", "road"], list(self.writer.cameras))
        with self.assertRaisesRegex(StreamError, "no more given"):
            self.publish()
        self.writer.publish("road", [], capture_ns=1)

    def test_the_log_says_it_once(self):
        self.detach()
        for _ in range(50):
            with self.assertRaises(Detached):
                self.publish()
        self.come_back()
        self.reattach()
        self.assertEqual(1, sum("the appliance is gone" in line for line in self.log), self.log)
        self.assertIn("attached anew", self.log[-1])
        self.assertLessEqual(len(self.log), 3)  # between the two: that nobody listens there
