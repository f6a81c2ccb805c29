"""Train a digit classifier on all devices, then evaluate the saved weights."""
import os
import tempfile

import torch
import torch.nn.functional as F
from torch import nn


def build():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


torch.manual_seed(0)
patterns = torch.randn(10, 8, 8)
model = nn.DataParallel(build())
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for step in range(60):
    labels = torch.randint(0, 10, (32,))
    images = patterns[labels] + 0.3 * torch.randn(32, 8, 8)
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "digits.pt")
    torch.save(model.state_dict(), path)
    state = torch.load(path)
    net = build()
    net.load_state_dict(state)

net.eval()
labels = torch.arange(10)
print("accuracy", (net(patterns).argmax(1) == labels).float().mean().item())
