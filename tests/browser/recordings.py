"""Runs made by real training under `torch-debugger run`, once for all workers, and a server that shows them."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import preloaded
from torch_debugger.checks.catalog import catalog, family
from torch_debugger.viewer.server import make_page_server

HEALTHY = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(0)
images = torch.randn(256, 1, 12, 12)
labels = (images.mean(dim=(1, 2, 3)) > 0).long()
loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(),
    nn.Linear(800, 32), nn.ReLU(), nn.Linear(32, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
writer = SummaryWriter("board")
step = 0
for epoch in range(12):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("loss/train", loss.item(), step)
        writer.add_scalar("time/epoch", epoch, step)
        step += 1
    writer.add_image("filters/first", model[0].weight[0].detach().clamp(0, 1), step)
    writer.add_histogram("weights/last", model[-1].weight, step)
writer.add_text("notes", "a *healthy* run", 0)
writer.close()
"""

BROKEN = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(120):
    x = torch.randn(32, 20)
    y = (x.sum(dim=1) > 0).long()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""

NAN = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(80):
    x = torch.randn(32, 20)
    out = model(x)
    scale = 1.0 if step < 40 else 0.0
    loss = (out / scale).pow(2).mean().sqrt() if step >= 40 else out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

_NOT_JUDGED = [f"--ignore={check.name}" for check in catalog() if family(check) == "speed"]
SCRIPTS = {"healthy": HEALTHY, "broken": BROKEN, "nan": NAN}


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one run each, by the names in SCRIPTS."""

    def make(folder: Path) -> None:
        for name, script in SCRIPTS.items():
            record(folder, name, script)

    return made_once(tmp_path_factory, "recordings", make) / "runs"


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """What `make` puts into a folder: made by the first worker that needs it, a copy for each."""
    shared = factory.getbasetemp()
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
        kept, begun = shared / f"{name}.made", shared / f"{name}.begun"
        if not kept.exists():
            shutil.rmtree(begun, ignore_errors=True)
            begun.mkdir()
            make(begun)
            begun.rename(kept)
        return shutil.copytree(kept, factory.mktemp(name) / name)


def record(folder: Path, name: str, script: str, *arguments: str, file: str = "", **environment: str) -> None:
    """The script in the folder, and its run as runs/NAME."""
    file = file or f"{name}.py"
    (folder / file).write_text(script)
    # The same at every pace of the machine: a busy one does not use up this share of the time for watching, and
    # what is slow because of it is no finding.
    options = ["--budget", "100%", *_NOT_JUDGED, "--log-dir", f"runs/{name}"]
    command = [sys.executable, "-m", "torch_debugger", "run", *options, file, *arguments]
    done = preloaded.run(
        command, capture_output=True, text=True, cwd=folder, env={**os.environ, **environment}, timeout=600
    )
    assert (folder / "runs" / name / "result.json").exists(), done.stderr


@pytest.fixture(scope="session")
def served(recordings: Path) -> Iterator[str]:
    """The address of a page that shows the recordings."""
    with serving(recordings) as address:
        yield address


@contextmanager
def serving(folder: Path, port: int = 0, **options: Any) -> Iterator[str]:
    """A page that shows the runs of a folder, for as long as the block lasts."""
    with serving_folders({"": str(folder)}, port=port, **options) as address:
        yield address


@contextmanager
def serving_folders(folders: dict[str, str], **options: Any) -> Iterator[str]:
    server = make_page_server(folders, **options)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)  # seconds until it ends
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
