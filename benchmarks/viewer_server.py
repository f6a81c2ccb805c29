"""How the page's server bears large logs: python -m benchmarks.viewer_server [GIGABYTES]

A server in a process of its own, asked over HTTP as a browser asks it. Four folders, all written here:

* scalars: a million points in 100 tags.
* large: a log of so many gigabytes (2 unless told), half of it scalars and half of it records of 4 kB.
* many: 10,000 runs of one point each.
* growing: a log that grows by 100 MB a minute; how long after a flush its points are there.

While the large log is read for the first time the pulse of another run is asked for: it must not wait.
"""

from __future__ import annotations

import http.client
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from torch_debugger.log.encoder import Encoder
from torch_debugger.log.protobuf import string_tensor, tensor_event
from torch_debugger.log.tfrecord import frame
from torch_debugger.records import Scalars

_NAME = "events.out.tfevents.1700000000.host.1.0"
_BLOCK_STEPS = 10_000


def scalar_block(tags: int, first: int, steps: int) -> bytes:
    values = {f"layer{number}/norm": 0.5 for number in range(tags)}
    encoder = Encoder(1 << 40, print)
    encoder.start()
    return encoder.encode([Scalars(first + step, time.time(), values) for step in range(steps)])


def write_scalars(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / _NAME).write_bytes(scalar_block(100, 0, 10_000))


def write_large(folder: Path, size_bytes: int) -> None:
    """The same block again and again: steps repeat, which no reader minds."""
    folder.mkdir(parents=True)
    body = string_tensor(b"x" * 4000)
    records = frame([tensor_event(1.7e9, number, f"note/{number % 20}", body) for number in range(10_000)])
    scalars = scalar_block(20, 0, _BLOCK_STEPS)
    scalars *= max(1, len(records) // len(scalars))
    with (folder / _NAME).open("wb") as file:
        while file.tell() < size_bytes:
            file.write(records + scalars)


def write_many(folder: Path) -> None:
    point = scalar_block(1, 0, 1)
    for number in range(10_000):
        run = folder / f"group{number % 100:02d}" / f"run{number:05d}"
        run.mkdir(parents=True)
        (run / _NAME).write_bytes(point)


class Page:
    """A server that shows one folder."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "torch_debugger", "view", str(folder), "--no-open"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        found = re.search(r":(\d+)/", self.process.stdout.readline())
        assert found is not None
        self.port = int(found[1])

    def ask(self, question: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("GET", f"/ask/{question}", headers={"Accept-Encoding": "gzip"})
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        assert reply.status == 200, body
        return body if reply.headers.get("Content-Encoding") else json.loads(body)

    def timed(self, question: str) -> float:
        started = time.perf_counter()
        self.ask(question)
        return time.perf_counter() - started

    @property
    def memory_mb(self) -> float:
        return float(psutil.Process(self.process.pid).memory_info().rss / 1e6)


@contextmanager
def page(folder: Path) -> Iterator[Page]:
    shown = Page(folder)
    try:
        yield shown
    finally:
        shown.process.kill()
        shown.process.wait()


def while_reading(shown: Page, question: str, beside: str) -> tuple[float, list[float]]:
    """How long the question takes, and all the while the other one, asked again and again."""
    took: list[float] = []
    thread = threading.Thread(target=lambda: took.append(shown.timed(question)))
    thread.start()
    others = []
    while thread.is_alive():
        others.append(shown.timed(beside))
        time.sleep(0.05)
    thread.join()
    return took[0], others


def report_scalars(root: Path) -> None:
    write_scalars(root / "scalars" / "run")
    with page(root / "scalars") as shown:
        empty_mb = shown.memory_mb
        first, again = shown.timed("about?run=run"), shown.timed("about?run=run")
        pulse = statistics.median(shown.timed("pulse?run=run") for _ in range(50))
        print(f"1M scalars in 100 tags: about {first:.2f} s, again {1e3 * again:.0f} ms, pulse {1e3 * pulse:.1f} ms")
        print(f"  memory {shown.memory_mb:.0f} MB, {empty_mb:.0f} MB of it before anything was asked", flush=True)


def report_large(root: Path, size_bytes: int) -> None:
    write_large(root / "large" / "run", size_bytes)
    write_scalars(root / "large" / "small")
    with page(root / "large") as shown:
        shown.ask("names")
        took, others = while_reading(shown, "about?run=run", "pulse?run=small")
        again = shown.timed("about?run=run")
        print(
            f"{size_bytes / 1e9:.1f} GB: about {took:.1f} s, again {1e3 * again:.0f} ms, "
            f"memory {shown.memory_mb:.0f} MB"
        )
        print(f"  the pulse of another run meanwhile: {_spread(others)}", flush=True)


def report_many(root: Path) -> None:
    write_many(root / "many")
    with page(root / "many") as shown:
        first = shown.timed("names")
        others = [shown.timed("names") for _ in range(100)]
        print(f"10,000 runs: names {first:.2f} s, then {_spread(others)}", flush=True)


def report_growing(root: Path) -> None:
    folder = root / "growing" / "run"
    write_scalars(folder)
    with page(root / "growing") as shown, (folder / _NAME).open("ab", buffering=0) as file:
        shown.ask("about?run=run")
        block = scalar_block(100, 10_000, 700)  # about a third of a second at 100 MB a minute
        seen = [_until_seen(shown, file.write, block) for _ in range(30)]
        print(f"a log that grows by 100 MB a minute: a point is there {_spread(seen)} after its flush", flush=True)


def _until_seen(shown: Page, write: Callable[[bytes], Any], block: bytes) -> float:
    before = shown.ask("pulse?run=run")["version"]
    write(block)
    started = time.perf_counter()
    while shown.ask("pulse?run=run")["version"] == before:
        time.sleep(0.01)
    shown.ask("about?run=run")
    took = time.perf_counter() - started
    time.sleep(max(0.0, len(block) / 1e8 * 60 - took))
    return took


def _spread(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return f"{1e3 * statistics.median(ordered):.0f} ms (at most {1e3 * ordered[-1]:.0f} ms)"


def main() -> None:
    size_bytes = int(float(sys.argv[1]) * 1e9) if len(sys.argv) > 1 else 2_000_000_000
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        report_scalars(root)
        report_many(root)
        report_growing(root)
        report_large(root, size_bytes)


if __name__ == "__main__":
    main()
