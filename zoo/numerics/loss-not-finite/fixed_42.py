"""Fit a sum of decaying exponentials with LBFGS."""
import torch
from torch import nn


class Decay(nn.Module):
    def __init__(self, terms=2):
        super().__init__()
        self.amp = nn.Parameter(torch.tensor([1.0, 0.5]))
        self.rate = nn.Parameter(torch.tensor([2.0, 0.5]))

    def forward(self, t):
        return (self.amp * torch.exp(-nn.functional.softplus(self.rate) * t[:, None])).sum(1)


torch.manual_seed(0)
t = torch.linspace(0, 100, 80)
y = 3 * torch.exp(-0.9 * t) + 2 * torch.exp(-0.05 * t) + 0.01 * torch.randn(80)
model = Decay()
opt = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=10)


def closure():
    opt.zero_grad()
    loss = (model(t) - y).pow(2).sum()
    loss.backward()
    return loss


for epoch in range(6):
    loss = opt.step(closure)
    print(f"epoch {epoch} loss {loss.item():.5f} rates {model.rate.tolist()}")
