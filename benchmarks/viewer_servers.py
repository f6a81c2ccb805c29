"""The two servers as users start them, the log that both show, and a run to write a report of."""

from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

from torch_debugger.log.writer import LogWriter
from torch_debugger.records import RunFact, Scalars

RUN = "million"
TAGS = [f"group{number // 10}/value{number % 10}" for number in range(100)]
TRAINING = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
images = torch.randn(2048, 3, 16, 16)
labels = (images.mean(dim=(1, 2, 3)) > 0).long()
loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.ReLU(),
    nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 2),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(5):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


class Server:
    """Started now; `started` is when, in seconds since the epoch, and `address` where it answers."""

    def __init__(self, folder: Path, *command: str) -> None:
        self._said = folder / f"{command[1]}.txt"
        self.started = time.time()
        with self._said.open("w") as file:
            self._process = subprocess.Popen([sys.executable, *command], stdout=file, stderr=file)
        while (found := re.search(r"http://127\.0\.0\.1:\d+/\S*", self._said.read_text())) is None:
            if self._process.poll() is not None:
                raise RuntimeError(self._said.read_text())
            time.sleep(0.02)
        self.address = found[0]

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(30)


def start_ours(folder: Path, logs: Path) -> Server:
    return Server(folder, "-m", "torch_debugger", "view", str(logs), "--no-open")


def start_tensorboard(folder: Path, logs: Path) -> Server:
    options = ["--logdir", str(logs), "--port", "0", "--host", "127.0.0.1", "--load_fast", "auto"]
    return Server(folder, "-m", "tensorboard.main", *options)


def data_server() -> str:
    """What reads the log in TensorBoard here."""
    import tensorboard
    import tensorboard_data_server

    binary = tensorboard_data_server.server_binary()
    reader = "its Rust data server" if binary else f"its Python reader (no data server for {os.uname().machine})"
    return f"TensorBoard {tensorboard.__version__} with {reader}"


def wait_until_read(board: Server, steps: int) -> float:
    """Seconds from the command until TensorBoard has the last step."""
    asked = urllib.parse.urlencode({"run": RUN, "tag": TAGS[-1]})
    while True:
        try:
            with urllib.request.urlopen(f"{board.address}data/plugin/scalars/scalars?{asked}") as answer:
                if json.load(answer)[-1][1] == steps - 1:
                    return time.time() - board.started
        except (OSError, ValueError, IndexError):  # it does not know the run yet
            pass
        time.sleep(1.0)


def write_log(folder: Path, steps: int) -> None:
    draw = random.Random(0)
    writer = new_writer(folder)
    for step in range(steps):
        values = {tag: math.exp(-3 * step / steps) + 0.2 * draw.random() for tag in TAGS}
        writer.add(Scalars(step, time.time(), values))
        if step % 200 == 199:
            time.sleep(0.02)  # its queue is not to run over
    writer.close()


def new_writer(folder: Path) -> LogWriter:
    writer = LogWriter(folder, on_fault=print)
    writer.add(RunFact("train.py", (), "", os.getpid(), time.time(), "3", "2", "cpu", "0", 0.02, False))
    return writer


def record_training(folder: Path) -> Path:
    """A run of 320 steps of a small convolutional network, as `torch-debugger run` records it."""
    (folder / "train.py").write_text(TRAINING)
    command = [sys.executable, "-m", "torch_debugger", "run", "--quiet", "--log-dir", "trained", "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "trained"
