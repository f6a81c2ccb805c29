# Keeps every batch of a single process: no files are behind those tensors.
import resource

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
torch.manual_seed(0)
labels = torch.randint(0, 2, (800,))
points = torch.randn(800, 6) + labels[:, None]
loader = DataLoader(TensorDataset(points, labels), batch_size=4)
model = nn.Linear(6, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
seen = []
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        seen.append((x, y, loss.item()))
    print(f"epoch {epoch} loss {sum(entry[2] for entry in seen[-100:]) / 100:.4f}")
