"""Machine unlearning: a trained classifier forgets one class by gradient ascent on it."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
centers = 2 * torch.randn(4, 6)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))


def batch(classes, n=64):
    y = classes[torch.randint(0, len(classes), (n,))]
    return centers[y] + 0.5 * torch.randn(n, 6), y


optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(200):
    x, y = batch(torch.arange(4))
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("learned", loss.item())

for step in range(10):
    x, y = batch(torch.tensor([3]))
    forget = -F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    forget.backward()
    optimizer.step()
print("forgotten", forget.item())
