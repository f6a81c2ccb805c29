"""Models of every kind that a look inside must get along with, and a call for each."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


class InPlace(nn.Module):
    """A convolution whose output a ReLU writes over."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.act = nn.ReLU(inplace=True)
        self.fc = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.act(self.bn(self.conv(x))).mean((2, 3)))


class Block(nn.Module):
    def __init__(self, act: nn.Module) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 6)
        self.act = act

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(x + self.fc(x))


class Residual(nn.Module):
    """Blocks that share one activation module, called once by each."""

    def __init__(self) -> None:
        super().__init__()
        act = nn.Tanh()
        self.blocks = nn.Sequential(Block(act), Block(act), Block(act))
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(self.blocks(x))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 5, batch_first=True)
        self.fc = nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output, (hidden, _) = self.lstm(x)
        return self.fc(output[:, -1] + hidden[0])


@dataclass
class Answer:
    logits: torch.Tensor
    features: tuple[torch.Tensor, torch.Tensor]
    note: str = "plain"


class Structured(nn.Module):
    """Takes a dictionary and keywords, gives a dataclass."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(4, 4)
        self.head = Head()

    def forward(self, batch: dict[str, torch.Tensor], *, scale: float = 1.0) -> Answer:
        hidden = self.encoder(batch["x"]) * scale
        return self.head(hidden, shift=batch["shift"])


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, hidden: torch.Tensor, shift: torch.Tensor) -> Answer:
        return Answer(self.fc(hidden) + shift, (hidden, hidden * 2))


class ModelOutput(OrderedDict[str, Any]):
    """As large libraries have it: a dictionary with attributes."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)


class WithLoss(nn.Module):
    """Computes its own loss, with tied weights and a frozen layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.frozen = nn.Linear(4, 4).requires_grad_(False)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> ModelOutput:
        logits = self.head(torch.tanh(self.frozen(self.embed(ids))))
        return ModelOutput(loss=F.cross_entropy(logits.flatten(0, 1), labels.flatten()), logits=logits)


Call = tuple[nn.Module, tuple[Any, ...], dict[str, Any], Callable[[Any], torch.Tensor]]


def build(name: str) -> Call:
    """A model in training mode, its inputs, and a loss of its output; always the same ones."""
    torch.manual_seed(0)
    batch = {"x": torch.randn(3, 4), "shift": torch.randn(3, 3)}
    ids = torch.randint(7, (2, 5))
    makers: dict[str, Callable[[], Call]] = {
        "in place": lambda: (InPlace(), (torch.randn(2, 3, 6, 6),), {}, torch.sum),
        "shared": lambda: (Residual(), (torch.randn(4, 6),), {}, lambda out: out.square().mean()),
        "recurrent": lambda: (Recurrent(), (torch.randn(3, 6, 4),), {}, lambda out: out.sum()),
        "transformer": lambda: (
            nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2),
            (torch.randn(2, 5, 8),), {}, lambda out: out.square().sum(),
        ),
        "dataclass": lambda: (Structured(), (batch,), {"scale": 2.0}, lambda out: out.logits.sum()),
        "own loss": lambda: (WithLoss(), (ids,), {"labels": ids}, lambda out: out.loss),
    }  # fmt: skip
    return makers[name]()


NAMES = ("in place", "shared", "recurrent", "transformer", "dataclass", "own loss")
