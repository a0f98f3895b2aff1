"""The appliance's side of attach.sock, made to misbehave where a test asks for it.

Its memory is the real thing: sealed segments, which the C library checks and maps.
"""
from __future__ import annotations

import array
import json
import os
import socket
import tempfile
import threading

from skewgate_shm import ring

from . import segments


class Appliance:
    """Serves (mine, 0) and readers, with one or more cameras. A context manager."""

    def __init__(self, folder: str | None = None, cameras: tuple[str, ...] = ("gate",), **ring_options) -> None:
        self.folder = folder or tempfile.mkdtemp(prefix="sg")
        self.path = os.path.join(self.folder, "attach.sock")
        self.cameras = {name: segments.FrameRing("box-7", name) for name in cameras}
        self.epochs = dict.fromkeys(cameras, 1)
        self.ring = segments.ring_segment("mine", **ring_options)
        self.bell = segments.doorbell_segment()
        self.output = segments.ring_segment("fused", 256, 4096, output=True)
        self.hellos: list[dict] = []
        self.answer: dict = {}  # what a test wants said instead
        self.connections: list[socket.socket] = []
        self.reader = ring.RingReader(self.ring.memory)  # from the beginning
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            hello = json.loads(connection.recv(65536))
            self.hellos.append(hello)
            answer, files = self._answer(hello)
            fds = array.array("i", files)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)] if fds else []
            if answer["ok"]:
                self.connections.append(connection)  # before the client knows, so that a test can count on it
            try:
                connection.sendmsg([json.dumps(answer).encode()], rights)
            except OSError:
                pass  # it did not wait for the answer
            if not answer["ok"]:
                connection.close()

    def _answer(self, hello: dict) -> tuple[dict, list[int]]:
        frames = {f"frames/{name}": f.segment.fd_reader for name, f in self.cameras.items()}
        if hello["role"] == "writer":
            files = {"ring": self.ring.fd, "doorbell": self.bell.fd, **frames}
        else:
            files = {"output": self.output.fd_reader, **frames}
        answer = {
            "ok": True, "abi": 1, "unit": "box-7", **{k: hello[k] for k in ("model", "replica") if k in hello},
            "ring_epoch": 1, "cameras": [{"name": n, "stream_epoch": e} for n, e in self.epochs.items()],
            "files": list(files), **self.answer,
        }
        return answer, list(files.values()) if answer["ok"] else []

    def say(self, **event) -> None:
        for connection in self.connections:
            connection.send(json.dumps(event).encode())

    def messages(self) -> list[ring.Message]:
        """What has come into the detection ring since the last call."""
        out = []
        while (m := self.reader.next()) is not None:
            out.append(m)
        return out

    def stop(self) -> None:
        """As if killed: no word, all connections end."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        for connection in self.connections:
            connection.close()
        os.unlink(self.path)

    def __enter__(self) -> Appliance:
        return self

    def __exit__(self, *_) -> None:
        if self.listener.fileno() >= 0:
            self.stop()
        for s in (self.ring, self.bell, self.output, *(f.segment for f in self.cameras.values())):
            s.close()
