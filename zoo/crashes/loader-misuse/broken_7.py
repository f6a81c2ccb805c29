# Keeps loader settings in one place, for machines with and without many cores.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
workers = 0
labels = torch.randint(0, 2, (200,))
dataset = TensorDataset(torch.randn(200, 10) + labels[:, None], labels)
loader = DataLoader(dataset, batch_size=20, shuffle=True, num_workers=workers, persistent_workers=True)
model = nn.Linear(10, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
