"""A slow momentum (0.01) that fits the length of the run, and one layer that keeps a plain average (None)."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(10, 32), nn.BatchNorm1d(32, momentum=0.01), nn.ReLU(),
    nn.Linear(32, 32), nn.BatchNorm1d(32, momentum=None), nn.ReLU(), nn.Linear(32, 3),
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
centers = torch.randn(3, 10)
for step in range(500):
    net.train()
    y = torch.randint(0, 3, (64,))
    loss = nn.functional.cross_entropy(net(centers[y] + 0.5 * torch.randn(64, 10)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        net.eval()
        with torch.no_grad():
            y = torch.randint(0, 3, (256,))
            right = (net(centers[y] + 0.5 * torch.randn(256, 10)).argmax(1) == y).float().mean()
        print(step + 1, loss.item(), right.item())
