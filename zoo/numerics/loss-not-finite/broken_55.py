"""A rate model for counts, with a guard in the loop that stops the run early."""
import torch
from torch import nn

torch.manual_seed(5)
net = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
truth = torch.randn(5) * 0.3


def negative_log_likelihood(rate, count):
    return (rate - count * torch.log(rate)).mean()


for step in range(80):
    x = torch.randn(64, 5)
    count = torch.poisson((x @ truth + 0.5).exp())
    rate = net(x).squeeze(1)
    loss = negative_log_likelihood(rate, count)
    assert not torch.isnan(loss), f"loss is NaN in step {step}"
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
