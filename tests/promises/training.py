"""A short training that gives every probe something to hear, and what it leaves behind."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.promises.scripts.fingerprint import digest
from torch_debugger.records import Record

STEPS = 6


class Kept(list[Record]):
    """A sink that keeps what it gets."""

    def add(self, record: Record) -> None:
        self.append(record)

    def of(self, kind: type[Record]) -> list[Record]:
        return [record for record in self if isinstance(record, kind)]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(0.2))
        self.hidden_in_a_list = [nn.Linear(12, 12)]
        self.last = nn.Linear(12, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.hidden_in_a_list[0](self.first(x)).relu())


class Training:
    """Made with a seed; each `step` is one of the loop a user would write."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.net = Net()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 3)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        self.criterion = nn.CrossEntropyLoss()
        data = TensorDataset(torch.randn(8 * STEPS, 6), torch.randint(0, 3, (8 * STEPS,)))
        self.loader = DataLoader(data, batch_size=8, shuffle=True)
        self.losses: list[float] = []

    def run(self, *, spoilt: int = STEPS) -> str:
        """`spoilt` is the step whose batch holds an Inf; gives a hash of everything that was trained."""
        for number, (x, y) in enumerate(self.loader, 1):
            if number == spoilt:
                x[0, 0] = float("inf")
            self.step(x, y)
            if number % 2 == 0:
                self.validate(x, y)
        return digest([self.net.state_dict(), self.optimizer.state_dict(), self.losses, torch.get_rng_state()])

    def step(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        loss = self.criterion(self.net(x), y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.schedule.step()
        self.losses.append(loss.item())

    def validate(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.net.eval()
        with torch.no_grad():
            self.losses.append(self.criterion(self.net(x), y).item())
        self.net.train()
