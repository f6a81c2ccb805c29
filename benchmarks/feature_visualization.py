"""How much a forward that ends at the layer saves: python benchmarks/feature_visualization.py

One step of climbing an image, three ways: cut at the target layer with a gradient for the image alone, as
`pictures.maximize` does it; the same with a whole forward, whose hook only keeps the output; and the usual
form, a whole forward and `loss.backward()`, which fills the gradients of weights on its way. Interleaved, in
seconds of this process, one thread, medians of ratios. The goal is 1.5 against the usual form.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

from torch_debugger.pictures.layer_units import CutForward
from torch_debugger.pictures.target_gradients import for_gradients

ROUNDS = 17


class Residual(nn.Module):
    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(outside), nn.BatchNorm2d(outside)
        self.skip = nn.Conv2d(inside, outside, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(inner + self.skip(x))


def resnet_like() -> nn.Module:
    """Four stages of two blocks, as ResNet-18 has them, at half its width."""
    widths, blocks = [32, 32, 64, 128, 256], []
    for stage in range(4):
        blocks += [Residual(widths[stage], widths[stage + 1], 1 + (stage > 0))]
        blocks += [Residual(widths[stage + 1], widths[stage + 1], 1)]
    stem = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 1000))
    return nn.Sequential(stem, *blocks, head)


class TransformerLike(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 192, 16, 16)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(192, 3, 768, dropout=0.0, batch_first=True, norm_first=True) for _ in range(8)
        )
        self.head = nn.Linear(192, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


def cut_step(model: nn.Module, path: str, image: torch.Tensor) -> None:
    leaf = image.clone().requires_grad_()
    output = CutForward(model, path, model.get_submodule(path))(leaf)
    torch.autograd.grad(output.mean(), leaf)


def whole_step(model: nn.Module, path: str, image: torch.Tensor) -> None:
    kept: list[torch.Tensor] = []
    handle = model.get_submodule(path).register_forward_hook(lambda *call: kept.append(call[2]))
    leaf = image.clone().requires_grad_()
    model(leaf)
    handle.remove()
    torch.autograd.grad(kept[0].mean(), leaf)


def usual_step(model: nn.Module, path: str, image: torch.Tensor) -> None:
    kept: list[torch.Tensor] = []
    handle = model.get_submodule(path).register_forward_hook(lambda *call: kept.append(call[2]))
    leaf = image.clone().requires_grad_()
    model.zero_grad()
    model(leaf)
    handle.remove()
    kept[0].mean().backward()


def seconds(step: Callable[..., None], *given: object) -> float:
    started = time.process_time()
    step(*given)
    return time.process_time() - started


def ours(step: Callable[..., None], model: nn.Module, path: str, image: torch.Tensor) -> float:
    with for_gradients(model) as inner:
        return seconds(step, inner, path, image)


def compare(name: str, model: nn.Module, path: str, image: torch.Tensor) -> None:
    rounds = [
        (ours(cut_step, model, path, image), ours(whole_step, model, path, image),
         seconds(usual_step, model, path, image))
        for _ in range(ROUNDS)
    ][2:]  # fmt: skip
    cut_ms = 1000 * statistics.median(cut for cut, _, _ in rounds)
    whole = statistics.median(whole / cut for cut, whole, _ in rounds)
    usual = statistics.median(usual / cut for cut, _, usual in rounds)
    print(f"{name:<12} {path:<9} cut {cut_ms:6.1f} ms   whole {whole:.2f}x   usual {usual:.2f}x")


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    image = torch.randn(4, 3, 128, 128)
    for path in ("2", "4", "6"):
        compare("ResNet-like", resnet_like().eval(), path, image)
    for path in ("blocks.1", "blocks.3", "blocks.6"):
        compare("ViT-like", TransformerLike().eval(), path, image)


if __name__ == "__main__":
    main()
