"""Sensor drift regression with a per-sample normalisation layer."""
import torch
from torch import nn


class ChannelScale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        m = x.mean(dim=-1, keepdim=True)
        m2 = (x * x).mean(dim=-1, keepdim=True)
        s = torch.sqrt(m2 - m * m)
        return (x - m) / (s + 1e-5) * self.gain + self.bias


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = ChannelScale(16)
        self.body = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.body(self.scale(x)).squeeze(-1)


def make_data(n=512):
    base = 5000 + 20 * torch.randn(n, 1)
    noise = torch.randn(n, 16) * torch.rand(n, 1).pow(2)
    return base + noise, noise[:, :4].sum(1) / noise.std(1)


def main():
    torch.manual_seed(3)
    x, y = make_data()
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)
    for step in range(40):
        idx = torch.randint(0, len(x), (64,))
        loss = nn.functional.mse_loss(net(x[idx]), y[idx])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step % 5 == 0:
            print(step, loss.item())


if __name__ == "__main__":
    main()
