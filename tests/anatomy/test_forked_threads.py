"""Layers run in a fork, though the process has used the threads of its pools before."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn

from torch_debugger.model.forks import ForkedTask

LAYERS = {
    "linear": (nn.Linear(300, 300), torch.randn(300, 300)),
    "convolution": (nn.Conv2d(3, 6, 5), torch.randn(2, 3, 16, 16)),
    "lstm": (nn.LSTM(5, 6), torch.randn(7, 2, 5)),
}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_does_not_wait_for_threads_that_a_fork_has_not(name: str) -> None:
    """On ARM oneDNN's kernels did, until the time was over."""
    layer, given = LAYERS[name]

    def run() -> str:
        layer(given)
        return "ran"

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        torch.ones(1024, 1024).sum()  # in both
        task = ForkedTask(run, timeout_s=120.0, urgent=True)
        assert (task.wait(), task.ended) == (b"ran", "done")
    finally:
        torch.set_num_threads(before)
