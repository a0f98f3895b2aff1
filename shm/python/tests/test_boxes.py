"""What may be given for boxes, what becomes of it, and what is refused."""
import array
import ctypes
import struct
import sys

import skewgate_shm
from skewgate_shm import ArgumentError, boxes, unpacked

from . import Case, needs_numpy, without_numpy

TWO = [(0.25, 0.5, 0.75, 1.0, 0.5, 7), (0.0, 0.0, 0.5, 0.125, 1.0, 4294967295)]
PACKED = b"".join(struct.pack("<5fI", *box) for box in TWO)


def body(given) -> bytes:
    """What C would see."""
    pointer, n = boxes.packed(given)
    if isinstance(pointer, bytes):
        return pointer
    return ctypes.string_at(ctypes.addressof(pointer), n * 24)


class Rows:
    """Something that can only be iterated, twice if asked."""

    def __iter__(self):
        return iter(TWO)


class PackedBoxes(Case):
    def test_layout_is_that_of_the_format(self):
        want = "0000803e" "0000003f" "0000403f" "0000803f" "0000003f" "07000000"
        self.assertEqual(want, body(TWO[:1]).hex())

    def test_all_forms_give_the_same_bytes(self):
        flat = [float(v) for box in TWO for v in box[:5] + (3,)]
        floats = memoryview(array.array("f", flat)).cast("B").cast("f", (2, 6))
        doubles = memoryview(array.array("d", flat)).cast("B").cast("d", (2, 6))
        with_3 = b"".join(struct.pack("<5fI", *box[:5], 3) for box in TWO)
        for name, given, want in [
            ("list of tuples", TWO, PACKED),
            ("tuple of lists", tuple(map(list, TWO)), PACKED),
            ("generator", (box for box in TWO), PACKED),
            ("iterable", Rows(), PACKED),
            ("bytes", PACKED, PACKED),
            ("bytearray", bytearray(PACKED), PACKED),
            ("memoryview, read-only", memoryview(PACKED), PACKED),
            ("memoryview, writable", memoryview(bytearray(PACKED)), PACKED),
            ("memoryview, strided", memoryview(PACKED[::-1])[::-1], PACKED),
            ("array of bytes", array.array("B", PACKED), PACKED),
            ("labels as floats", [box[:5] + (3.0,) for box in TWO], with_3),
            ("(N, 6) float32", floats, with_3),
            ("(N, 6) float64", doubles, with_3),
            ("(N, 6) as lists", floats.tolist(), with_3),
            ("empty list", [], b""),
            ("empty bytes", b"", b""),
            ("empty bytearray", bytearray(), b""),
            ("empty array of floats", array.array("f"), b""),
        ]:
            with self.subTest(name):
                self.assertEqual(want, body(given))

    def test_writable_buffers_are_not_copied(self):
        own = bytearray(PACKED)
        pointer, n = boxes.packed(own)
        self.assertEqual(2, n)
        own[:24] = bytes(24)
        self.assertEqual(bytes(own), ctypes.string_at(ctypes.addressof(pointer), 48))
        self.assertIs(PACKED, boxes.packed(PACKED)[0])

    def test_refusals_name_box_and_cure(self):
        for name, given, text in [
            ("five numbers", [TWO[0], (0, 0, 1, 1, 0.5)], r"box 1: .* is not six numbers \(x1, y1, x2, y2, score, label\)"),
            ("seven numbers", [(0, 0, 1, 1, 0.5, 1, 2)], "box 0: .* is not six numbers"),
            ("no tuple", [7], "box 0: 7 is not six numbers"),
            ("text for a box", ["horse"], "box 0: 'horse' is not six numbers"),
            ("text for a label", [(0, 0, 1, 1, 0.5, "car")], "box 0: label 'car' is not a whole number"),
            ("half a label", [TWO[0], (0, 0, 1, 1, 0.5, 1.5)], "box 1: label 1.5 is not a whole number"),
            ("negative label", [(0, 0, 1, 1, 0.5, -1)], "box 0: label -1 "),
            ("label of 33 bits", [(0, 0, 1, 1, 0.5, 1 << 32)], "box 0: label 4294967296 "),
            ("nan for a label", [(0, 0, 1, 1, 0.5, float("nan"))], "box 0: label nan "),
            ("text for a corner", [(0, "0", 1, 1, 0.5, 1)], "box 0: .*corners and score are numbers"),
            ("too large for float32", [(0, 0, 1, 1e39, 0.5, 1)], "box 0: .*fit a float32"),
            ("23 bytes", bytes(23), "23 bytes of packed boxes: not a multiple of 24"),
            ("25 bytes", bytearray(25), "25 bytes of packed boxes"),
            ("whole numbers", array.array("i", [1] * 6), r"shape \(6,\) and format 'i': want \(N, 6\)"),
            ("flat floats", array.array("f", [1] * 6), r"shape \(6,\) and format 'f'"),
            ("nothing", None, "boxes given as NoneType: want a list"),
            ("a number", 5, "boxes given as int"),
        ]:
            with self.subTest(name), self.assertRaisesRegex(ArgumentError, text):
                boxes.packed(given)

    def test_unpacked_is_the_inverse(self):
        self.assertEqual(TWO, unpacked(body(TWO)))
        self.assertEqual([], unpacked(b""))
        with self.assertRaisesRegex(ArgumentError, "47 bytes"):
            unpacked(PACKED[:-1])

    @without_numpy
    def test_without_numpy_the_dtype_says_so(self):
        with self.assertRaises(ImportError):
            skewgate_shm.BOX_DTYPE
        with self.assertRaises(ImportError):
            skewgate_shm.box_dtype()

    def test_unknown_names_of_the_module_stay_unknown(self):
        with self.assertRaisesRegex(AttributeError, "no attribute 'BOX_DTIPE'"):
            skewgate_shm.BOX_DTIPE


