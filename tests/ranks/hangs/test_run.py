"""Hangs under `torch-debugger run`: what is said, how it ends, and what must be met with silence."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import preloaded
from torch_debugger.cli import main

TRAINING = """
import os, threading, time, torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
def wait_until_told():
    event = threading.Event()
    threading.Thread(target=lambda: (open("told").read(), event.set()), daemon=True).start()
    event.wait()
train(10)
open("begun", "w").close()
"""
# Those that are to be met with silence stand until the one that hangs is told of, and longer.
HANGS = "wait_until_told()\ntrain(10)\n"
ABORTED = (
    "import subprocess\nhelper = subprocess.Popen(['sleep', '600'])\nlock = threading.Lock()\n"
    "lock.acquire()\nlock.acquire()\n"
)
OWN_WATCHDOG = "import torch_debugger\nwith torch_debugger.Watchdog(timeout=60):\n    wait_until_told()\n"
STOPPED = "while not os.path.exists('enough'):\n    train(3)\n    time.sleep(0.05)\n"
# The same process, another program
OTHER_PROGRAM = "import sys\nos.execv(sys.executable, [sys.executable, '-c', 'open(\"told\").read()'])\n"
# Its files get the numbers of ours, and it waits with Python's lock held, so that it must be asked from outside
CLOSES_ALL = """
import ctypes
os.closerange(3, 65536)
own = [open(f"own{number}.txt", "w") for number in range(300)]
for file in own:
    print("mine", file=file, flush=True)
ctypes.PyDLL(None).open(b"told", os.O_RDONLY)
train(3)
"""
SPAWNED_WORKER = """
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        if index == 4:
            open("waits", "w").close()
            open("told").read()
        return torch.zeros(4)
if __name__ == "__main__":
    for rows in torch.utils.data.DataLoader(Data(), 2, num_workers=1, multiprocessing_context="spawn"):
        optimizer.zero_grad()
        model(rows).pow(2).mean().backward()
        optimizer.step()
