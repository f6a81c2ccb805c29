"""A real S3 server on this machine, which can die and come back."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import fsspec
import pytest
import s3fs
from moto.server import ThreadedMotoServer


class Server:
    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.port = 0
        self.start()

    def start(self) -> None:
        self._server = ThreadedMotoServer("127.0.0.1", self.port, verbose=False)
        self._server.start()
        self.port = self._server.get_host_and_port()[1]

    def stop(self) -> None:
        self._server.stop()

    def variables(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_MAX_ATTEMPTS": "1",
        }


@contextmanager
def running_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """With a bucket called logs."""
    server = Server()
    for name, value in server.variables().items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    system = fsspec.filesystem("s3")
    if not system.exists("logs"):
        system.mkdir("logs")
    try:
        yield server
    finally:
        system.rm("logs", recursive=True)
        server.stop()
        s3fs.S3FileSystem.clear_instance_cache()
