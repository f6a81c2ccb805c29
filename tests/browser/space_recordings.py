"""What torch's own SummaryWriter leaves of a graph, of embeddings and of meshes, and a page that shows it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

from tests.browser.recordings import made_once, serving

KINDS = ["cat", "dog", "<b>owl</b>"]
PER_KIND = 40


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.relu(self.conv(x))


@pytest.fixture(scope="session")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "boards", _make)


@pytest.fixture(scope="session")
def boards_served(boards: Path) -> Iterator[str]:
    with serving(boards) as address:
        yield address


def _make(folder: Path) -> None:
    torch.manual_seed(0)
    writer = SummaryWriter(str(folder / "board"))
    writer.add_scalar("loss", 1.0, 0)
    blocks = nn.Sequential(Block(), Block(), Block())
    writer.add_graph(nn.Sequential(nn.Conv2d(1, 4, 1), blocks, nn.Flatten(), nn.Linear(256, 3)), torch.rand(2, 1, 8, 8))
    _embeddings(writer)
    _meshes(writer)
    writer.close()
    other = SummaryWriter(str(folder / "bare"))
    other.add_scalar("loss", 1.0, 0)
    other.close()


def _embeddings(writer: SummaryWriter) -> None:
    """Three groups far apart, so that every neighbour is one of its own kind."""
    kind = torch.arange(3 * PER_KIND) % 3
    points = 6 * torch.eye(3, 8)[kind] + torch.randn(len(kind), 8)
    pictures = torch.eye(3)[kind][:, :, None, None].expand(-1, 3, 6, 6)
    names = [KINDS[each] for each in kind]
    for step in (0, 50):
        writer.add_embedding(points * (1 + step), names, pictures, step, "features")
    writer.add_embedding(torch.randn(2000, 60) + 5, tag="bare")


def _meshes(writer: SummaryWriter) -> None:
    turn = torch.linspace(0, 2 * math.pi, 25)[:-1]
    ring = torch.stack([turn.cos(), turn.sin(), torch.zeros(24)], dim=-1)
    points = torch.cat([ring, ring + torch.tensor([0, 0, 1.0])])[None]
    at = torch.arange(24)
    after = (at + 1) % 24
    faces = torch.cat([torch.stack([at, after, at + 24], -1), torch.stack([after, after + 24, at + 24], -1)])[None]
    red = torch.tensor([200, 0, 0]).expand(1, 48, 3)
    for step in (0, 5):
        writer.add_mesh("tube", points * (step + 1), red, faces, global_step=step)
    writer.add_mesh("<i>cloud</i>", torch.randn(1, 300, 3), global_step=5)
