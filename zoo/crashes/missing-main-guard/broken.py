# Fits a line with samples that spawned workers prepare.

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Line(Dataset):
    def __init__(self, count):
        self.x = torch.linspace(-1, 1, count)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index : index + 1], 3 * self.x[index : index + 1] - 1


torch.manual_seed(0)
loader = DataLoader(Line(64), batch_size=16, num_workers=1, multiprocessing_context="spawn")
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
