"""A small encoder that sorts short number sequences into three patterns."""

import argparse

import torch
from torch import nn


class PatternEncoder(nn.Module):
    def __init__(self, width, layers, classes=3, length=12):
        super().__init__()
        self.inputs = nn.Linear(1, width)
        self.position = nn.Parameter(0.1 * torch.randn(length, width))
        block = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h = self.blocks(self.inputs(x.unsqueeze(-1)) + self.position)
        return self.head(self.norm(h.mean(1)))


def sequences(count):
    kinds = torch.randint(0, 3, (count,))
    time = torch.linspace(0, 1, 12)
    shapes = torch.stack((time, 1 - time, (2 * time - 1).abs()))
    return shapes[kinds] * (0.5 + torch.rand(count, 1)) + 0.15 * torch.randn(count, 12), kinds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.manual_seed(6)
    model = PatternEncoder(32, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    for step in range(args.steps):
        x, kinds = sequences(48)
        loss = nn.functional.cross_entropy(model(x), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 24:
            print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