"""
LIMIT_S = 150
LONGER_S = 3.0


class Run:
    """One run in a folder of its own, begun at once; `stdin` stays open until the end."""

    def __init__(self, folder: Path, lines: str, *options: str) -> None:
        folder.mkdir()
        os.mkfifo(folder / "told")
        (folder / "train.py").write_text(TRAINING + lines)
        ours = ["--hang-timeout", "2", "--json", "out.json", "--log-dir", "log", *options]
        self.folder = folder
        with open(folder / "stderr", "w") as stderr:
            self.process = preloaded.Popen(
                [sys.executable, "-m", "torch_debugger", "run", *ours, "train.py"],
                cwd=folder,
                env=os.environ | {"OMP_NUM_THREADS": "1"} | preloaded.spawns_in_forks,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "out.json").read_text())
        return found

    def has_begun(self) -> bool:
        """Its training has made its steps, and the lines behind it run."""
        return (self.folder / "begun").exists()

    def is_told(self) -> bool:
        """Whether it waits at the other end of the pipe, and goes on now."""
        try:
            os.close(os.open(self.folder / "told", os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return False
        return True

    @property
    def loud(self) -> list[str]:
        return [finding["message"] for finding in self.result["findings"] if finding["severity"] != "note"]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Run]]:
    """All at once, to their ends: what they need is time to stand still, not the processor."""
    folder = tmp_path_factory.mktemp("hangs")
    runs = {
        "aborted": Run(folder / "aborted", ABORTED, "--on-hang", "abort"),
        "hangs": Run(folder / "hangs", HANGS),
        "off": Run(folder / "off", HANGS, "--no-watchdog"),
        "own": Run(folder / "own", OWN_WATCHDOG),
        "debugger": Run(folder / "debugger", "breakpoint()\ntrain(3)\n"),
        "asks": Run(folder / "asks", "input('on? ')\ntrain(3)\n"),
        "stopped": Run(folder / "stopped", STOPPED),
        "exec": Run(folder / "exec", OTHER_PROGRAM, "--on-hang", "abort"),
        "closes": Run(folder / "closes", CLOSES_ALL),
        "spawned": Run(folder / "spawned", SPAWNED_WORKER),
    }
    try:
        for run in runs.values():
            wait_until(run.has_begun)
        os.killpg(runs["stopped"].process.pid, signal.SIGSTOP)
        for name in ("hangs", "closes", "spawned"):
            wait_until(lambda name=name: "stood still for" in runs[name].stderr)  # type: ignore[misc]
        # On a busy machine the training is told of while its worker is still starting.
        wait_until((runs["spawned"].folder / "waits").exists)
        time.sleep(LONGER_S)
        os.killpg(runs["stopped"].process.pid, signal.SIGCONT)
        for name in ("hangs", "off", "own", "exec", "closes", "spawned"):
            wait_until(runs[name].is_told)
        (runs["stopped"].folder / "enough").touch()
        typed = {"debugger": "c\n", "asks": "y\n"}
        for name, run in runs.items():
            run.process.communicate(typed.get(name, ""), timeout=LIMIT_S)
        yield runs
    finally:
        for run in runs.values():
            run.process.kill()
            run.process.wait()


def test_abort_ends_everything_with_124_and_tells_it_everywhere(runs: dict[str, Run]) -> None:
    run = runs["aborted"]
    assert run.process.returncode == 124
    told = run.result
    assert (told["outcome"], told["exit_code"], told["steps"]) == ("hung", 124, 10)
    assert told["findings"][0]["name"] == "lock-never-released"
    (hang,) = told["hangs"]
    assert hang["kind"] == "lock" and hang["stacks"][0]["lines"][-1].endswith("lock.acquire()")
    assert "training (process" in run.stderr
    assert "stopped making progress with exit code 124" in run.stderr
    assert "Where everybody stood" in (run.folder / "log" / "report.md").read_text()
    assert not [each for each in psutil.process_iter(["cwd"]) if each.info["cwd"] == str(run.folder)]


def test_by_default_it_only_tells_and_what_goes_on_is_a_note(runs: dict[str, Run]) -> None:
    run = runs["hangs"]
    assert run.process.returncode == 0
    assert (run.result["outcome"], run.loud) == ("finished", [])
    assert "has stood still for" in run.stderr
    assert any("then went on by itself" in finding["message"] for finding in run.result["findings"])


def test_it_can_be_switched_off(runs: dict[str, Run]) -> None:
    assert runs["off"].result["findings"] == [] and "stood still" not in runs["off"].stderr


@pytest.mark.parametrize("name", ["debugger", "asks", "stopped", "own"])
def test_one_that_has_a_reason_to_stand_is_left_alone(name: str, runs: dict[str, Run]) -> None:
    """At a debugger's prompt, at a question, stopped as a job, or with a more patient watchdog of its own."""
    run = runs[name]
    assert (run.result["outcome"], run.loud) == ("finished", []) and "stood still" not in run.stderr


def test_a_program_that_took_the_scripts_place_by_exec_is_not_ours_to_judge(runs: dict[str, Run]) -> None:
    run = runs["exec"]
    assert run.process.returncode == 0 and run.loud == [] and "stood still" not in run.stderr


def test_a_script_that_closed_our_files_is_told_of_and_nothing_is_written_into_its_own(
    runs: dict[str, Run],
) -> None:
    run = runs["closes"]
    assert run.process.returncode == 0
    assert {file.read_text() for file in run.folder.glob("own*.txt")} == {"mine\n"}


def test_a_spawned_worker_is_told_of_and_goes_on(runs: dict[str, Run]) -> None:
    run = runs["spawned"]
    assert (run.process.returncode, run.result["steps"]) == (0, 14), run.stderr


def test_a_timeout_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").touch()
    for text in ("soon", "0", "-3"):
        assert main(["run", f"--hang-timeout={text}", "train.py"]) == 2
        said = capsys.readouterr().err
        assert "--hang-timeout takes a number of seconds, or a time such as 90s or 5m" in said
