"""A critic kept smooth by a penalty on the slope of its score."""
import torch
import torch.nn as nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)


def slope_penalty(points):
    points = points.clone().requires_grad_(True)
    score = critic(points).sum()
    (slope,) = torch.autograd.grad(score, points, create_graph=True)
    return (slope.norm(dim=1) - 1).pow(2).mean()


for step in range(120):
    penalty = slope_penalty(torch.randn(64, 2))
    optimizer.zero_grad()
    penalty.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} penalty {penalty.item():.4f}")
