"""Lookahead: every five steps the fast weights go half-way back to the slow ones, by state_dict()."""
import torch
from torch import nn

torch.manual_seed(4)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
slow = {key: value.clone() for key, value in net.state_dict().items()}
weight = torch.randn(8, 1)

for step in range(1, 201):
    x = torch.randn(32, 8)
    loss = nn.functional.mse_loss(net(x), x @ weight)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        for key, value in net.state_dict().items():
            slow[key].lerp_(value, 0.5)
        net.load_state_dict(slow)
    if step % 50 == 0:
        print(step, loss.item())
