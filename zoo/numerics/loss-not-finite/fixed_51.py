"""Poisson regression with a compiled model."""
import torch
from torch import nn


class PoissonNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(5, 32)
        self.rate = nn.Linear(32, 1)
        nn.init.constant_(self.rate.bias, 1.2)

    def forward(self, x, counts):
        lam = nn.functional.softplus(self.rate(torch.tanh(self.hidden(x)))).squeeze(1)
        return (lam - counts * torch.log(lam)).mean()


def train():
    torch.manual_seed(9)
    net = PoissonNet()
    compiled = torch.compile(net, backend="aot_eager")
    opt = torch.optim.SGD(net.parameters(), lr=0.02)
    for step in range(80):
        x = torch.randn(32, 5)
        counts = torch.poisson(torch.exp(0.8 * x[:, 0] - 0.3))
        loss = compiled(x, counts)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 8 == 0:
            print(step, loss.item())


train()
