"""A writer that dies without a word: what it had flushed can be read, by us and by TensorBoard."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests import preloaded
from tests.runlog.logs import event_file, read
from tests.runlog.peers import tensorboard_events
from torch_debugger.log.tfrecord import unframe
from torch_debugger.records import Scalars

WRITES_UNTIL_KILLED = """
import sys, numpy
from torch_debugger.records import Notice, Scalars, Table, TensorRows
from torch_debugger.log.writer import LogWriter

log = LogWriter(sys.argv[1], on_fault=print)
table = Table("activation", "net", tuple(map(str, range(16))), tuple("abcdefgh"))
step = 0
while True:
    for _ in range(50):
        log.add(Scalars(step, float(step), {"loss": float(step), "lr/0": 0.1}))
        log.add(TensorRows(step, table, numpy.full((16, 8), step, "float32")))
        step += 1
    log.add(Notice("so far", step))
    log.flush()
    print(step, flush=True)
"""

WRITES_AND_LEAVES = """
import atexit, os, sys
from torch_debugger.records import Scalars
from torch_debugger.log.writer import LogWriter

log = LogWriter(sys.argv[1], on_fault=print)
{prepare}
for step in range(5000):
    log.add(Scalars(step, 0.0, {{"loss": float(step)}}))
{leave}
"""


def start(code: str, folder: Path) -> subprocess.Popen[str]:
    return preloaded.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True)


def steps_read(folder: Path) -> list[int]:
    return [record.step for record in read(folder) if isinstance(record, Scalars)]


def test_kill_at_any_moment(tmp_path: Path) -> None:
    """The writer goes on while we read what it says: where in its work the signal meets it, nobody knows."""
    for attempt in range(8):
        folder = tmp_path / str(attempt)
        child = start(WRITES_UNTIL_KILLED, folder)
        assert child.stdout is not None
        flushed = [int(child.stdout.readline()) for _ in range(1 + attempt)]
        child.kill()
        last_line = [*flushed, *map(int, child.stdout.read().split())][-1]
        assert child.wait() == -signal.SIGKILL
        child.stdout.close()

        steps = steps_read(folder)

        assert steps == list(range(len(steps)))
        assert len(steps) >= last_line
        whole_events = unframe(event_file(folder).read_bytes())
        assert len(tensorboard_events(event_file(folder))) == len(whole_events)


LEAVINGS = [
    ("", "log.flush(); os._exit(0)"),
    ("", "log.close()"),
    ("atexit.register(log.close)", "sys.exit(0)"),
    ("atexit.register(log.close)", "raise SystemExit(0)"),
]


def test_a_last_flush_or_close_loses_nothing(tmp_path: Path) -> None:
    children = []
    for place, (prepare, leave) in enumerate(LEAVINGS):  # real interpreters: how they end is the point
        code = WRITES_AND_LEAVES.format(prepare=prepare, leave=leave)
        command = [sys.executable, "-c", code, str(tmp_path / str(place))]
        children.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    for place, child in enumerate(children):
        said, _ = child.communicate(timeout=300)
        assert (LEAVINGS[place], child.returncode, said) == (LEAVINGS[place], 0, "")
        assert steps_read(tmp_path / str(place)) == list(range(5000))
