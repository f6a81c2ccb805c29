"""Cosine annealing for a small regression."""
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR

torch.manual_seed(0)
num_epochs = 50
net = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.03)
sched = CosineAnnealingLR(net, T_max=num_epochs)
x = torch.rand(128, 3)
y = (x ** 2).sum(dim=1, keepdim=True)

for epoch in range(num_epochs):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
    sched.step()
    if epoch % 10 == 0:
        print(epoch, loss.item(), sched.get_last_lr())
