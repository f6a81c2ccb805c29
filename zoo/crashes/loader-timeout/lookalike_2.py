# Slow samples, and a loader that has the patience for them.
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Features(Dataset):
    def __init__(self, values, labels):
        self.values = values
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        if index % 16 == 15:
            time.sleep(0.05)
        return self.values[index], self.labels[index]


labels = torch.randint(0, 2, (64,))
loader = DataLoader(Features(torch.randn(64, 8) + labels[:, None], labels), batch_size=8, num_workers=1, timeout=20)
model = nn.Linear(8, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for epoch in range(6):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
