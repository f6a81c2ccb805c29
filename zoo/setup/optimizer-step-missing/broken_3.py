"""Tiny U-Net like regression of heat maps; gradients of many micro-batches make one update."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Down(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, stride=2, padding=1)

    def forward(self, x):
        return torch.relu(self.conv(x))


class Mini(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = Down(1, 8), Down(8, 16)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.ConvTranspose2d(16, 1, 2, stride=2)

    def forward(self, x):
        a = self.down1(x)
        b = torch.relu(self.up(self.down2(a)))
        return self.out(torch.cat([a, b], 1))


def data(n):
    x = torch.randn(n, 1, 16, 16)
    return x, nn.functional.avg_pool2d(x, 3, 1, 1) * 2 + 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=32)
    args = parser.parse_args()
    torch.manual_seed(1)
    loader = DataLoader(TensorDataset(*data(320)), batch_size=16, shuffle=True)
    model = Mini()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        total = 0.0
        optimizer.zero_grad()
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.mse_loss(model(x), y)
            (loss / args.accumulate).backward()
            if (i + 1) % args.accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
