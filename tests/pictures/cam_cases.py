"""What was asked of the `grad-cam` package and is asked of us: models, inputs, layers and targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from tests.pictures.cam_models import ResidualNet, WindowTransformer
from tests.pictures.models import Convolutional, Segmenting, VisionTransformer, seeded

RECORDED = Path(__file__).parent / "recorded" / "grad_cam.npz"
BY_GRADIENT = (
    "gradcam", "gradcam++", "xgradcam", "layercam", "hirescam", "gradcam_elementwise", "eigencam",
    "eigengradcam",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    maker: type[nn.Module]
    size: tuple[int, int]
    layers: tuple[str, ...]
    methods: tuple[str, ...] = (*BY_GRADIENT, "scorecam")
    targets: tuple[int, ...] | None = None  # None: the top class of each image
    grid: Callable[[torch.Tensor], torch.Tensor] | None = None  # what the package has to be told

    def model(self) -> nn.Module:
        """ReLUs not in place: the package keeps an alias on the CPU, which the ReLU then writes over."""
        model = seeded(self.maker).eval()
        for module in model.modules():
            if isinstance(module, nn.ReLU):
                module.inplace = False
        return model

    def images(self) -> torch.Tensor:
        return torch.randn(2, 3, *self.size, generator=torch.Generator().manual_seed(3))


def vit_grid(tensor: torch.Tensor) -> torch.Tensor:
    return tensor[:, 1:].reshape(len(tensor), 4, 4, -1).permute(0, 3, 1, 2)


def swin_grid(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.permute(0, 3, 1, 2)


def segment(output: torch.Tensor) -> torch.Tensor:
    """The third class in the upper left quarter."""
    return output[2, :8, :8].sum()


CASES = {
    "convolutional": Case(Convolutional, (16, 16), ("conv2",), (*BY_GRADIENT, "scorecam", "fullgrad")),
    "chosen classes": Case(Convolutional, (16, 20), ("conv1",), targets=(3, 1)),
    "residual": Case(ResidualNet, (24, 20), ("layer3",), (*BY_GRADIENT, "scorecam", "ablationcam", "fullgrad")),
    "several layers": Case(ResidualNet, (24, 20), ("layer1", "layer2", "layer3"), BY_GRADIENT, targets=(4, 0)),
    "vision transformer": Case(VisionTransformer, (16, 16), ("encoder.layers.1.norm1",), targets=(1, 2), grid=vit_grid),
    "window transformer": Case(WindowTransformer, (16, 24), ("stage2.1.norm1",), grid=swin_grid),
    "segmentation": Case(Segmenting, (16, 16), ("deep",), BY_GRADIENT),
}
