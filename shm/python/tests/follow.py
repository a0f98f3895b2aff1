"""Prints fused frames as the binding sees them: python3 -m tests.follow SOCKET COUNT

The first line says that it is attached, and to what.
"""
import dataclasses
import json
import sys

from skewgate_shm import Reader


def main(path: str, count: str) -> None:
    with Reader.attach(path) as reader:
        print(json.dumps({"unit": reader.unit, "cameras": reader.cameras}), flush=True)
        for _, fused in zip(range(int(count)), reader):
            print(json.dumps(dataclasses.asdict(fused)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
