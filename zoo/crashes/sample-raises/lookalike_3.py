# Reads a cache that misses some samples and makes those on the fly.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Cached(Dataset):
    def __init__(self, count):
        self.targets = torch.randn(count, 1)
        self.cache = {index: self.make(index) for index in range(0, count, 2)}

    def make(self, index):
        return self.targets[index] * torch.tensor([1.0, -2.0, 0.5])

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        try:
            return self.cache[index], self.targets[index]
        except KeyError:
            return self.make(index), self.targets[index]


loader = DataLoader(Cached(200), batch_size=20, shuffle=True, num_workers=1)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(6):
    for features, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(features), target)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
