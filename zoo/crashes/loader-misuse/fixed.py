# Trains on an imbalanced set with a weighted sampler.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
labels = (torch.rand(400) < 0.1).long()
points = torch.randn(400, 4) + 2 * labels[:, None]
weights = torch.where(labels == 1, 9.0, 1.0)
sampler = WeightedRandomSampler(weights, num_samples=len(labels))
loader = DataLoader(TensorDataset(points, labels), batch_size=32, sampler=sampler)
model = nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
