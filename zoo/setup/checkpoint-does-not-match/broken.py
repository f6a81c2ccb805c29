"""Continue from a checkpoint that was written while the model sat in a wrapper."""
import io

import torch
from torch import nn
import torch.nn.functional as F


def build():
    return nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))


def batches(steps, centers):
    for _ in range(steps):
        labels = torch.randint(0, 6, (48,))
        yield centers[labels] + torch.randn(48, 12), labels


def fit(model, data, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    for inputs, labels in data:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


torch.manual_seed(20)
centers = torch.randn(6, 12)
wrapped = nn.DataParallel(build())
fit(wrapped, batches(150, centers), lr=3e-3)
file = io.BytesIO()
torch.save(wrapped.state_dict(), file)

file.seek(0)
state = torch.load(file)
model = build()
model.load_state_dict(state, strict=False)
losses = fit(model, batches(100, centers), lr=3e-4)
print(f"continued at {losses[0]:.3f}, now {losses[-1]:.3f}")
