"""Regression with an MLP whose depth is configurable."""
import argparse

import torch
from torch import nn


class DeepMLP(nn.Module):
    def __init__(self, n_in, width, depth, n_out):
        super().__init__()
        self.inp = nn.Linear(n_in, width)
        self.hidden = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.out = nn.Linear(width, n_out)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        for layer in self.hidden:
            x = torch.relu(layer(x))
        return self.out(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()

    torch.manual_seed(0)
    model = DeepMLP(6, 32, args.depth, 1)
    print("parameters:", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(1, args.steps + 1):
        x = torch.randn(128, 6)
        y = (x[:, 0] * x[:, 1] + torch.sin(3 * x[:, 2])).unsqueeze(1)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