@needs_numpy
class Arrays(Case):
    def setUp(self):
        self.numpy = sys.modules.get("numpy") or __import__("numpy")

    def structured(self):
        return self.numpy.array(TWO, skewgate_shm.BOX_DTYPE)

    def test_dtype_is_the_packed_box(self):
        self.assertEqual(24, skewgate_shm.BOX_DTYPE.itemsize)
        self.assertEqual(PACKED, self.structured().tobytes())

    def test_structured_arrays_are_not_copied(self):
        own = self.structured()
        pointer, n = boxes.packed(own)
        self.assertEqual((2, own.ctypes.data), (n, ctypes.addressof(pointer)))

    def test_the_array_outlives_its_name(self):
        pointer, _ = boxes.packed(self.structured())
        junk = [self.structured() for _ in range(100)]
        self.assertEqual(PACKED, ctypes.string_at(ctypes.addressof(pointer), 48))
        del junk

    def test_all_forms_give_the_same_bytes(self):
        np = self.numpy
        rows = np.array([box[:5] + (7,) for box in TWO], "f4")
        want = np.array([box[:5] + (7,) for box in TWO], skewgate_shm.BOX_DTYPE).tobytes()
        frozen = self.structured()
        frozen.flags.writeable = False
        for name, given, expect in [
            ("structured", self.structured(), PACKED),
            ("structured, column", self.structured().reshape(2, 1), PACKED),
            ("structured, every second", np.repeat(self.structured(), 2)[::2], PACKED),
            ("structured, read-only", frozen, PACKED),
            ("structured, other field names", self.structured().view([(c, "<f4") for c in "abcde"] + [("f", "<u4")]), PACKED),
            ("bytes", np.frombuffer(PACKED, "u1"), PACKED),
            ("float32", rows, want),
            ("float64", rows.astype("f8"), want),
            ("float32, Fortran order", np.asfortranarray(rows), want),
            ("float32, a part of more columns", np.hstack([rows, rows])[:, 6:], want),
            ("float32, read-only", np.frombuffer(rows.tobytes(), "f4").reshape(2, 6), want),
            ("list of rows", list(rows), want),
            ("scalars of numpy", [tuple(row) for row in rows], want),
            ("empty", np.array([]), b""),
            ("no rows", np.zeros((0, 6), "f4"), b""),
            ("no structured rows", self.structured()[:0], b""),
        ]:
            with self.subTest(name):
                self.assertEqual(expect, body(given))

    def test_refusals_name_box_and_cure(self):
        np = self.numpy
        good = np.zeros((3, 6), "f4")

        def row_1(label):
            rows = good.astype("f8")
            rows[1, 5] = label
            return rows

        for name, given, text in [
            ("half a label", row_1(0.5), r"box 1: label .*0\.5"),
            ("negative label", row_1(-1), "box 1: label .*-1"),
            ("nan for a label", row_1(np.nan), "box 1: label .*nan"),
            ("label of 33 bits", row_1(2.0**32), "box 1: label .*4294967296"),
            ("five columns", good[:, :5], r"shape \(3, 5\)"),
            ("three dimensions", good.reshape(1, 3, 6), r"shape \(1, 3, 6\)"),
            ("whole numbers", good.astype("i4"), "format 'i'"),
            ("big-endian", good.astype(">f4"), "format '>f'"),
            ("big-endian boxes", self.structured().astype(skewgate_shm.BOX_DTYPE.newbyteorder(">")), "format"),
            ("a field too many", np.zeros(2, [("a", "<f4", 5), ("b", "<u4"), ("c", "<u4")]), "format"),
        ]:
            with self.subTest(name), self.assertRaisesRegex(ArgumentError, text):
                boxes.packed(given)
