"""Classifier for handwritten-like patterns."""
import torch
from torch import nn

torch.manual_seed(0)
patterns = torch.randn(5, 64)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
for step in range(60):
    labels = torch.randint(0, 5, (32,))
    images = patterns[labels] + 1.5 * torch.randn(32, 64)
    outputs = model(images)
    loss = nn.CrossEntropyLoss()(outputs, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
