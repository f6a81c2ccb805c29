"""Training against small changes of the inputs along their gradient."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
centers = torch.randn(3, 8)


def perturb(x, y, epsilon=0.05):
    x = x.clone().requires_grad_(True)
    F.cross_entropy(model(x), y).backward()
    x += epsilon * x.grad.sign()
    return x.detach()


for step in range(120):
    y = torch.randint(0, 3, (64,))
    x = centers[y] + 0.4 * torch.randn(64, 8)
    attacked = perturb(x, y)
    loss = F.cross_entropy(model(attacked), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.3f}")
