"""What class activation and attribution cost beside a bare hook, the `grad-cam` package and captum.

    python benchmarks/pictures.py [--rounds 7] [--models cnn vit small] [--batch 1 8]

Grad-CAM: our whole call, from the model to maps of the image's size, against the least that anybody writes (a
forward hook, torch.autograd.grad on the activation, the weighted sum, resized) and against grad-cam, where it
can be imported. Attribution: ours against captum. All of a line run in turn, in rounds; printed are the median
times, the median of the ratios within a round, and the ratio of the least CPU times: on a busy machine the
last holds. The goal for Grad-CAM is at most 1.1 times the bare hook. On a model of a millisecond the fixed part
shows (line `small`).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from torch_debugger import pictures

Call = Callable[[], Any]
Seconds = tuple[float, float]  # by the clock, by the CPU


class Bottleneck(nn.Module):
    def __init__(self, given: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(given, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.short = None
        if stride > 1 or given != 4 * width:
            self.short = nn.Sequential(nn.Conv2d(given, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))
        return self.relu(self.bn3(self.conv3(inner)) + (x if self.short is None else self.short(x)))


def resnet50() -> nn.Module:
    """25.6 million parameters, 161 layers; the target layer is the last stage."""
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    layers.append(nn.MaxPool2d(3, 2, 1))
    given = 64
    for number, (width, depth) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        blocks = []
        for block in range(depth):
            blocks.append(Bottleneck(given, width, 2 if number and not block else 1))
            given = 4 * width
        layers.append(nn.Sequential(*blocks))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class VisionTransformer(nn.Module):
    """As ViT-S/16: 22 million parameters."""

    def __init__(self, width: int = 384, depth: int = 12) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, 16, stride=16)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, 197, width) * 0.02)
        self.blocks = nn.Sequential(
            *[
                nn.TransformerEncoderLayer(width, 6, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
                for _ in range(depth)
            ]
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        patches = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), patches], dim=1) + self.position
        return self.head(self.norm(self.blocks(x))[:, 0])


def small() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip


def vit_grid(tensor: torch.Tensor) -> torch.Tensor:
    return tensor[:, 1:].reshape(len(tensor), 14, 14, -1).permute(0, 3, 1, 2)


MODELS: dict[str, tuple[Callable[[], nn.Module], int, str, Any]] = {
    "cnn": (resnet50, 224, "7", None),
    "vit": (VisionTransformer, 224, "blocks.11.norm1", vit_grid),
    "small": (small, 32, "2", None),
}


def bare_hook(model: nn.Module, images: torch.Tensor, layer: str, grid: Any) -> torch.Tensor:
    kept: list[torch.Tensor] = []
    handle = model.get_submodule(layer).register_forward_hook(lambda *each: kept.append(each[2]))
    output = model(images)
    handle.remove()
    (gradient,) = torch.autograd.grad(output.amax(1).sum(), kept[0])
    activation = kept[0].detach()
    if grid is not None:
        activation, gradient = grid(activation), grid(gradient)
    cam = (activation * gradient.mean((2, 3), keepdim=True)).sum(1, keepdim=True).relu()
    cam = functional.interpolate(cam, images.shape[2:], mode="bilinear")
    return cam / cam.amax((2, 3), keepdim=True)


def class_activation_calls(name: str, batch: int) -> dict[str, Call]:
    maker, size, layer, grid = MODELS[name]
    torch.manual_seed(0)
    model, images = maker().eval(), torch.randn(batch, 3, size, size)
    calls: dict[str, Call] = {
        "bare hook": lambda: bare_hook(model, images, layer, grid),
        "ours": lambda: pictures.class_activation(model, images, layer),
    }
    with contextlib.suppress(ImportError):
        from pytorch_grad_cam import GradCAM

        def peer() -> Any:
            cam = GradCAM(model, [model.get_submodule(layer)], reshape_transform=grid)
            found = cam(images, None)
            model.zero_grad(set_to_none=True)  # what it leaves on every parameter
            return found

        calls["grad-cam"] = peer
    return calls


def attribution_calls(name: str, batch: int) -> dict[str, dict[str, Call]]:
    from captum import attr

    maker, size, _, _ = MODELS[name]
    torch.manual_seed(0)
    model, images = maker().eval(), torch.randn(batch, 3, size, size)
    window = (3, size // 4, size // 4)
    return {
        "saliency": {
            "captum": lambda: attr.Saliency(model).attribute(images, target=3),
            "ours": lambda: pictures.saliency(model, images, target=3),
        },
        "integrated, 8 steps": {
            "captum": lambda: attr.IntegratedGradients(model).attribute(
                images, target=3, n_steps=8, return_convergence_delta=True
            ),
            "ours": lambda: pictures.integrated_gradients(model, images, target=3, steps=8),
        },
        "occlusion, 16 windows": {
            "captum": lambda: attr.Occlusion(model).attribute(images, window, strides=window, target=3),
            "ours": lambda: pictures.occlusion(model, images, target=3, window=window, stride=window),
        },
    }


def measured(calls: dict[str, Call], rounds: int) -> dict[str, list[Seconds]]:
    for call in calls.values():
        call()
    times: dict[str, list[Seconds]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            gc.collect()
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return times


def show(title: str, times: dict[str, list[Seconds]]) -> None:
    first = next(iter(times))
    parts = []
    for name, seconds in times.items():
        rounds = list(zip(seconds, times[first], strict=True))
        wall = statistics.median(own[0] / base[0] for own, base in rounds)
        cpu = min(own[1] for own, _ in rounds) / min(base[1] for _, base in rounds)
        typical = statistics.median(each[0] for each in seconds) * 1000
        parts.append(f"{name} {typical:9.2f} ms {wall:5.2f}x {cpu:5.2f}x")
    print(f"{title:38}" + "   ".join(parts), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 8])
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for name in asked.models:
        for batch in asked.batch:
            show(f"Grad-CAM, {name}, batch {batch}", measured(class_activation_calls(name, batch), asked.rounds))
    for name in asked.models:
        for title, calls in attribution_calls(name, 1).items():
            show(f"{title}, {name}, batch 1", measured(calls, asked.rounds))


if __name__ == "__main__":
    main()
