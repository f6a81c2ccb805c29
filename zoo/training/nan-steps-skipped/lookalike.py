"""A siamese network, called twice a step, that leaves out the rare batch with a broken reading."""
import torch
from torch import nn

torch.manual_seed(5)
net = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(250):
    left = torch.randn(32, 7)
    same = torch.rand(32) < 0.5
    right = torch.where(same[:, None], left + 0.1 * torch.randn(32, 7), torch.randn(32, 7))
    if step % 97 == 60:
        right[3, 2] = float("nan")
    distance = (net(left) - net(right)).pow(2).sum(1)
    loss = torch.where(same, distance, torch.relu(2.0 - distance)).mean()
    if not torch.isfinite(loss):
        continue
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 4))
