"""The log of a real training: below its limit, whole where the script is killed, of one run alone."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests import preloaded
from tests.cli.conftest import DEBUGGER, LIMIT_S, Write, debugger
from torch_debugger.log.reader_records import read_log
from torch_debugger.records import EndFact, Record, RunFact, Scalars

pytestmark = pytest.mark.usefixtures("with_torch")

TRAINING = """
    import os, signal, sys, torch
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.randn(8, 4)
    for step in range(1, int(sys.argv[1]) + 1):
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
KILLED = TRAINING + "    os.kill(os.getpid(), signal.SIGKILL)\n"


def losses(folder: str) -> dict[int, float]:
    return {r.step: r.values["loss"] for r in read(folder) if isinstance(r, Scalars) and "loss" in r.values}


def read(folder: str) -> list[Record]:
    return list(read_log(folder))


def test_all_that_is_written_stays_below_the_limit(write: Write) -> None:
    write(TRAINING)
    done = debugger("run", "--log-dir", "log", "--log-limit", "100kB", "train.py", "2000")
    assert done.returncode == 0, done.stderr
    assert sum(path.stat().st_size for path in Path("log").iterdir()) <= 100_000
    steps = list(losses("log"))
    assert steps == sorted(steps)
    assert steps[:10] == list(range(1, 11)) and steps[-1] == 2000
    assert len([step for step in steps if step > 1000]) >= 5
    assert isinstance(read("log")[-1], EndFact)
    (notice,) = json.loads(Path("log/result.json").read_text())["notices"]
    assert "--log-limit" in json.dumps(notice)
    assert "To stay below its limit of" in " ".join(done.stderr.split())


@pytest.mark.parametrize("steps", [1, 3, 50, 2500])
def test_a_killed_run_has_every_step_in_its_log(steps: int, write: Write) -> None:
    """Also those that the child had not yet written, and where it had written nothing."""
    write(KILLED)
    done = debugger("run", "--log-dir", "log", "train.py", str(steps))
    assert done.returncode == -signal.SIGKILL
    assert list(losses("log")) == list(range(1, steps + 1))
    result = json.loads(Path("log/result.json").read_text())
    assert (result["steps"], result["exit_code"]) == (steps, 137)


def test_the_log_of_a_killed_run_stays_below_its_limit(write: Write) -> None:
    write(KILLED)
    debugger("run", "--log-dir", "log", "--log-limit", "100kB", "train.py", "1500")
    assert sum(path.stat().st_size for path in Path("log").iterdir()) <= 100_000
    assert list(losses("log"))[-1] == 1500


def test_of_two_runs_that_begin_at_the_same_moment_one_has_the_folder(write: Write) -> None:
    write(TRAINING)
    command = [*DEBUGGER, "run", "--log-dir", "log", "train.py", "5"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    runs = [preloaded.Popen(command, **quiet) for _ in range(4)]
    said = [run.communicate(timeout=LIMIT_S)[1] for run in runs]
    assert sorted(run.returncode for run in runs) == [0, 2, 2, 2], said
    assert sum("already holds the log of another run" in each for each in said) == 3
    (fact,) = [record for record in read("log") if isinstance(record, RunFact)]
    assert fact.pid not in {run.pid for run in runs}
    assert list(losses("log")) == [1, 2, 3, 4, 5]
