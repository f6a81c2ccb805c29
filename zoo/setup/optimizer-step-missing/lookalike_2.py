"""Which pixels matter: gradients of a finished model with respect to its inputs. Nothing is trained."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(4)
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
centers = torch.randn(5, 8, 8)


def batch(n=32):
    labels = torch.randint(0, 5, (n,))
    return centers[labels] + 0.5 * torch.randn(n, 8, 8), labels


for _ in range(100):
    images, labels = batch()
    optimizer.zero_grad()
    F.cross_entropy(model(images), labels).backward()
    optimizer.step()

heat = torch.zeros(8, 8)
for _ in range(80):
    images, labels = batch()
    images.requires_grad_()
    model.zero_grad()
    F.cross_entropy(model(images), labels).backward()
    heat += images.grad.abs().mean(dim=0)
print(heat / heat.max())
