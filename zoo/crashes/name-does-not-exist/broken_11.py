"""A classifier whose running loss is printed with the number of the batch."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 6)
loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
total = 0.0
for epoch in range(4):
    for number, (features, label) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(features), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if number % 8 == 7:
            print(epoch * len(loader) + i, total / 8)
            total = 0.0
