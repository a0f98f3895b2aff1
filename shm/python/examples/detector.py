"""A whole detector: one box around what has moved since the last picture.

    python3 examples/detector.py MODEL CAMERA
"""
import sys

from skewgate_shm import Detached, State, Writer

STEP = 8  # it looks at each 8th pixel of each 8th row,
CHANGE = 25  # and takes one for moved when its brightness changed by more, of 255


def sample(frame):
    rows = range(0, frame.width * frame.height, STEP * frame.width)
    return [bytes(frame.luma[at : at + frame.width : STEP]) for at in rows]


def moved(now, before):
    hits = [(x, y) for y, (row, old) in enumerate(zip(now, before)) if row != old
            for x, (a, b) in enumerate(zip(row, old)) if abs(a - b) > CHANGE]
    if not hits:
        return []
    (left, right), (top, bottom) = ((min(v), max(v) + 1) for v in zip(*hits))
    w, h = len(now[0]), len(now)
    share = len(hits) / ((right - left) * (bottom - top))  # of the box that moved: its score
    return [(left / w, top / h, right / w, bottom / h, share, 0)]


def main(model, camera):
    with Writer.attach(model) as writer:
        writer.state, before = State.READY, []
        for frame in writer.frames(camera):
            now = sample(frame)
            if not frame.valid():
                continue  # overwritten while we looked
            boxes, before = moved(now, before), now
            try:
                writer.publish(frame, boxes)
            except Detached:
                pass  # the appliance restarts; frames() goes on when it is back


if __name__ == "__main__":
    main(*sys.argv[1:])
