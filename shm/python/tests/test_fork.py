"""One ring has one writer, so a forked child must not use its parent's."""
import multiprocessing
import os

from skewgate_shm import ForkedError, Writer

from . import Case, segments
from .appliance import Appliance


def in_child(queue, do):
    try:
        queue.put((None, do()))
    except Exception as e:
        queue.put((type(e).__name__, str(e)))


class Forked(Case):
    def setUp(self):
        self.appliance = self.enterContext(Appliance())
        self.writer = self.enterContext(Writer.attach("mine", path=self.appliance.path))

    def child(self, do):
        context = multiprocessing.get_context("fork")
        queue = context.SimpleQueue()
        process = context.Process(target=in_child, args=(queue, do))
        process.start()
        got = queue.get()
        process.join()
        self.assertEqual(0, process.exitcode)
        return got

    def test_the_parents_writer_is_refused(self):
        for name, do in [
            ("publish", lambda: self.writer.publish("gate", [], capture_ns=1)),
            ("poll", self.writer.poll),
            ("newest", lambda: self.writer.newest("gate")),
            ("state", lambda: setattr(self.writer, "state", 3)),
        ]:
            with self.subTest(name):
                kind, text = self.child(do)
                self.assertEqual("ForkedError", kind)
                self.assertRegex(text, rf"use a Writer of process {os.getpid()} in process \d+: one ring has one writer; attach .* after the fork")
        self.assertEqual([], self.appliance.messages())
        self.writer.publish("gate", [], capture_ns=1)  # the parent's works on
        self.assertEqual(1, len(self.appliance.messages()))

    def test_a_fork_that_python_does_not_know_of_is_refused_too(self):
        # As after a fork in C code: no handler has run, only the process is another.
        self.writer._pid += 1
        self.writer._owner += 1
        try:
            with self.assertRaises(ForkedError):
                self.writer.publish("gate", [], capture_ns=1)
        finally:
            self.writer._pid -= 1
            self.writer._owner -= 1

    def test_closing_in_the_child_closes_nothing_of_the_parent(self):
        self.assertEqual((None, None), self.child(self.writer.close))
        self.writer.publish("gate", [], capture_ns=1)
        self.assertTrue(self.writer.attached)

    def test_the_child_keeps_no_end_of_the_socket(self):
        """Else the appliance would not see the parent die while the child lives."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(writing)  # so that it ends with its parent at the latest
            os.read(reading, 1)
            os._exit(0)
        self.writer.close()  # as the kernel does for the dead
        self.appliance.connections[0].settimeout(60)
        self.assertEqual(b"", self.appliance.connections[0].recv(1))
        os.write(writing, b"x")
        os.waitpid(pid, 0)
        os.close(reading)
        os.close(writing)

    def test_the_child_may_attach_for_itself(self):
        def attach():
            with Writer.attach("mine", path=self.appliance.path) as w:
                w.publish("gate", [], capture_ns=2)
                return w.cameras

        self.assertEqual((None, {"gate": 1}), self.child(attach))
        self.assertEqual([2], [m.capture_ns for m in self.appliance.messages()])

    def test_pictures_at_hand_stay_readable_in_the_child(self):
        self.appliance.cameras["gate"].publish(segments.i420(8, 6), 8, 6)
        frame = self.writer.newest("gate")
        self.assertEqual((None, (16, True)), self.child(lambda: (frame.luma[0], frame.valid())))
