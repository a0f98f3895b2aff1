"""The rules of correlation and the replay contract, read once more and in another language:
nothing here is taken from the appliance's code. It draws random replays, works out what
`skewgate replay` has to print, and prints both as a JSON line each.

reading.py SEED COUNT
"""
import datetime
import hashlib
import json
import random
import re
import sys

MS = 1_000_000
NUMBER_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


class Literal(str):
    """A JSON number as it is written."""


# ---- timestamps -------------------------------------------------------------------------------

NUMBER = re.compile(r"[ \t\r\n]*([+-]?)([0-9]+)(?:\.([0-9]+))?[ \t\r\n]*", re.ASCII)
ISO = re.compile(
    r"[ \t\r\n]*([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:[.,]([0-9]+))?[ \t\r\n]*(?:([Zz])|([+-])([0-9]{2})(?::?([0-9]{2}))?)?[ \t\r\n]*", re.ASCII)


def instant(value, unit):
    """ns since 1970, or None for what is raw."""
    if value is None or isinstance(value, (bool, list, dict)):
        return None
    text = str(value)
    if m := NUMBER.fullmatch(text):
        sign, whole, fraction = m[1], int(m[2]), (m[3] or "")[:9]
        if unit == "auto":
            unit = "s" if whole < 10**11 else "ms" if whole < 10**14 else "us" if whole < 10**17 else "ns"
        scaled = (whole * 10**9 + int(fraction.ljust(9, "0") or 0)) * NUMBER_UNITS[unit]
        ns = (-scaled if sign == "-" else scaled) // 10**9
    elif m := ISO.fullmatch(text):
        hour, minute, second = int(m[4]), int(m[5]), int(m[6])
        if hour > 23 or minute > 59 or second > 60:
            return None
        if m[10] and (int(m[10]) > 23 or int(m[11] or 0) > 59):
            return None
        try:
            days = datetime.date(int(m[1]), int(m[2]), int(m[3])).toordinal() - datetime.date(1970, 1, 1).toordinal()
        except ValueError:
            return None
        east = (int(m[10]) * 60 + int(m[11] or 0)) * 60 if m[10] else 0
        if m[9] == "-":
            east = -east
        seconds = days * 86400 + hour * 3600 + minute * 60 + second - east
        ns = seconds * 10**9 + int((m[7] or "")[:9].ljust(9, "0"))
    else:
        return None
    return ns if -2**63 <= ns < 2**63 else None


def raw_text(value):
    """What an unreadable timestamp is keyed by."""
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    data = text.encode()
    if len(data) <= 40:
        return text
    return data[:24].decode(errors="replace") + "…" + hashlib.sha256(data).hexdigest()[:16]


def millis(literal):
    """A decimal number of ms as ns, exactly."""
    sign = -1 if literal.startswith("-") else 1
    whole, _, fraction = literal.lstrip("-").partition(".")
    return sign * (int(whole) * MS + int(fraction.ljust(6, "0") or 0))


def decimal(ns):
    """ns as ms, without zeros that are not needed."""
    text = f"{abs(ns) // MS}.{abs(ns) % MS:06d}".rstrip("0").rstrip(".")
    return ("-" if ns < 0 else "") + text


# ---- the rules --------------------------------------------------------------------------------

COUNTERS = """received accepted late dup_resend dup_collision wrong_generation unexpected unparsed
flushed_quorum flushed_settled flushed_timeout flushed_eviction stale pending refused
now_regressions progress_broken closed_forgotten no_frame_id suppressed_empty""".split()


class Group:
    def __init__(self, place, tag, value, first):
        self.place, self.tag, self.value, self.first = place, tag, value, first
        self.members = {}  # model: (arrival, capture time or None, found)
        self.generation = 0
        self.closed_at = None

    def times(self):
        return [t for _, t, _ in self.members.values() if t is not None]


