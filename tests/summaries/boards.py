"""A real TensorBoard server over a folder, and what it answers."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tensorboard.program import TensorBoard

_WAIT_S = 300.0  # only a TensorBoard that is broken takes as long


class Board:
    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def get(self, route: str, **query: Any) -> bytes:
        with urllib.request.urlopen(f"{self._url}/data/{route}?{urllib.parse.urlencode(query)}") as answer:
            return answer.read()

    def get_json(self, route: str, **query: Any) -> Any:
        return json.loads(self.get(route, **query))

    def until_it_has_runs(self) -> Board:
        end = time.monotonic() + _WAIT_S
        while time.monotonic() < end:
            if self.get_json("runs"):
                return self
            time.sleep(0.05)
        raise AssertionError("TensorBoard found no run")


@contextmanager
def tensorboard_over(folder: Path) -> Iterator[Board]:
    server = TensorBoard()
    server.configure(
        argv=["", "--logdir", str(folder), "--port", "0", "--load_fast", "false", "--reload_interval", "1"]
    )
    yield Board(server.launch()).until_it_has_runs()
