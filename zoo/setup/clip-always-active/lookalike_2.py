"""Normalised gradients: the clip gives every update the same length, and the rate sets that length."""
import torch
from torch import nn

torch.manual_seed(4)
net = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 1))
opt = torch.optim.SGD(net.parameters(), lr=30.0)
for step in range(250):
    for group in opt.param_groups:
        group["lr"] = 30.0 * (1 - step / 250)
    x = torch.randn(64, 3)
    loss = (net(x).squeeze(1) - x.prod(1) - x.sum(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
    opt.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 4))
