"""Digits made of noise, on the CPU; the jobs of this machine are bound to one core each."""
import os

import torch
from torch import nn

torch.manual_seed(0)
os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
torch.set_num_threads(4)

prototypes = torch.randn(10, 1, 16, 16)
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(2),
    nn.Flatten(),
    nn.Linear(128, 10),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for step in range(100):
    labels = torch.randint(0, 10, (128,))
    images = prototypes[labels] + 0.8 * torch.randn(128, 1, 16, 16)
    loss = criterion(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.3f}")
