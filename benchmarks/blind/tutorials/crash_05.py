"""Regression with a report of time and memory at the end of every epoch."""
import time

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Regressor(nn.Module):
    def __init__(self, features, hidden=(64, 64)):
        super().__init__()
        sizes = [features, *hidden, 1]
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:]))

    def forward(self, x):
        for layer in self.linears[:-1]:
            x = nn.functional.gelu(layer(x))
        return self.linears[-1](x).squeeze(-1)


class EpochTimer:
    """Wall time of a block; waits for queued work so that the number is honest."""

    def __enter__(self):
        self.begin = time.perf_counter()
        return self

    def __exit__(self, *exc):
        torch.cuda.synchronize()
        self.seconds = time.perf_counter() - self.begin
        return False


def friedman(n):
    x = torch.rand(n, 10)
    y = 10 * torch.sin(3.1416 * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, (y - 14) / 5


def run_epoch(model, opt, x, y):
    total = 0.0
    order = torch.randperm(len(x), device=device)
    for idx in order.split(50):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    return total / len(x)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(4)
    x, y = (t.to(device) for t in friedman(2000))
    model = Regressor(10).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(8):
        with EpochTimer() as timer:
            value = run_epoch(model, opt, x, y)
        print(f"epoch {epoch} mse {value:.4f} in {timer.seconds:.2f} s")
