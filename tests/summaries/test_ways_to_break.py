"""What a script may do to a writer besides logging: threads, late calls, odd arguments, secrets."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests import preloaded
from tests.summaries.peers import accumulated
from tests.summaries.test_lifecycle import steps
from torch_debugger import SummaryWriter
from torch_debugger.log import writer as waiting
from torch_debugger.log.event_files import LogFile


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", stream)
    return stream


@pytest.fixture
def held_disk(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Nothing is written before this is set, and nobody but the thread of the log waits for it."""
    may_go, writing = threading.Event(), LogFile.write

    def held(file: LogFile, data: memoryview) -> int:
        assert threading.current_thread() is not threading.main_thread()
        may_go.wait(300)
        return writing(file, data)

    monkeypatch.setattr(LogFile, "write", held)
    return may_go


def test_threads_that_log_while_others_close_lose_nothing(tmp_path: Path, said: io.StringIO) -> None:
    writer, count = SummaryWriter(tmp_path), 3000
    one = torch.tensor(1.0)

    def add_many(tag: str, value: Any) -> None:
        for step in range(count):
            writer.add_scalar(tag, value, step)

    threads = [threading.Thread(target=add_many, args=each) for each in (("plain", 1.0), ("tensor", one))]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        writer.close()
    writer.close()

    assert sorted(steps(tmp_path, "plain")) == sorted(steps(tmp_path, "tensor")) == list(range(count))
    assert said.getvalue() == ""


def test_a_number_that_is_waited_for_while_the_writer_closes_is_written(tmp_path: Path) -> None:
    writer, closed, asked = SummaryWriter(tmp_path), threading.Event(), threading.Event()

    class Slow:
        def item(self) -> float:
            asked.set()
            closed.wait(300)
            return 7.0

    thread = threading.Thread(target=lambda: writer.add_scalar("slow", Slow(), 1))
    thread.start()
    asked.wait(300)
    writer.close()
    closed.set()
    thread.join()
    writer.close()

    assert steps(tmp_path, "slow") == [1]


def test_every_point_with_a_time_of_its_own_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held_disk: threading.Event
) -> None:
    """Also while they wait for a disk, more of them than records may."""
    monkeypatch.setattr(waiting, "_MOST_RECORDS", 100)
    monkeypatch.setattr(waiting, "_MOST_POINTS", 2_500)
    times = [1e9 + step / 1000 for step in range(10_000)]
    with SummaryWriter(tmp_path) as writer:
        for step, when in enumerate(times):
            writer.add_scalar("loss", 0.5, step, walltime=when)
        held_disk.set()

    assert [point.wall_time for point in accumulated(tmp_path).Scalars("loss")] == times


def test_a_thread_that_outlives_the_target_of_its_process_can_still_log(tmp_path: Path) -> None:
    """In a process that was forked, which ends without the handlers of atexit, and in one that was spawned."""
    script = tmp_path / "train.py"
    script.write_text(
        "import threading, time, multiprocessing\nfrom torch_debugger import SummaryWriter\n"
        "def log(writer):\n    for step in range(10):\n"
        "        writer.add_scalar('loss', 0.5, step)\n        time.sleep(0.02)\n"
        "def child(method):\n    threading.Thread(target=log, args=(SummaryWriter(method),)).start()\n"
        "if __name__ == '__main__':\n"
        "    for method in ('fork', 'spawn'):\n"
        "        process = multiprocessing.get_context(method).Process(target=child, args=(method,))\n"
        "        process.start()\n        process.join()\n",
    )
    done = preloaded.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=300)

    assert (done.returncode, done.stderr) == (0, "")
    assert steps(tmp_path / "fork", "loss") == list(range(10))
    assert steps(tmp_path / "spawn", "loss") == list(range(10))


ODD_OPTIONS: list[dict[str, Any]] = [
    {"purge_step": np.int64(5)},
    {"purge_step": 3.0},
    {"purge_step": torch.tensor(3)},
    {"filename_suffix": None},
    {"flush_secs": None},
    {"flush_secs": "often"},
]


@pytest.mark.parametrize("options", ODD_OPTIONS)
def test_odd_options_do_no_harm(tmp_path: Path, said: io.StringIO, options: dict[str, Any]) -> None:
    with SummaryWriter(tmp_path, **options) as writer:
        writer.add_scalar("loss", 1.0, 7)

    assert (steps(tmp_path, "loss"), said.getvalue()) == ([7], "")


@pytest.mark.parametrize("step", [2**70, "soon"])
def test_a_restart_at_no_step_takes_back_nothing_and_says_so(tmp_path: Path, said: io.StringIO, step: Any) -> None:
    with SummaryWriter(tmp_path, purge_step=step) as writer:
        writer.add_scalar("loss", 1.0, 7)

    assert steps(tmp_path, "loss") == [7]
    expected = f"takes back nothing: expected a step as purge_step, got {step!r} ("
    assert expected in said.getvalue()


@pytest.mark.parametrize("place", ["a\0b", "ftp://127.0.0.1:9/x", "nosuch://x/y"])
def test_a_place_that_is_none_is_said_and_the_training_goes_on(place: str, said: io.StringIO) -> None:
    with SummaryWriter(place) as writer:
        writer.add_scalar("loss", 1.0, 1)

    assert said.getvalue().startswith("torch-debugger: SummaryWriter keeps nothing: a log in ")
    assert said.getvalue().count("\n") == 1


def test_a_complaint_needs_no_working_folder_and_no_text(
    tmp_path: Path, said: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    class Value:
        def __float__(self) -> float:
            raise Mute

    def gone() -> str:
        raise FileNotFoundError

    with SummaryWriter(tmp_path) as writer:
        monkeypatch.setattr(os, "getcwd", gone)
        writer.add_scalar("loss", Value(), 1)

    assert said.getvalue().endswith("wrote nothing: Mute. The training goes on.\n")


def test_a_slow_disk_slows_no_first_call(tmp_path: Path, held_disk: threading.Event) -> None:
    writer = SummaryWriter(tmp_path)
    writer.add_scalars("both", {"a": 1.0, "b": 2.0}, 1)
    writer.add_hparams({"lr": 0.1}, {"accuracy": 1.0}, run_name="trial")
    held_disk.set()
    writer.close()

    assert accumulated(tmp_path / "trial").Scalars("accuracy")[0].value == 1.0


def test_secrets_are_not_written(tmp_path: Path) -> None:
    token = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz"
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "hf_token": token, "password": "hunter2"}, {"acc": 1.0}, run_name="t")
        writer.add_text("config", f"Namespace(lr=0.1, hf_token='{token}', password='hunter2')")

    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*tfevents*"))
    assert b"lr" in written
    assert token.encode() not in written
    assert b"hunter2" not in written
