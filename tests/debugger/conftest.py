"""Every test here also asserts that a closed debugger has left nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from tests import preloaded
from torch_debugger.runner import plumbing

LIMIT_S = 300  # only a hang takes this long

Done = subprocess.CompletedProcess[str]
RunScript = Callable[..., Done]


def things_we_touch() -> dict[str, Any]:
    """Everything the probes replace or add to, as it stands now."""
    return {
        "sys.excepthook": sys.excepthook,
        "threading.excepthook": threading.excepthook,
        "sys.meta_path": list(sys.meta_path),
        "torch.compile": torch.compile,
        "torch.autograd.backward": torch.autograd.backward,
        "saved_tensors_hooks": vars(torch.autograd.graph.saved_tensors_hooks)["__enter__"],
        "Optimizer.__init__": torch.optim.Optimizer.__init__,
        "LRScheduler.__init__": LRScheduler.__init__,
        "DataLoader.__iter__": DataLoader.__iter__,
        "loader's __next__": _BaseDataLoaderIter.__next__,
        "GradScaler.step": torch.amp.GradScaler.step,
        "module hooks": dict(module_hooks._global_forward_hooks),
        "module pre-hooks": dict(module_hooks._global_forward_pre_hooks),
        "optimizer hooks": dict(optimizer_hooks._global_optimizer_post_hooks),
        "optimizer pre-hooks": dict(optimizer_hooks._global_optimizer_pre_hooks),
        "classes with gates": [kind for kind in classes(nn.Module) if "_compiled_call_impl" in vars(kind)],
        "plumbing": plumbing._current,
    }


def classes(kind: type) -> list[type]:
    return [kind, *(each for child in kind.__subclasses__() for each in classes(child))]


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    torch.manual_seed(0)
    before, threads = things_we_touch(), threading.enumerate()
    yield
    after = things_we_touch()
    if plumbing._current is not None:  # a test that failed halfway must not fail the others too
        plumbing._current.watchers = 1
        plumbing._current.disconnect([], "finished")
    assert after == before
    # Those of libraries that an earlier test has used may end meanwhile.
    assert [thread.name for thread in threading.enumerate() if thread not in threads] == []


@pytest.fixture
def run_script(tmp_path: Path) -> RunScript:
    """Runs a script with plain python, or under `torch-debugger run` with these options."""

    def run(source: str, *command: str, **environment: str) -> Done:
        (tmp_path / "script.py").write_text(textwrap.dedent(source), encoding="utf-8")
        return preloaded.run(
            [sys.executable, *command, "script.py"],
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "80", **environment},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    return run
