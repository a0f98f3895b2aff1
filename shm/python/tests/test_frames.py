"""Pictures in place."""

from skewgate_shm import ArgumentError, QuarantineError
from skewgate_shm.ring import FrameReader

from . import Case, needs_numpy
from .segments import FrameRing, i420


class Frames(Case):
    def setUp(self):
        self.ring = FrameRing("box-7", "gate")
        self.addCleanup(self.ring.segment.close)
        self.reader = FrameReader(self.ring.memory, "gate")

    def test_none_yet(self):
        self.assertIsNone(self.reader.newest())
        self.assertIsNone(self.reader.get(1))

    def test_words_of_a_picture(self):
        self.ring.publish(i420(4, 2), 4, 2, capture_ns=-9, frame_id=8, tag=7, epoch=6, clock=1)
        f = self.reader.newest()
        self.assertEqual(("gate", 1, -9, 77, 8, 7, 6, "I420", 4, 2, "camera"),
                         (f.camera, f.sequence, f.capture_ns, f.publish_ns, f.frame_id, f.tag, f.stream_epoch, f.format, f.width, f.height, f.clock))
        self.assertEqual("<Frame 1 of 'gate': 4x2 I420, id 8 in epoch 6>", repr(f))

    def test_planes_with_odd_sides(self):
        self.ring.publish(i420(5, 3), 5, 3)
        f = self.reader.newest()
        self.assertEqual(bytes(range(16, 31)), bytes(f.luma))
        y, u, v = f.planes()
        self.assertEqual([list(range(16, 21)), list(range(21, 26)), list(range(26, 31))], y.tolist())
        self.assertEqual(([[100] * 3] * 2, [[200] * 3] * 2), (u.tolist(), v.tolist()))

    def test_rgb(self):
        self.ring.publish(bytes(range(12)), 2, 2, format=2)
        f = self.reader.newest()
        self.assertEqual("RGB24", f.format)
        self.assertEqual([[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]], f.planes()[0].tolist())
        with self.assertRaisesRegex(ArgumentError, "RGB24"):
            f.luma

    def test_views_are_read_only(self):
        self.ring.publish(i420(4, 2), 4, 2)
        f = self.reader.newest()
        for view in (f.pixels, f.luma, *f.planes()):
            self.assertTrue(view.readonly)
        with self.assertRaises(TypeError):
            f.pixels[0] = 1

    def test_it_is_the_memory_itself(self):
        self.ring.publish(i420(4, 2), 4, 2)
        f = self.reader.newest()
        _, at = self.ring.at(1)
        self.ring.memory[at] = 99
        self.assertEqual(99, f.luma[0])

    def test_valid_until_its_slot_is_taken(self):
        self.ring.publish(i420(4, 2), 4, 2)
        f = self.reader.newest()
        for _ in range(2):
            self.ring.publish(i420(4, 2), 4, 2)
            self.assertTrue(f.valid())
        self.ring.begin()
        self.assertFalse(f.valid())
        self.ring.publish(i420(4, 2), 4, 2)
        self.assertFalse(f.valid())
        self.assertEqual(4, self.reader.newest().sequence)
        self.assertIsNone(self.reader.get(1))

    def test_views_outlive_frame_and_reader(self):
        self.ring.publish(i420(64, 48), 64, 48)
        view = self.reader.newest().planes()[0]
        self.reader = self.ring.memory = None
        junk = [bytearray(1 << 16) for _ in range(32)]
        self.assertEqual(16, view[0, 0])
        del junk

    def test_a_picture_that_cannot_be_is_quarantined(self):
        for name, kw in [
            ("length", {"length": 11}),
            ("format", {"format": 9}),
        ]:
            with self.subTest(name):
                r = FrameRing("box-7", "gate")
                self.addCleanup(r.segment.close)
                reader = FrameReader(r.memory)
                r.publish(i420(4, 2), 4, 2, **kw)
                with self.assertRaises(QuarantineError) as caught:
                    reader.newest()
                self.assertEqual("picture", caught.exception.reason)

    @needs_numpy
    def test_arrays(self):
        import numpy

        self.ring.publish(i420(5, 3), 5, 3)
        y, u, v = self.reader.newest().arrays()
        self.assertEqual(((3, 5), (2, 3), (2, 3)), (y.shape, u.shape, v.shape))
        self.assertEqual((numpy.uint8, 30), (y.dtype, y[2, 4]))
        with self.assertRaises(ValueError):
            y[0, 0] = 1
        with self.assertRaises(ValueError):
            y.flags.writeable = True
        _, at = self.ring.at(1)
        self.ring.memory[at] = 99
        self.assertEqual(99, y[0, 0])  # no copy
