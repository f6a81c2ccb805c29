"""The norm of the gradients is only measured, after the update, by a clip that never clips."""
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(1)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
weights = torch.randn(6)
for step in range(120):
    x = torch.randn(40, 6)
    loss = (net(x).squeeze(1) - x @ weights).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    norm = clip_grad_norm_(net.parameters(), float("inf"))
    if step % 30 == 0:
        print(step, round(loss.item(), 4), round(norm.item(), 4))
