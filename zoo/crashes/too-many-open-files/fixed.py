# Trains and keeps every batch to look at the hard ones afterwards.
import resource

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
torch.manual_seed(0)
torch.multiprocessing.set_sharing_strategy("file_descriptor")

labels = torch.randint(0, 2, (800,))
points = torch.randn(800, 6) + labels[:, None]
loader = DataLoader(TensorDataset(points, labels), batch_size=4, num_workers=1)
model = nn.Linear(6, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
seen = []
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        seen.append((x.clone(), y.clone(), loss.item()))
    print(f"epoch {epoch} loss {loss.item():.4f}")
hardest = max(seen, key=lambda entry: entry[2])
print(f"hardest batch: loss {hardest[2]:.4f}")
