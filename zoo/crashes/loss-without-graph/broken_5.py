"""Fine-tuning: the body of a trained network stays, its last layer is new."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
net[2] = nn.Linear(32, 4)
for p in net.parameters():
    p.requires_grad = False

optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
centers = torch.randn(4, 10)
for step in range(120):
    y = torch.randint(0, 4, (64,))
    loss = F.cross_entropy(net(centers[y] + 0.3 * torch.randn(64, 10)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.3f}")