class Reading:
    def __init__(self, config):
        self.quantum = millis(config["quantum_ms"])
        self.timeout = millis(config["timeout_ms"])
        self.max_age = None if config.get("max_age_ms") is None else millis(config["max_age_ms"])
        self.max_pending = int(config.get("max_pending", 256))
        self.window = millis(config.get("skew_window_ms", "60000"))
        self.ttl = millis(config["closed_ttl_ms"]) if "closed_ttl_ms" in config else max(60_000 * MS, 4 * self.timeout)
        self.emit_empty = config.get("emit_empty", False)
        self.implicit = config.get("implicit_watermark", False)
        self.unit = config.get("number_unit", "ms")
        self.all = self.settings(config, {"match": "auto", "tau": 0, "interval": 0, "offset": {}, "expected": []})
        self.cameras = {name: self.settings(c, self.all) for name, c in config.get("cameras", {}).items()}
        self.named = set(self.all["expected"])
        for c in self.cameras.values():
            self.named |= set(c["expected"])
        self.now = None
        self.groups, self.records = [], []  # in order of first arrival, of closing
        self.dead, self.dead_at = set(), set()
        self.promise, self.distrusted = {}, set()
        self.n = dict.fromkeys(COUNTERS, 0)
        self.skew, self.lag = [], {}
        self.lines = []

    @staticmethod
    def settings(config, base):
        s = dict(base)
        if "match" in config:
            s["match"] = config["match"]
        if "window_ms" in config:
            s["tau"] = millis(config["window_ms"])
        if "frame_interval_ms" in config:
            s["interval"] = millis(config["frame_interval_ms"])
        if "offset_ms" in config:
            s["offset"] = {m: millis(v) for m, v in config["offset_ms"].items()}
        if "expected" in config:
            s["expected"] = config["expected"]
        return s

    def refusal(self):
        if self.max_age is not None and self.max_age <= self.timeout:
            return True
        return any(c["match"] == "window" and 2 * c["tau"] >= c["interval"] for c in [self.all, *self.cameras.values()])

    def of(self, camera):
        return self.cameras.get(camera, self.all)

    # One call: clamp, forget, sweep.
    def begin(self, now):
        if self.now is not None and now < self.now:
            self.n["now_regressions"] += 1
            now = self.now
        self.now = now
        self.records = [r for r in self.records if now - r.closed_at < self.ttl]
        for g in list(self.groups):
            age = now - g.first
            if self.max_age is not None and age >= self.max_age:
                self.close(g, "stale")
            elif age >= self.timeout:
                self.close(g, "timeout")

    def close(self, g, reason):
        self.groups.remove(g)
        g.closed_at = self.now
        if self.ttl > 0:
            self.records.append(g)
        self.n["stale" if reason == "stale" else "flushed_" + reason] += 1
        if reason == "stale":
            return
        if not self.emit_empty and not any(found for _, _, found in g.members.values()):
            self.n["suppressed_empty"] += 1
            return
        unit, camera = g.place[0].split("/", 1)
        self.lines.append({
            "key_note": self.note(g), "unit": unit, "camera": camera,
            "models": sorted(g.members, key=lambda m: m.encode()), "reason": reason, "at_ms": Literal(decimal(self.now)),
        })
        if len(g.members) >= 2:
            self.skew.append((self.now, max(a for a, _, _ in g.members.values()) - g.first))
            for model, (arrival, _, _) in g.members.items():
                self.lag.setdefault(model, []).append((self.now, arrival - g.first))

    def note(self, g):
        if g.tag == "q":
            return f"q{decimal(self.quantum)}:{g.value}"
        return {"t": f"q0:{g.value}ns", "id": f"id:{g.value}", "w": f"w:{g.value}ns", "raw": f"raw:{g.value}"}[g.tag]

    def live(self, camera):
        return [m for m in self.of(camera)["expected"] if m not in self.dead and (camera, m) not in self.dead_at]

    def past(self, g, model):
        at = (*g.place, model)
        if at not in self.promise or at in self.distrusted:
            return False
        w = self.promise[at]
        if g.tag == "q":
            return w >= (g.value + 1) * self.quantum - 1
        if g.tag == "w":
            return w >= g.value + self.of(g.place[0])["tau"]
        return g.tag != "raw" and bool(g.times()) and w >= max(g.times())

    def judge(self, g):
        live = self.live(g.place[0])
        if live and all(m in g.members for m in live):
            self.close(g, "quorum")
        elif live and all(m in g.members or self.past(g, m) for m in live):
            self.close(g, "settled")

    def judge_all(self):
        for g in list(self.groups):
            self.judge(g)

    def find(self, place, model, tag, value, t):
        """The group of a message and whether it is a resend of what is there (window only)."""
        everybody = self.groups + self.records
        if tag != "w":
            return next((g for g in everybody if (g.place, g.tag, g.value) == (place, tag, value)), None), False
        mine = [g for g in everybody if g.place == place and g.tag == "w"]
        for g in mine:
            if model in g.members and g.members[model][1] == t:
                return g, True
        tau, best = self.of(place[0])["tau"], None
        for g in mine:
            times = g.times() + [t]
            if model in g.members or max(times) - min(times) > tau:
                continue
            # Nearest; an open one unless a closed one is strictly nearer; the earlier on a tie.
            rank = (abs(g.value - t), g.closed_at is not None, g.value)
            if best is None or rank < best[0]:
                best = (rank, g)
        return (best[1] if best else None), False

    def message(self, now, m):
        self.begin(now)
        self.n["received"] += 1
        camera, model = f"{m['unit']}/{m['camera']}", m["model"]
        place, s = (camera, int(m.get("epoch", 0))), self.of(camera)
        t = instant(m["timestamp"], self.unit)
        if t is None:
            self.n["unparsed"] += 1
        else:
            t -= s["offset"].get(model, 0)
        self.named.add(model)
        if model not in s["expected"]:
            self.n["unexpected"] += 1
        self.dead.discard(model)
        self.dead_at.discard((camera, model))
        at = (*place, model)
        if t is not None and at in self.promise and t <= self.promise[at]:
            self.n["progress_broken"] += 1
            self.distrusted.add(at)
        frame = m.get("frame_id") or ""
        if s["match"] == "frame_id" and not frame:
            self.n["no_frame_id"] += 1
        if frame and s["match"] in ("auto", "frame_id"):
            tag, value = "id", frame
        elif t is None:
            tag, value = "raw", raw_text(m["timestamp"])
        elif s["match"] == "window":
            tag, value = "w", t
        elif self.quantum == 0:
            tag, value = "t", t
        else:
            tag, value = "q", t // self.quantum
        g, resend = self.find(place, model, tag, value, t)
        generation = int(m.get("generation", 0))
        joined = None
        found = m.get("boxes") != []
        if g and g.closed_at is None and generation and g.generation and generation != g.generation:
            self.n["wrong_generation"] += 1
        elif g and model in g.members:
            first = g.members[model][1]
            kind = "dup_collision" if not resend and first is not None and t is not None and first != t else "dup_resend"
            self.n[kind] += 1
        elif g and g.closed_at is not None:
            self.n["late"] += 1
            self.skew.append((self.now, self.now - g.first))
            self.lag.setdefault(model, []).append((self.now, self.now - g.first))
            g.members[model] = (self.now, t, found)
        else:
            self.n["accepted"] += 1
            if g is None:
                g = Group(place, tag, value, self.now)
                self.groups.append(g)
            g.generation = g.generation or generation
            g.members[model] = (self.now, t, found)
            joined = g
        if self.implicit and t is not None:
            self.promise[at] = max(self.promise.get(at, t - 1), t - 1)
            self.judge_all()
        elif joined:
            self.judge(joined)
        if len(self.groups) > self.max_pending:
            self.close(self.groups[0], "eviction")

    def watermark(self, now, w):
        self.begin(now)
        camera, model = f"{w['unit']}/{w['camera']}", w["model"]
        self.dead.discard(model)
        self.dead_at.discard((camera, model))
        at = (camera, int(w.get("epoch", 0)), model)
        upto = millis(w["ts_ms"]) + 999_999 - self.of(camera)["offset"].get(model, 0)
        self.promise[at] = max(self.promise.get(at, upto), upto)
        self.judge_all()

    def event(self, e):
        try:
            now = millis(e["now_ms"])
            if "msg" in e:
                m = e["msg"]
                if not all(isinstance(m.get(k), str) for k in ("unit", "camera", "model")) or "timestamp" not in m:
                    raise KeyError
                self.message(now, m)
            elif "tick" in e:
                self.begin(now)
            elif "watermark" in e:
                self.watermark(now, e["watermark"])
            elif "set_expected" in e:
                self.begin(now)
                names = e["set_expected"]
                if isinstance(names, dict):
                    camera = f"{names['unit']}/{names['camera']}"
                    self.cameras[camera] = dict(self.of(camera), expected=names["models"])
                    names = names["models"]
                else:
                    self.all = dict(self.all, expected=names)
                    self.cameras = {c: dict(s, expected=names) for c, s in self.cameras.items()}
                self.named |= set(names)
                self.judge_all()
            elif "model_down" in e:
                self.begin(now)
                d = e["model_down"]
                if isinstance(d, str):
                    self.dead.add(d)
                else:
                    self.dead_at.add((f"{d['unit']}/{d['camera']}", d["model"]))
                self.judge_all()
            elif "slept" in e:
                self.begin(now)
                for g in list(self.groups):
                    self.close(g, "stale")
            else:
                raise KeyError
        except KeyError:
            self.n["refused"] += 1

    def figures(self, samples):
        values = sorted(v for at, v in samples if self.now - at < self.window)
        if not values:
            return {"count": 0, "p50": None, "p99": None, "max": None}
        rank = lambda p: Literal(decimal(values[-(-p * len(values) // 100) - 1]))
        return {"count": len(values), "p50": rank(50), "p99": rank(99), "max": Literal(decimal(values[-1]))}

    def summary(self):
        self.n["pending"] = len(self.groups)
        return {
            "counters": self.n, "skew": self.figures(self.skew),
            "lag_by_model": {m: self.figures(self.lag.get(m, [])) for m in sorted(self.named)},
        }


# ---- random replays ---------------------------------------------------------------------------

BASE = 1_700_000_000_000 * MS
JITTERS = [0, 0, 0, 1, MS, 5 * MS, 9 * MS, 12 * MS, 15 * MS, 18 * MS, 24 * MS, 24 * MS + 999_999, -1, -5 * MS]
EVEN = [0, 12 * MS, 24 * MS]  # a time as far from one as from the other
MODELS = ["A", "B", "C", "x-model"]
PLACES = [("u1", "c1"), ("u1", "c1"), ("u1", "c2"), ("u2", "c1")]
RAW = ["", "null", "???", " ", "1e3", "2026-02-30T00:00:00Z", "2026-03-01T24:00:00Z", "2026-03-01T23:59:61Z",
       "2026-03-01T00:00:00+24:00", "2026-03-01", "12.", ".5", "0x10", "99999999999999999999", "ä" * 21, "x" * 40, "x" * 41,
       "2026-03-01T00:00:00.Z", "--1", "+", "2026-3-01T00:00:00Z", None, True, Literal("1e3"), Literal("-2.5E+4")]


class Draw:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def pick(self, *all_of):
        return self.r.choice(all_of)

    def subset(self, names):
        return [n for n in names if self.r.random() < 0.6]

    def camera(self):
        s = {"match": self.pick("auto", "frame_id", "bucket", "window")}
        if s["match"] == "window" or self.r.random() < 0.2:
            s["window_ms"], s["frame_interval_ms"] = self.pick("0", "3", "15", "19.999999", "20"), "40"
            if s["window_ms"] == "20" and self.r.random() < 0.9:
                s["frame_interval_ms"] = "40.000001"
        if self.r.random() < 0.3:
            s["offset_ms"] = {"A": self.pick("7", "-3.000001", "0"), "C": "1.5"}
        return s

    def config(self):
        c = {
            "quantum_ms": self.pick("0", "10", "25", "25", "16.666667", "0.000003"),
            "timeout_ms": self.pick("0", "20", "100", "300", "0.5"),
            "expected": self.subset(["A", "B", "C"]),
            "number_unit": self.pick("ms", "s", "us", "ns", "auto"),
        }
        if self.r.random() < 0.5:
            c |= self.camera()
        if self.r.random() < 0.5:
            c["max_pending"] = self.pick("1", "2", "4", "100")
        if self.r.random() < 0.4:
            c["max_age_ms"] = decimal(millis(c["timeout_ms"]) + self.pick(1, MS, 50 * MS, 0 if self.r.random() < 0.2 else 2))
        if self.r.random() < 0.4:
            c["closed_ttl_ms"] = self.pick("0", "0.000001", "50", "400", "100000")
        if self.r.random() < 0.4:
            c["skew_window_ms"] = self.pick("0", "80", "1000")
        for flag in ("emit_empty", "implicit_watermark"):
            if self.r.random() < 0.4:
                c[flag] = self.r.random() < 0.8
        if self.r.random() < 0.4:
            c["cameras"] = {"u1/c2": self.camera() | ({"expected": self.subset(MODELS)} if self.r.random() < 0.5 else {})}
        return c

    def capture(self):
        frame = self.r.randint(*self.frames)
        return self.base + frame * 40 * MS + self.pick(*self.jitters)

    def spelled(self, ns, unit):
        """One of the ways to write an instant. Some say it less exactly; both sides have to read that."""
        way = self.r.randrange(8)
        if way < 3:
            if unit == "auto":
                unit = self.pick("s", "ms", "us", "ns") if ns > 10**17 else "s"
            size = NUMBER_UNITS[unit]
            whole, rest = divmod(abs(ns), size)
            text = str(whole)
            if size > 1 and (rest or self.r.random() < 0.3):
                text += "." + str(rest).rjust(len(str(size)) - 1, "0") + self.pick("", "0", "9" if size == 10**9 else "0")
            text = ("-" if ns < 0 else "") + text
            if way == 0:
                return Literal(text)
            return self.pick("", " ", "\t") + self.pick("", "+" if ns >= 0 else "") + text + self.pick("", " ")
        if not 0 <= ns < 4 * 10**18:
            return self.spelled(ns, unit)
        east = self.pick(None, 0, 0, 9 * 60, -330, 23 * 60 + 59)
        at = ns // 10**9 + (east or 0) * 60
        d = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=at)
        text = d.strftime("%Y-%m-%d") + self.pick("T", "t", " ") + d.strftime("%H:%M:%S")
        if d.second == 0 and d.minute > 0 and self.r.random() < 0.3:
            d -= datetime.timedelta(minutes=1)
            text = d.strftime("%Y-%m-%d") + "T" + d.strftime("%H:%M:") + "60"
        fraction = f"{ns % 10**9:09d}" + self.pick("", "0", "99")
        text += self.pick(".", ",") + fraction
        if east is None:
            return text
        if east == 0:
            return text + self.pick("Z", "z", " Z", "+00:00", "-00", "+0000")
        return text + self.pick("", " ") + ("+" if east > 0 else "-") + f"{abs(east) // 60:02d}" + self.pick(":", "") + f"{abs(east) % 60:02d}"

    def message(self, unit):
        place = self.pick(*PLACES)
        m = {"unit": place[0], "camera": place[1], "model": self.pick(*MODELS)}
        m["timestamp"] = self.pick(*RAW) if self.r.random() < 0.1 else self.spelled(self.capture(), unit)
        if self.r.random() < 0.25:
            m["epoch"] = Literal(self.pick("0", "1", "4294967295"))
        if self.r.random() < 0.4:
            m["frame_id"] = self.pick("1", "2", "3", "frame \"7\"", "", "ü")
        if self.r.random() < 0.5:
            m["generation"] = Literal(self.pick("0", "1", "1", "1", "2", "18446744073709551615"))
        if self.r.random() < 0.5:
            m["boxes"] = self.pick([], [], [{"box": [Literal("0.1")], "score": Literal("1")}])
        if self.r.random() < 0.02:
            del m[self.pick("unit", "model", "timestamp")]
        return m

    def events(self, unit):
        now = self.pick(0, -500 * MS, 1_000_000 * MS)
        for _ in range(self.r.randint(1, 60)):
            now += self.pick(0, 0, 1, MS, MS, 2 * MS, 5 * MS, 20 * MS, 100 * MS, 301 * MS, -3 * MS)
            e, kind = {"now_ms": Literal(decimal(now))}, self.r.randrange(24)
            place = self.pick(*PLACES)
            at = {"unit": place[0], "camera": place[1]}
            if kind == 0:
                e["tick"] = True
            elif kind == 1:
                names = self.subset(MODELS)
                e["set_expected"] = names if self.r.random() < 0.6 else at | {"models": names}
            elif kind == 2:
                model = self.pick(*MODELS)
                e["model_down"] = model if self.r.random() < 0.5 else at | {"model": model}
            elif kind == 3 and self.r.random() < 0.3:
                e[self.pick("slept", "slept", "nonsense")] = True
            elif kind < 8:
                e["watermark"] = at | {"model": self.pick(*MODELS), "ts_ms": Literal(decimal(self.capture() + self.pick(0, 0, 2, 14) * MS))}
                if self.r.random() < 0.3:
                    e["watermark"]["epoch"] = Literal("1")
            else:
                e["msg"] = self.message(unit)
            yield e

    def replay(self):
        self.base = self.pick(BASE, BASE, 0, 1_488_326_400_000 * MS)
        self.jitters, self.frames = JITTERS, (-2, 4)
        config = self.config()
        if self.r.random() < 0.25:  # few pictures, with windows that meet
            self.jitters, self.frames = EVEN, (0, 1)
            config |= {"match": "window", "window_ms": "15", "frame_interval_ms": "40", "closed_ttl_ms": "100000"}
            config.pop("cameras", None)
        return config, list(self.events(config["number_unit"]))


def written(v):
    """JSON with numbers as they were drawn."""
    if isinstance(v, Literal):
        return str(v)
    if isinstance(v, dict):
        return "{" + ",".join(json.dumps(k) + ":" + written(x) for k, x in v.items()) + "}"
    if isinstance(v, list):
        return "[" + ",".join(map(written, v)) + "]"
    return json.dumps(v)


def numbers(config):
    """The config's numbers, drawn as text, are written as numbers."""
    out = {}
    for k, v in config.items():
        if isinstance(v, dict):
            out[k] = {n: Literal(x) for n, x in v.items()} if k == "offset_ms" else {n: numbers(x) for n, x in v.items()}
        else:
            out[k] = Literal(v) if isinstance(v, str) and k not in ("match", "number_unit") else v
    return out


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    for i in range(count):
        config, events = Draw(seed * 1_000_003 + i).replay()
        lines = [written({"config": numbers(config)})] + [written(e) for e in events]
        reading = Reading(config)
        out = {"input": "\n".join(lines) + "\n", "refused": reading.refusal()}
        if not out["refused"]:
            for e in events:
                reading.event(e)
            if reading.now is None:
                reading.now = 0
            out |= {"groups": reading.lines, "summary": reading.summary()}
        print(written(out))


main()
