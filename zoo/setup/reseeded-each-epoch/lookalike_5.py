"""A fixed noise sample makes the objective repeatable for LBFGS; the closure seeds each time."""
import torch
from torch import nn

torch.manual_seed(25)
mean, log_scale = nn.Parameter(torch.zeros(4)), nn.Parameter(torch.zeros(4))
opt = torch.optim.LBFGS([mean, log_scale], lr=0.5, max_iter=4)
goal = torch.tensor([1.0, -2.0, 0.5, 3.0])


def closure():
    torch.manual_seed(0)
    z = mean + log_scale.exp() * torch.randn(256, 4)
    loss = (z - goal).pow(2).sum(1).mean() - log_scale.sum()
    opt.zero_grad()
    loss.backward()
    return loss


for step in range(30):
    value = opt.step(closure)
    if step % 6 == 0:
        print(step, value.item())
