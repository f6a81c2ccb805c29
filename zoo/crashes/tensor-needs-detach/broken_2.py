"""Classifier on noisy points; the mean loss of each epoch goes into a history."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
centers = torch.randn(3, 6)
labels = torch.randint(0, 3, (256,))
points = centers[labels] + 0.4 * torch.randn(256, 6)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

history = []
for epoch in range(10):
    losses = []
    for x, y in zip(points.split(32), labels.split(32)):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    history.append(np.array(losses).mean())
    print(f"epoch {epoch} loss {history[-1]:.3f}")
