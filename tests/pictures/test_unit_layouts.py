"""Where a layer's channels and examples lie: in front, behind, time first, or as windows in the batch."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from torch_debugger import pictures
from torch_debugger.pictures.layer_units import UnitLayout, reach


class Moved(nn.Module):
    """Patches as a transformer that wants time first gets them."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 6, 4, stride=4)
        self.layer = nn.TransformerEncoderLayer(6, 2, 8, batch_first=False)
        self.windows = nn.Linear(6, 5)
        self.last = nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = self.layer(self.patch(x).flatten(2).permute(2, 0, 1))  # [T, N, C]
        cut = tokens.transpose(0, 1).reshape(-1, 4, 6)  # [N * windows, 4, C]
        return self.last(self.windows(cut).transpose(1, 2))  # [N * windows, C, 4]


def reached(layer: str) -> UnitLayout:
    images = torch.randn(2, 3, 16, 16)
    return reach(Moved(), layer, images[:1], images).layout


def test_the_axes_are_found() -> None:
    assert reached("patch") == UnitLayout(batch=0, channel=1)
    assert reached("layer") == UnitLayout(batch=1, channel=2)
    assert reached("windows") == UnitLayout(batch=0, channel=2)
    assert reached("last") == UnitLayout(batch=0, channel=1), "the size tells that it was transposed"


def test_an_output_is_arranged_by_example_and_channel() -> None:
    time_first = torch.arange(24.0).reshape(4, 2, 3)
    arranged = UnitLayout(batch=1, channel=2).by_channel(time_first, 2)
    assert arranged.shape == (2, 3, 4)
    assert torch.equal(arranged[1, 2], time_first[:, 1, 2])
    windows = torch.arange(48.0).reshape(4, 4, 3)
    arranged = UnitLayout(batch=0, channel=2).by_channel(windows, 2)
    assert arranged.shape == (2, 3, 2, 4)
    assert torch.equal(arranged[1, 0], windows[2:, :, 0])


def test_all_of_them_are_climbed() -> None:
    for layer, channel in [("layer", 5), ("windows", 4), ("last", 4)]:
        assert pictures.maximize(Moved(), layer, channel=channel, input_size=(3, 16, 16), steps=2).arrays


def test_a_layer_inside_a_checkpoint_is_climbed() -> None:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return checkpoint(self.inside, x, use_reentrant=False)  # type: ignore[no-any-return]

    found = pictures.maximize(Checkpointed(), "inside.2", channel=1, input_size=(3, 16, 16), steps=15)
    assert found.arrays["activations"] > found.arrays["noise"]
