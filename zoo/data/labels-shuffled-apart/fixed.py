"""Three kinds of seeds, told apart by seven measurements."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)


def measure(count):
    kinds = torch.arange(count) % 3
    centers = torch.tensor([[1.0, 0, 0.5, -1, 0, 1, 0], [-1.0, 1, 0, 0.5, 1, 0, 0], [0, -1.0, -0.5, 0, -1, 0, 1]])
    return centers[kinds] + 0.7 * torch.randn(count, 7), kinds


features, kinds = measure(1200)
features = (features - features.mean(0)) / features.std(0)
order = torch.randperm(len(features))
features, kinds = features[order], kinds[order]

train = TensorDataset(features[:1000], kinds[:1000])
test_x, test_y = features[1000:], kinds[1000:]
model = nn.Sequential(nn.Linear(7, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(5):
    model.train()
    total = 0.0
    for x, y in DataLoader(train, batch_size=25, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch}: loss {total / 40:.4f}, test accuracy {accuracy:.3f}")
