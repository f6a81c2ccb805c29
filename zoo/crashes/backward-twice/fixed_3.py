"""Linear probe on fixed features, with the mean loss of the epoch printed."""
import torch
import torch.nn as nn


def train_epoch(model, batches, optimizer):
    total = 0.0
    for x, y in batches:
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        total += loss.item()
        loss.backward()
        optimizer.step()
    return float(total) / len(batches)


torch.manual_seed(0)
features = torch.randn(256, 20)
labels = (features[:, 0] + features[:, 1] > 0).float()
batches = list(zip(features.split(32), labels.split(32)))
model = nn.Linear(20, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
for epoch in range(10):
    print(f"epoch {epoch} loss {train_epoch(model, batches, optimizer):.4f}")
