# Residual MLP for a toy regression; there was a NaN once, in an older version.
import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, width=48, depth=10):
        super().__init__()
        self.first = nn.Linear(6, width)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = x + 0.3 * F.gelu(block(F.layer_norm(x, x.shape[-1:])))
        return self.last(x)


def train(model, x, y, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(steps):
        index = torch.randint(0, len(x), (128,))
        loss = F.smooth_l1_loss(model(x[index]), y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print("step", step, "loss", round(loss.item(), 5))


def main():
    torch.manual_seed(2)
    x = torch.randn(2000, 6)
    y = torch.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3]
    with torch.autograd.detect_anomaly():
        train(Residual(), x, y, 200)


if __name__ == "__main__":
    main()
