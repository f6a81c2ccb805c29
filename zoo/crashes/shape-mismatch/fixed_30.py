"""A deep residual network that recomputes its blocks in the backward pass."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, width * 4)
        self.narrow = nn.Linear(width * 4, width)

    def forward(self, x):
        h = torch.nn.functional.gelu(self.wide(self.norm(x)))
        return x + self.narrow(h)


class DeepNet(nn.Module):
    def __init__(self, depth=4, width=32):
        super().__init__()
        self.stem = nn.Linear(10, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(x)


def main():
    torch.manual_seed(24)
    net = DeepNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(80):
        x = torch.randn(32, 10)
        y = (x[:, :1] * x[:, 1:2]).tanh()
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step} mse {loss.item():.4f}")


main()
