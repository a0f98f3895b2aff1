"""The lower floor: rings in plain memory."""
import struct

from skewgate_shm import (ArgumentError, MalformedError, QuarantineError, State, StreamError, TooLargeError, ring,
                          unpacked)
from skewgate_shm.ring import Message, RingReader, RingWriter

from . import Case

BOX = (0.25, 0.5, 0.75, 1.0, 0.5, 7)


def new_ring(slots=4, payload=100, **more):
    memory = bytearray(ring.ring_bytes(slots, payload, more.get("output", False)))
    ring.format_ring(memory, slots, payload, "people", **more)
    return memory


class Rings(Case):
    def test_header_is_as_abi_md_draws_it(self):
        m = new_ring(slots=8, payload=100, replica=3, index=5, generation=9)
        hot = 4096 + 128 * 5
        want = (b"SKEWGATE", 1, 1, len(m), 28672, 8, 192, 100, hot, 5, 12288, 64, 256)
        self.assertEqual(want, struct.unpack_from("<8sIIQIIIIIIIII", m))
        self.assertEqual(9, struct.unpack_from("<Q", m, 128)[0])
        self.assertEqual(b"people" + bytes(58), bytes(m[256:320]))
        fnv = 0xCBF29CE484222325
        for byte in b"people":
            fnv = (fnv ^ byte) * 0x100000001B3 % 2**64
        self.assertEqual((3, fnv % 2**32), struct.unpack_from("<II", m, 448))
        self.assertEqual(5, struct.unpack_from("<I", new_ring(output=True), 12)[0])

    def test_message_is_as_abi_md_draws_it(self):
        m = new_ring()
        w = RingWriter(m, pid=4711)
        w.stream("u", "c", 1)
        self.assertEqual(1, w.stream("box-7", "gate", 6))
        self.assertEqual((1, 4711, 2), struct.unpack_from("<III", m, 136))
        entry = 12288 + 256
        self.assertEqual((b"box-7" + bytes(59), b"gate" + bytes(60)), struct.unpack_from("<64s64s", m, entry))
        self.assertEqual(6, struct.unpack_from("<I", m, entry + 136)[0])
        w.publish_boxes(Message(0, 1, 6, -5, 1000, frame_id=2**64 - 1, tag=3), [BOX])
        slot = 28672 + 192
        want = (1, -5, 1000, 2**64 - 1, 3, 1, 6, 24, 1, 1, 0, 0)
        self.assertEqual(want, struct.unpack_from("<QqqQQIIIHBBQ", m, slot))
        self.assertEqual(BOX, struct.unpack_from("<5fI", m, slot + 64))
        self.assertEqual(1, struct.unpack_from("<Q", m, 4096)[0])

    def test_what_goes_in_comes_out(self):
        m = new_ring()
        w, r = RingWriter(m), RingReader(m)
        self.assertIsNone(r.next())
        stream = w.stream("box-7", "gate", 2)
        sent = [
            Message(1, stream, 2, 10, 11, 12, 13, 1, body=struct.pack("<5fI", *BOX)),
            Message(2, stream, 2, 20, 21, body=b'{"detections":[]}'),
            Message(3, stream, 2, 30, 31),
        ]
        for n, message in enumerate(sent, 1):
            self.assertEqual(n, w.publish(message))
            message.sequence = n
        self.assertEqual(sent, [r.next(), r.next(), r.next()])
        self.assertIsNone(r.next())
        self.assertEqual(("box-7", "gate", 2), r.stream(stream))
        self.assertEqual((3, 0), (r.read, r.lost))
        self.assertEqual([BOX], unpacked(sent[0].body))

    def test_capture_time_as_text(self):
        m = new_ring()
        w, r = RingWriter(m), RingReader(m)
        w.stream("u", "c", 1)
        w.publish_text(Message(2, 0, 1, 0, 5, body=b"{}"), b"12:00")
        got = r.next()
        self.assertEqual((-(2**63), b"\x05\x0012:00{}"), (got.capture_ns, got.body))

    def test_every_message_is_read_or_counted_lost(self):
        m = new_ring(slots=4)
        w = RingWriter(m)
        w.stream("u", "c", 1)
        w.publish(Message(3, 0, 1, 0, 0))  # before anybody looks
        r = RingReader(m)
        for n in range(2, 12):
            w.publish(Message(3, 0, 1, n, n))
        got = []
        while (message := r.next()) is not None:
            got.append(message.sequence)
        self.assertEqual([8, 9, 10, 11], got)
        self.assertEqual((1, 4, 6), (r.start, r.read, r.lost))
        self.assertEqual(11, r.info().head)

    def test_rewind(self):
        m = new_ring(slots=4)
        w = RingWriter(m)
        w.stream("u", "c", 1)
        for n in range(3):
            w.publish(Message(3, 0, 1, n, n))
        r = RingReader(m)
        r.rewind(2)
        self.assertEqual((1, 2), (r.start, r.next().sequence))

    def test_a_successor_goes_on_at_head(self):
        m = new_ring()
        first = RingWriter(m, pid=1)
        gate = first.stream("u", "gate", 1)
        first.publish(Message(3, gate, 1, 0, 0))
        first.set_state(State.READY)
        second = RingWriter(m, pid=2)
        self.assertEqual(gate, second.stream("u", "gate", 2))
        self.assertEqual(2, second.publish(Message(3, gate, 2, 0, 0)))
        second.set_state(State.WARMING)
        second.heartbeat(99)
        second.set_generation(5)
        i = RingReader(m).info()
        self.assertEqual(("people", 2, 2, State.WARMING, 99, 5, 1, 4, 100),
                         (i.model, i.pid, i.ring_epoch, i.state, i.heartbeat_ns, i.generation, i.streams, i.slots, i.payload_bytes))

    def test_refusals(self):
        m = new_ring(payload=100)
        w, r = RingWriter(m), RingReader(m)
        w.stream("u", "c", 1)
        for name, do, kind, text in [
            ("body too large", lambda: w.publish(Message(2, 0, 1, 0, 0, body=bytes(101))), TooLargeError, "101 bytes into slots of 100"),
            ("boxes too many", lambda: w.publish_boxes(Message(0, 0, 1, 0, 0), [BOX] * 5), TooLargeError, "120 bytes"),
            ("stream unknown", lambda: w.publish(Message(3, 1, 1, 0, 0)), StreamError, "stream 1 of 1"),
            ("kind unknown", lambda: w.publish(Message(9, 0, 1, 0, 0)), ArgumentError, "kind 9"),
            ("frame id of 65 bits", lambda: w.publish(Message(3, 0, 1, 0, 0, frame_id=2**64)), ArgumentError, "does not fit its word"),
            ("count of 17 bits", lambda: w.publish(Message(3, 0, 1, 0, 0, count=65536)), ArgumentError, "does not fit"),
            ("epoch of 33 bits", lambda: w.stream("u", "c", 2**32), ArgumentError, "stream_epoch 4294967296"),
            ("name with a zero", lambda: w.stream("u", "c\0d", 1), ArgumentError, r"name 'c\\x00d'"),
            ("name too long", lambda: w.stream("u", "c" * 64, 1), TooLargeError, "camera name .* more than 63 bytes"),
            ("no name", lambda: w.stream("u", "", 1), ArgumentError, "camera"),
            ("stream not there", lambda: r.stream(1), StreamError, "stream 1"),
            ("no power of two", lambda: ring.ring_bytes(5, 100), ArgumentError, "5 slots"),
            ("slots of 33 bits", lambda: ring.ring_bytes(2**32 + 4, 100), ArgumentError, "slots 4294967300"),
            ("memory too small", lambda: ring.format_ring(bytearray(8192), 4, 100, "m"), ArgumentError, "8192 bytes, layout needs"),
            ("bad model", lambda: ring.format_ring(new_ring(), 4, 100, "a\nb"), ArgumentError, "model"),
            ("nothing in it", lambda: RingWriter(bytearray(40960)), QuarantineError, "magic"),
            ("too short", lambda: RingReader(bytearray(100)), QuarantineError, "100 bytes"),
        ]:
            with self.subTest(name), self.assertRaisesRegex(kind, text):
                do()
        self.assertIsNone(r.next())

    def test_streams_are_bounded(self):
        w = RingWriter(new_ring())
        self.assertEqual(list(range(64)), [w.stream("u", f"c{i}", 1) for i in range(64)])
        with self.assertRaisesRegex(StreamError, "all 64"):
            w.stream("u", "one more", 1)

    def test_nonsense_is_quarantined_with_its_reason(self):
        for name, at, form, value, reason in [
            ("head backwards", 4096, "Q", 1, "head_backwards"),
            ("head beyond reason", 4096, "Q", 2**63, "head_out_of_range"),
            ("other sequence", 28672 + 192 * 3, "Q", 7, "slot_sequence"),
            ("length beyond the slot", 28672 + 192 * 3 + 48, "I", 101, "length"),
            ("kind unknown", 28672 + 192 * 3 + 54, "B", 77, "message_kind"),
            ("stream unknown", 28672 + 192 * 3 + 40, "I", 5, "stream"),
        ]:
            with self.subTest(name):
                m = new_ring(slots=8)
                w, r = RingWriter(m), RingReader(m)
                w.stream("u", "c", 1)
                for _ in range(3):
                    w.publish(Message(3, 0, 1, 0, 0))
                self.assertEqual([1, 2], [r.next().sequence, r.next().sequence])
                struct.pack_into("<" + form, m, at, value)
                for _ in range(2):  # and it stays that way
                    with self.assertRaises(QuarantineError) as caught:
                        r.next()
                    self.assertEqual(reason, caught.exception.reason)

    def test_memory_outlives_its_name(self):
        def only_a_writer():
            return RingWriter(new_ring(slots=1024, payload=4096))

        w = only_a_writer()
        w.stream("u", "c", 1)
        junk = [bytearray(1 << 20) for _ in range(8)]
        for n in range(1, 2000):
            self.assertEqual(n, w.publish(Message(2, 0, 1, 0, 0, body=bytes(4096))))
        del junk

    def test_a_fused_record_is_checked(self):
        for name, body in [("short", bytes(47)), ("votes missing", bytes(44) + b"\1\0\0\0")]:
            with self.subTest(name), self.assertRaises(MalformedError):
                ring.parse_fused(Message(4, 0, 1, 0, 0, body=body), [], [])
        with self.assertRaisesRegex(MalformedError, "kind 1"):
            ring.parse_fused(Message(1, 0, 1, 0, 0, body=bytes(48)), [], [])
