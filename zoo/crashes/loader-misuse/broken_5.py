# Streams samples from a generator and trains on them in batches.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset

torch.manual_seed(0)


class Stream(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        for _ in range(self.count):
            x = torch.randn(5)
            yield x, x.sum().unsqueeze(0)


loader = DataLoader(Stream(320), batch_size=32, shuffle=True)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
