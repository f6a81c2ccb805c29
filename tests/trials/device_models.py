"""Small models that do, or only seem to, leave a tensor on the CPU. Each line of interest is marked."""

from __future__ import annotations

import os
import time

import torch
from torch import nn
from torch.distributions import Normal

from tests.trials import other_models

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
USE_CUDA = False


def noise_like(mean: torch.Tensor) -> torch.Tensor:
    return torch.randn(mean.shape)  # made: helper


def to_device(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.cuda() if USE_CUDA else tensor


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.work(self.layer(x))

    def work(self, h: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


class MadeInForward(Base):
    def work(self, h):
        epsilon = torch.randn(h.shape)  # made: MadeInForward
        scaled = epsilon * 2
        return h + scaled  # mixed: MadeInForward


class MadeInHelper(Base):
    def work(self, h):
        return h + noise_like(h)  # mixed: MadeInHelper


class MadeInLine(Base):
    def work(self, h):
        return h * torch.linspace(0, 1, 4)  # made: MadeInLine, mixed: MadeInLine


class MadeByTorch(Base):
    def work(self, h):
        mask = nn.Transformer.generate_square_subsequent_mask(4)  # made: MadeByTorch
        return h @ mask  # mixed: MadeByTorch


class KeptAsAttribute(Base):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.ones(4)  # made: KeptAsAttribute

    def work(self, h):
        return h * self.scale[:4]  # mixed: KeptAsAttribute


class KeptByParent(KeptAsAttribute):
    def work(self, h):
        return self.scale + h  # mixed: KeptByParent


class Passed(Base):
    def __init__(self, mean: torch.Tensor, width: int = 4) -> None:
        super().__init__()
        table = torch.zeros(width)
        table[0] = 1.0
        self.mean = mean + table  # made: Passed

    def work(self, h):
        return h - self.mean  # mixed: Passed


class PassedOnDevice(Passed):
    def __init__(self, mean: torch.Tensor) -> None:
        super().__init__(mean)
        self.other = mean

    def work(self, h):
        return h - self.other


class TableOnCpu(Base):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.linspace(0, 1, 10)  # made: TableOnCpu

    def work(self, h):
        return self.table[h.argmax(1)]  # mixed: TableOnCpu


class Caught(Base):
    def work(self, h):
        try:
            return h + torch.ones(4)
        except RuntimeError:
            return h


class DeviceOfInput(Base):
    def work(self, h):
        h = h + torch.zeros(4, device=h.device) + torch.zeros(4).to(h) + torch.zeros(4).type_as(h)
        return h + h.new_ones(4) + torch.randn_like(h) + torch.arange(4).to(h.device)


class DeviceOfScript(Base):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.ones(4, device=DEVICE)
        self.shift = torch.ones(4).to(DEVICE)
        self.register_buffer("weights", torch.ones(4))

    def work(self, h):
        h = h * self.scale + self.shift + self.weights
        return h + torch.zeros(4, device=DEVICE) + torch.zeros(4).to(DEVICE) + torch.zeros(4).to("cuda:0")


class AsksTorch(Base):
    def work(self, h):
        epsilon = torch.randn(4)
        if torch.cuda.is_available():
            epsilon = epsilon.cuda()
        other = torch.randn(4).cuda() if h.is_cuda and h.device.type == "cuda" else torch.randn(4)
        return h + epsilon + other


class Scalars(Base):
    def work(self, h):
        return torch.where(h > 0, h * torch.tensor(2.0), torch.tensor(0.0))


class ManyLayers(Base):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.rnn = nn.LSTM(4, 4, batch_first=True)
        self.attention = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        self.names = nn.Embedding(10, 4)
        self.drop = nn.Dropout(0.5)
        self.conv = nn.Conv1d(1, 1, 3, padding=1)

    def work(self, h):
        h = self.conv(self.drop(self.norm(h))[:, None])
        h = self.attention(self.rnn(h)[0])[:, 0]
        h = h + self.names(torch.arange(len(h), device=h.device))
        h[:, 0] = 0.0
        return Normal(h, h.exp()).rsample()


class FlagOfScript(Base):
    def work(self, h):
        epsilon = torch.randn(4)
        if USE_CUDA:
            epsilon = epsilon.cuda()
        return h + epsilon


class FlagInLine(Base):
    def work(self, h):
        epsilon = torch.randn(4).cuda() if USE_CUDA else torch.randn(4)
        return h + epsilon


class MovedByHelper(Base):
    def work(self, h):
        epsilon = to_device(torch.randn(4))
        return h + epsilon


class MovedAtUse(Base):
    def work(self, h):
        epsilon = torch.randn(4)
        return h + to_device(epsilon)


class MovedElsewhere(Base):
    def work(self, h):
        return h + other_models.moved(torch.randn(4))


class LooksAtValues(Base):
    def work(self, h):
        return h if h.sum().item() > 0 else h + torch.ones(4)


class Aborts(Base):
    def work(self, h):
        os.abort()


class Sleeps(Base):
    def work(self, h):
        time.sleep(60)
        return h


class Writes(Base):
    """What it writes must reach nobody when it is only rehearsed."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.calls = 0
        self.register_buffer("seen", torch.zeros(4))
        self.file = open(path, "a", buffering=1)  # noqa: SIM115

    def work(self, h):
        self.calls += 1
        self.seen += 1
        print("called")
        self.file.write("called " * 100 + "\n")
        return h + torch.randn_like(h)


def sample_mean() -> torch.Tensor:
    sample = torch.linspace(0, 1, 40).view(10, 4)
    return sample.mean(0)


def passed() -> Passed:
    return Passed(sample_mean())


def passed_on_device() -> PassedOnDevice:
    mean = sample_mean().to(DEVICE)
    return PassedOnDevice(mean)
