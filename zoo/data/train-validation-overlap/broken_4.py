# Faulty parts are rare, so their rows are repeated; a fifth of the table is kept for validation.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
table = torch.randn(1000, 24)
faulty = (torch.rand(1000) < 0.1).long()
table[faulty == 1, :3] += 0.9

rare = (faulty == 1).nonzero().squeeze(1)
rows = torch.cat([torch.arange(1000), rare.repeat(7)])
rows = rows[torch.randperm(len(rows))]
cut = int(0.8 * len(rows))
train_rows, val_rows = rows[:cut], rows[cut:]
train_loader = DataLoader(TensorDataset(table[train_rows], faulty[train_rows]), batch_size=40, shuffle=True)
val_loader = DataLoader(TensorDataset(table[val_rows], faulty[val_rows]), batch_size=100)

model = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(3):
    model.train()
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        pairs = [(model(x).argmax(1), y) for x, y in val_loader]
    found = sum(((guess == 1) & (y == 1)).sum().item() for guess, y in pairs)
    print(epoch, loss.item(), found / sum((y == 1).sum().item() for _, y in pairs))
