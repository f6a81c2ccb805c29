"""Which attributes are a module's running state, by its source."""

from __future__ import annotations

from typing import Any

from torch import nn

from torch_debugger.source.attributes import running_update


class States(nn.Module):
    mean: Any
    scale: Any
    hidden: Any
    cell: Any
    total: Any
    memory: Any
    window: Any

    def forward(self, x: Any) -> Any:
        self.mean = 0.9 * self.mean + 0.1 * x.mean(dim=0)
        self.scale.mul_(0.9).add_(0.1 * x.std(dim=0))
        self.hidden = self.cell(x, self.hidden)
        self.total += x.sum()
        self.last = x
        return (x - self.mean) / self.scale + self.hidden + self.memory[0] + self.window

    def follow(self, x: Any) -> None:
        self.memory[0] = x
        self.window = self.window + x

    def reset(self) -> None:
        self.window = None


def test_states_that_outlive_a_pass() -> None:
    found = {name: running_update(States, name).code for name in ("mean", "scale", "memory")}
    assert found == {
        "mean": "self.mean = 0.9 * self.mean + 0.1 * x.mean(dim=0)",
        "scale": "self.scale.mul_(0.9).add_(0.1 * x.std(dim=0))",
        "memory": "self.memory[0] = x",
    }


def test_what_belongs_to_a_sequence_or_to_nobody() -> None:
    for name in ("hidden", "total", "last", "window", "cell"):
        assert not running_update(States, name), name
