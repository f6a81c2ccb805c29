"""`--to`: a run is shown elsewhere as well, and whatever becomes of that, the script does not feel it."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests import preloaded
from tests.cli.conftest import FRESH_QUICK, LIMIT_S, QUICK, STAND, Done, Write, run_quick

IMPATIENT = [sys.executable, str(STAND / "impatient.py")]
# It ends when the tracker has begun, so that what is tested is the tracker and not how fast python starts.
SCRIPT = """
import os, sys, time, training
for n in range(20):
    training.step(200.0)
deadline = time.monotonic() + 30
while not os.path.exists("tracker.pids") and time.monotonic() < deadline:
    time.sleep(0.02)
print("trained")
sys.exit(7)
"""
FAILED = r"Trackio failed \(ConnectionError: no route to the tracker\)\. It is tried again; the run goes on\."
TOO_SLOW = r"Trackio was too slow: it had step \d+ of 20 when it was left, 1 s after the end\."
DIED = r"Trackio does not have all of the run: what carries it there ended with -9\."
ENDLESS = ("hanging", "stopped", "slow", "never finished")
TRACKIO = """
import json, os, signal, subprocess, sys, time

mode = os.environ["TRACKER"]
with open("tracker.pids", "w") as file:
    print(os.getpid(), file=file)
print("Welcome to the tracker", flush=True)
print("and to its warnings", file=sys.stderr, flush=True)

def Table(columns, data):
    return {"columns": columns, "data": data}

Markdown = str

def init(project, name, embed):
    if mode == "raising":
        raise ConnectionError("no route to the tracker")
    if mode == "hanging":
        sleeper = subprocess.Popen(["sleep", "1000"])
        with open("tracker.pids", "a") as file:
            print(sleeper.pid, file=file)
        time.sleep(1000)
    if mode == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    if mode == "dying":
        os.kill(os.getpid(), signal.SIGKILL)
    return Run(project, name)

class Run:
    def __init__(self, project, name):
        self.config = {"project": project, "name": name}

    def log(self, values, step=None):
        if mode == "slow":
            time.sleep(1)
        with open("tracked.jsonl", "a") as file:
            print(json.dumps({"step": step, **values}), file=file)

    def finish(self):
        if mode == "never finished":
            time.sleep(1000)
        with open("config.json", "w") as file:
            json.dump(self.config, file)
"""


@pytest.fixture(autouse=True)
def trackio(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(TRACKIO, "libraries/trackio.py")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "libraries"), os.environ["PYTHONPATH"]]))


def run_tracked(mode: str, *words: str) -> Done:
    command = [*(IMPATIENT if mode in ENDLESS else QUICK), "run", "--to", "trackio", *words]
    return preloaded.run(
        command, capture_output=True, text=True, timeout=LIMIT_S, env=os.environ | {"TRACKER": mode}, check=False
    )


def tracked() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("tracked.jsonl").read_text().splitlines()]


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def require_nothing_left() -> None:
    for pid in map(int, Path("tracker.pids").read_text().split()):
        deadline = time.monotonic() + LIMIT_S
        while is_running(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not is_running(pid)


@pytest.mark.parametrize("how", [(), ("--no-log",), ("--in-process",), ("--in-process", "--no-log")])
def test_a_run_goes_to_the_tracker_as_well(how: tuple[str, ...], write: Write) -> None:
    write(SCRIPT)
    done = run_tracked("good", *how, "train.py")
    assert (done.returncode, done.stdout) == (7, "trained\n")
    assert "torch-debugger: Trackio has the run: project torch-debugger (trackio show" in done.stderr
    assert "Welcome" not in done.stderr and "warnings" not in done.stderr
    assert [row["step"] for row in tracked() if "loss" in row] == list(range(1, 21))
    assert tracked()[-2]["findings"]["data"][0][2] == "loss-too-large"
    assert "loss-too-large" in tracked()[-1]["report"]
    assert json.loads(Path("config.json").read_text())["name"] == "train (torch-debugger)"
    assert Path("runs").exists() == ("--no-log" not in how)
    require_nothing_left()


@pytest.mark.parametrize(
    ("mode", "sentence"), [("raising", FAILED), ("dying", DIED), *((mode, TOO_SLOW) for mode in ENDLESS)]
)
def test_a_bad_tracker_costs_some_sentences_and_nothing_else(mode: str, sentence: str, write: Write) -> None:
    write(SCRIPT)
    done = run_tracked(mode, "--no-log", "train.py")
    assert (done.returncode, done.stdout) == (7, "trained\n")
    assert len(re.findall(f"^torch-debugger: {sentence}$", done.stderr, re.MULTILINE)) == 1, done.stderr
    assert sum("Trackio" in line for line in done.stderr.splitlines()) <= 3
    assert "error: loss-too-large" in done.stderr and "Traceback" not in done.stderr
    require_nothing_left()


def test_the_report_is_there_before_a_tracker_is_waited_for(write: Write) -> None:
    write(SCRIPT)
    said = run_tracked("hanging", "--no-log", "train.py").stderr
    assert said.index("error: loss-too-large") < said.index("waiting for Trackio")


def test_a_parent_that_is_killed_leaves_no_courier_behind(write: Write) -> None:
    write("import training\ntraining.step(0.5)\ntraining.flush()\ntraining.wait_for('nothing left')")
    environment = os.environ | {"TRACKER": "good"}
    # A fork of a fork would have the pipe in hand whose end tells the courier that it is alone.
    with preloaded.Popen([*FRESH_QUICK, "run", "--to", "trackio", "train.py"], env=environment) as parent:
        deadline = time.monotonic() + LIMIT_S
        while not Path("tracked.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        parent.send_signal(signal.SIGKILL)
    require_nothing_left()
    Path("nothing left").touch()
    assert "Nobody was left to judge this run" in tracked()[-1]["report"]


def test_two_trackers_at_once_and_a_project_of_one_s_own(write: Write) -> None:
    write(SCRIPT)
    done = run_tracked("good", "--to", "trackio:mine", "--quiet", "train.py")
    assert done.stderr.count("Trackio has the run") == 2 and "--project mine" in done.stderr


@pytest.mark.parametrize("word", ["tracker", "wb:project", ""])
def test_an_unknown_tracker_is_refused_before_the_script_starts(word: str, write: Write) -> None:
    write("print('started')")
    done = run_quick("--to", word, "train.py")
    name = word.partition(":")[0]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"torch-debugger: No tracker is called {name!r}. There are wandb, mlflow, trackio.\n")
