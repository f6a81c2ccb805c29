"""A writer that dies without a word: what it had flushed can be read, by us and by TensorBoard."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.runlog.logs import event_file, read
from tests.runlog.peers import tensorboard_events
from torch_debugger.records import Scalars
from torch_debugger.runlog.frames import unframe

WRITES_UNTIL_KILLED = """
import sys, numpy
from torch_debugger.records import Notice, Scalars, Table, TensorRows
from torch_debugger.runlog.writer import LogWriter

log = LogWriter(sys.argv[1], on_fault=print)
table = Table("activation", "net", tuple(map(str, range(64))), tuple("abcdefgh"))
step = 0
while True:
    for _ in range(300):
        log.add(Scalars(step, float(step), {"loss": float(step), "lr/0": 0.1}))
        log.add(TensorRows(step, table, numpy.full((64, 8), step, "float32")))
        step += 1
    log.add(Notice("so far", step))
    log.flush()
    print(step, flush=True)
"""

WRITES_AND_LEAVES = """
import atexit, os, sys
from torch_debugger.records import Scalars
from torch_debugger.runlog.writer import LogWriter

log = LogWriter(sys.argv[1], on_fault=print)
{prepare}
for step in range(20_000):
    log.add(Scalars(step, 0.0, {{"loss": float(step)}}))
{leave}
"""


def start(code: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True)


def steps_read(folder: Path) -> list[int]:
    return [record.step for record in read(folder) if isinstance(record, Scalars)]


@pytest.mark.parametrize("attempt", range(20))
def test_kill_at_a_random_moment(tmp_path: Path, attempt: int) -> None:
    child = start(WRITES_UNTIL_KILLED, tmp_path)
    assert child.stdout is not None
    flushed = int(child.stdout.readline())
    time.sleep(random.uniform(0, 0.1))
    child.kill()
    last_line = [flushed, *map(int, child.stdout.read().split())][-1]
    child.wait()
    child.stdout.close()

    steps = steps_read(tmp_path)

    assert steps == list(range(len(steps)))
    assert len(steps) >= last_line
    whole_events = unframe(event_file(tmp_path).read_bytes()).payloads
    assert len(tensorboard_events(event_file(tmp_path))) == len(whole_events)


@pytest.mark.parametrize(
    ("prepare", "leave"),
    [
        ("", "log.flush(); os._exit(0)"),
        ("", "log.close()"),
        ("atexit.register(log.close)", "sys.exit(0)"),
        ("atexit.register(log.close)", "raise SystemExit(0)"),
    ],
)
def test_a_last_flush_or_close_loses_nothing(tmp_path: Path, prepare: str, leave: str) -> None:
    child = start(WRITES_AND_LEAVES.format(prepare=prepare, leave=leave), tmp_path)
    said, _ = child.communicate(timeout=60)

    assert (child.returncode, said) == (0, "")
    assert steps_read(tmp_path) == list(range(20_000))
