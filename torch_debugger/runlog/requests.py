"""The pipe upstream: the judge's wishes for a closer look, read between steps and never waited for."""

from __future__ import annotations

import dataclasses
import json
import os

from torch_debugger.records import Request
from torch_debugger.runlog.descriptors import Descriptor

# A write of up to 512 bytes to a pipe is done whole or not at all on every POSIX system.
_WHOLE_BYTES = 512


def make_request_pipe() -> tuple[RequestReader, RequestSender]:
    reading_fd, writing_fd = os.pipe()
    return RequestReader(reading_fd), RequestSender(writing_fd)


class RequestSender:
    """The judge's end. A full pipe or a reader that has gone loses the request, nothing else."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        os.set_blocking(fd, False)

    def send(self, request: Request) -> None:
        line = _line(request)
        if len(line) > _WHOLE_BYTES:
            line = _line(
                dataclasses.replace(request, modules=(), reason="")
            )  # a close look at every module contains the one asked for
        try:
            os.write(self.fd, line)
        except (BlockingIOError, BrokenPipeError):
            return

    def close(self) -> None:
        os.close(self.fd)


class RequestReader:
    """The watched process's end."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._descriptor = Descriptor(fd)
        self._open = True
        self._partial = b""
        os.set_blocking(fd, False)

    def poll(self) -> list[Request]:
        """What has come since the last call; never waits."""
        self._open = self._open and self._descriptor.is_ours()
        if not self._open:
            return []
        try:
            received = os.read(self.fd, 65536)
        except BlockingIOError:
            return []
        self._open = bool(received)  # nothing to read, ever again: the parent has gone
        *lines, self._partial = (self._partial + received).split(b"\n")
        return [_request(line) for line in lines]

    def close(self) -> None:
        self._open = False
        self._descriptor.close()


def _line(request: Request) -> bytes:
    return json.dumps(dataclasses.asdict(request)).encode() + b"\n"


def _request(line: bytes) -> Request:
    plain = json.loads(line)
    return Request(plain["steps"], tuple(plain["modules"]), plain["reason"], plain["profile"])
