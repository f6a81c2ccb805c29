"""Small models of the kinds that tools get wrong: shared, recursive, functional, with dictionaries."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


class MLP(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 4))


class Siamese(nn.Module):
    """One trunk for two images."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 8))
        self.head = nn.Linear(8, 1)

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return self.head((self.trunk(left) - self.trunk(right)).abs())


class SharedModule(nn.Module):
    """The same module under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Linear(8, 8)
        self.again = self.encode
        self.out = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.again(F.relu(self.encode(x))))


class TiedEmbeddings(nn.Module):
    """Two modules, one weight: 20 x 6, counted once."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.decoder = nn.Linear(6, 20)
        self.decoder.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.embedding(tokens))


class Recursive(nn.Module):
    """One layer, five times."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(8, 8), nn.Tanh())
        self.out = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(5):
            x = self.layer(x)
        return self.out(x)


class DictOutput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Conv2d(3, 4, 3, padding=1)
        self.boxes, self.scores = nn.Conv2d(4, 4, 1), nn.Conv2d(4, 2, 1)

    def forward(self, image: torch.Tensor) -> dict[str, torch.Tensor]:
        features = self.backbone(image)
        return {"boxes": self.boxes(features), "scores": self.scores(features)}


@dataclass
class _Output:
    logits: torch.Tensor
    hidden: tuple[torch.Tensor, ...]


class ModelOutput(OrderedDict):  # type: ignore[type-arg]
    """As the hub's models give: a dictionary whose entries are attributes too."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            self[name] = value


@dataclass
class HubOutput(ModelOutput):
    logits: torch.Tensor
    loss: torch.Tensor | None = None


class KeywordsOnly(nn.Module):
    """Called by keywords, as the hub's models are."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(30, 8)
        self.layer = nn.Linear(8, 8)
        self.head = nn.Linear(8, 5)

    def forward(self, *, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> HubOutput:
        x = self.embedding(input_ids) * attention_mask.unsqueeze(-1)
        return HubOutput(logits=self.head(self.layer(x).mean(1)))


class FunctionalOnly(nn.Module):
    """Parameters of its own and no child."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 8))
        self.bias = nn.Parameter(torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(F.linear(x, self.weight, self.bias))


class MultiInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Conv2d(3, 4, 3)
        self.table = nn.Linear(5, 4)
        self.join = nn.Bilinear(4, 4, 2)

    def forward(self, image: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        return self.join(self.image(image).mean((2, 3)), self.table(table))


class HoldsParameters(nn.Module):
    """A container with parameters of its own beside its children's, in lists and dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))
        self.extra = nn.ParameterList([nn.Parameter(torch.zeros(8)) for _ in range(3)])
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 2), "b": nn.Linear(8, 3)})

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        x = x * self.scale + sum(self.extra)
        return {name: head(x) for name, head in self.heads.items()}


class NeverCalled(nn.Module):
    """An auxiliary head that evaluation leaves out."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 2)
        self.auxiliary = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        x = self.body(x)
        return (self.head(x), self.auxiliary(x)) if self.training else self.head(x)


class Frozen(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.backbone.requires_grad_(False)
        self.head = nn.Linear(4, 2)
        self.head.bias.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.backbone(x).mean((2, 3)))


class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.LazyConv2d(4, 3)
        self.norm = nn.LazyBatchNorm2d()
        self.fc = nn.LazyLinear(5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.norm(self.conv(x)).flatten(1))


class DataclassOutput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 6), nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> _Output:
        hidden = self.first(x)
        return _Output(self.second(hidden), (x, hidden))
