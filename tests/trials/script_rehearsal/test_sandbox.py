"""What a sealed fork can and cannot do."""

from __future__ import annotations

import json
import mmap
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from torch_debugger.model.forks import ForkedTask, can_be_refused, seal
from torch_debugger.trials.script_rehearsal import first_batch

pytestmark = pytest.mark.skipif(not can_be_refused(), reason="forks are sealed on Linux, on x86_64 and ARM")


def outcome(act: Callable[[], Any]) -> str:
    try:
        act()
    except BaseException as error:
        return type(error).__name__
    return "done"


def test_a_sealed_fork_reads_and_computes_and_changes_nothing_outside(tmp_path: Path) -> None:
    kept = tmp_path / "kept.pt"
    kept.write_text("kept")
    shared = mmap.mmap(-1, 4096)
    acts: dict[str, Callable[[], Any]] = {
        "read": kept.read_text,
        "thread": lambda: threading.Thread(target=int).start(),
        "write to shared memory": lambda: shared.__setitem__(slice(0, 4), b"mine"),
        "open for writing": lambda: kept.open("w"),
        "open in C": lambda: torch._C.PyTorchFileWriter(str(kept)),  # type: ignore[call-arg]
        "remove": kept.unlink,
        "fork": os.fork,
        "kill": lambda: os.kill(os.getppid(), signal.SIGTERM),
        "take the alarm": lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN),
        "put off the alarm": lambda: signal.setitimer(signal.ITIMER_REAL, 0),
        "take much memory": lambda: mmap.mmap(-1, 16 << 30),
    }

    def try_all() -> str:
        seal()
        return json.dumps({name: outcome(act) for name, act in acts.items()})

    told = json.loads(ForkedTask(try_all, 20.0).wait())
    done = {name for name, each in told.items() if each == "done"}
    assert done == {"read", "thread", "write to shared memory"}
    assert kept.read_text() == "kept"
    assert shared[:4] == b"\0" * 4


def test_a_batch_is_fetched_without_workers_and_without_a_random_number() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(6.0))
    loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2)
    before = torch.get_rng_state()
    assert first_batch(loader)[0].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert torch.equal(torch.get_rng_state(), before)
    assert getattr(loader, "_iterator", None) is None
