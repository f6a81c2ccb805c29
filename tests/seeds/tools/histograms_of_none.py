"""Logs the gradients of all parameters, one of which is frozen and has none."""

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(4)
rows, kinds = torch.randn(48, 8), torch.randint(0, 3, (48,))
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
net[0].bias.requires_grad_(False)
optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=0.01)
writer = SummaryWriter("runs/spread")
for epoch in range(3):
    loss = nn.functional.cross_entropy(net(rows), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for path, parameter in net.named_parameters():
        writer.add_histogram(f"grads/{path}", parameter.grad, epoch)
writer.close()
