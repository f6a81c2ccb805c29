"""Two more models for class activation: residual blocks, and windows of tokens with their channels last."""

from __future__ import annotations

import torch
from torch import nn


class _Residual(nn.Module):
    def __init__(self, given: int, made: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(given, made, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(made)
        self.conv2 = nn.Conv2d(made, made, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(made)
        self.relu = nn.ReLU(inplace=True)
        self.short = nn.Conv2d(given, made, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(inner + self.short(x))


class ResidualNet(nn.Module):
    """As ResNets are written: stages named layer1 to layer3, ReLUs in place and used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 1, 1)
        self.layer1 = nn.Sequential(_Residual(8, 12, 1), _Residual(12, 12, 1))
        self.layer2 = nn.Sequential(_Residual(12, 16, 2), _Residual(16, 16, 1))
        self.layer3 = nn.Sequential(_Residual(16, 24, 2), _Residual(24, 24, 1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(24, 5)
        for module in self.modules():  # as after a training: none of the norms is the identity
            if isinstance(module, nn.BatchNorm2d):
                nn.init.normal_(module.running_mean, std=0.2)
                nn.init.uniform_(module.running_var, 0.5, 1.5)
                nn.init.uniform_(module.weight, 0.5, 1.5)
                nn.init.normal_(module.bias, std=0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer3(self.layer2(self.layer1(self.stem(x).relu())))
        return self.fc(self.avgpool(x).flatten(1))


class _SwinBlock(nn.Module):
    """[images, height, width, channels], attention within windows of 2 x 2."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, 2, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, high, wide, width = x.shape
        windows = self.norm1(x).view(n, high // 2, 2, wide // 2, 2, width).permute(0, 1, 3, 2, 4, 5)
        windows = windows.reshape(-1, 4, width)
        mixed = self.attn(windows, windows, windows, need_weights=False)[0]
        mixed = mixed.view(n, high // 2, wide // 2, 2, 2, width).permute(0, 1, 3, 2, 4, 5)
        x = x + mixed.reshape(n, high, wide, width)
        return x + self.mlp(self.norm2(x))


class WindowTransformer(nn.Module):
    """As a Swin: patches of 2, two stages, a merge between them, pooled over all places."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 12, 2, stride=2)
        self.stage1 = nn.Sequential(_SwinBlock(12), _SwinBlock(12))
        self.merge = nn.Linear(48, 16)
        self.stage2 = nn.Sequential(_SwinBlock(16), _SwinBlock(16))
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stage1(self.patch(x).permute(0, 2, 3, 1))
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], dim=-1)
        return self.head(self.norm(self.stage2(self.merge(x))).mean((1, 2)))
