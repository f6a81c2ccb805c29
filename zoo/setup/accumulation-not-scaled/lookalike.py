"""Gradients of six batches are added up as they are; the learning rate was chosen for their sum."""
import torch
from torch import nn

torch.manual_seed(1)
weights = torch.randn(8)
net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(150):
    opt.zero_grad()
    for _ in range(6):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(net(x).squeeze(1), x @ weights)
        loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
