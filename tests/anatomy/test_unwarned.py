"""What is run for our own sake is silent, and no warning of the script's is shown more or less often for it."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

from torch_debugger.model.forks import unwarned

SCRIPT = """
import warnings
import torch
from torch import nn
from torch_debugger.model.forks import ForkedTask
from torch_debugger.model.reruns import leaving_no_trace

class Noisy(nn.Module):
    def forward(self, x):
        warnings.warn("in forward")
        return x.T

net = Noisy()
for step in range(4):
    warnings.warn("in the loop")
    if step == 2:
        warnings.warn("once more", FutureWarning)
    net(torch.ones(2, 3, 4))
    if {looks}:
        with leaving_no_trace(net):
            net(torch.ones(2, 3, 4))
            warnings.warn("never shown")
        ForkedTask(lambda: "", 5.0).wait()
"""


def shown(tmp_path: Path, looks: bool) -> list[str]:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(looks=looks))
    root = str(Path(__file__).parents[2])
    environment = {"PYTHONPATH": root, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root, env=environment)
    return [line.split(":", 2)[2] for line in done.stderr.splitlines() if line.startswith(str(script))]


def test_each_warning_is_shown_as_often_as_without_us(tmp_path: Path) -> None:
    plain = shown(tmp_path, looks=False)
    assert len(plain) == 4 and shown(tmp_path, looks=True) == plain


def test_what_was_forgotten_by_the_script_itself_stays_forgotten() -> None:
    def warn() -> None:
        warnings.warn("again", stacklevel=1)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        warn()
        with unwarned():
            warn()
        warn()
        assert len(caught) == 1
        warnings.simplefilter("default")  # the script changes its filters: Python begins anew
        with unwarned():
            pass
        warn()
    assert len(caught) == 2
