"""Predict a setpoint from sensor rows; the batch size was left at 2 after a test."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=16)
    return parser.parse_args([])


def network():
    return nn.Sequential(
        nn.Linear(8, 32),
        nn.BatchNorm1d(32),
        nn.ReLU(),
        nn.Linear(32, 1),
    )


def main():
    args = parse()
    torch.manual_seed(3)
    x = torch.randn(400, 8)
    y = x[:, :1] - x[:, 1:2] * x[:, 2:3]
    loader = DataLoader(TensorDataset(x, y), batch_size=args.batch_size, shuffle=True)
    net = network()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(args.epochs):
        total = 0.0
        for features, target in loader:
            loss = nn.functional.mse_loss(net(features), target)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.3f}")


main()
