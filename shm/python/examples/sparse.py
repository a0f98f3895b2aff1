"""A detector that finds something in few pictures: a bright block. Of the others it says that
it looked (answers), that nothing will come (progress), or, to see what that costs, nothing.

    python3 examples/sparse.py MODEL CAMERA LIMIT [answers|progress|nothing]
"""
import sys

from skewgate_shm import Detached, State, Writer

SIDE = 16  # blocks along a side, of which it takes
STEP = 4  # each 4th row


def brightest(frame):
    luma, width, w, h = frame.luma, frame.width, frame.width // SIDE, frame.height // SIDE

    def light(x, y):
        rows = range(y * h, (y + 1) * h, STEP)
        return sum(sum(luma[r * width + x * w : r * width + (x + 1) * w]) for r in rows) / (255 * w * len(rows))

    score, x, y = max((light(x, y), x, y) for y in range(SIDE) for x in range(SIDE))
    w, h = w / width, h / frame.height
    return (x * w, y * h, (x + 1) * w, (y + 1) * h, score, 0)


def main(model, camera, limit, says="answers"):
    with Writer.attach(model) as writer:
        writer.state = State.READY
        for frame in writer.frames(camera):
            box = brightest(frame)
            if not frame.valid():
                continue  # overwritten while we looked
            try:
                if box[4] >= float(limit):
                    writer.publish(frame, [box])
                elif says == "answers":
                    writer.publish(frame, [])
                elif says == "progress":
                    writer.publish_progress(camera, frame.capture_ns)
            except Detached:
                pass  # the appliance restarts; frames() goes on when it is back


if __name__ == "__main__":
    main(*sys.argv[1:])
