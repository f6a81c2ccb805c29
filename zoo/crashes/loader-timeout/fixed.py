# Reads features from a slow store; the loader must not wait for ever.
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Store:
    def __init__(self, values):
        self.values = values

    def read(self, index):
        if index % 50 == 49:
            time.sleep(0.01)
        return self.values[index]


class Features(Dataset):
    def __init__(self, store, labels):
        self.store = store
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.store.read(index), self.labels[index]


labels = torch.randint(0, 2, (64,))
store = Store(torch.randn(64, 8) + labels[:, None])
loader = DataLoader(Features(store, labels), batch_size=8, num_workers=1, timeout=0.5)
model = nn.Linear(8, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for epoch in range(6):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
