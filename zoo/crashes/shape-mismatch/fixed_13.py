"""Purchases from categorical columns and one number."""
import torch
from torch import nn


class Purchases(nn.Module):
    def __init__(self, sizes, dim=6):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(size, dim) for size in sizes])
        self.head = nn.Sequential(nn.Linear(dim * len(sizes) + 1, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, columns, age):
        parts = [table(columns[:, i]) for i, table in enumerate(self.tables)]
        x = torch.cat([*parts, age.unsqueeze(1)], dim=1)
        return self.head(x).squeeze(1)


def batch(n=64):
    columns = torch.stack([torch.randint(0, 7, (n,)), torch.randint(0, 4, (n,))], dim=1)
    age = torch.randn(n)
    bought = ((columns[:, 0] > 3).float() + age > 0.5).float()
    return columns, age, bought


torch.manual_seed(7)
model = Purchases([7, 4])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.BCEWithLogitsLoss()
for step in range(100):
    columns, age, bought = batch()
    loss = criterion(model(columns, age), bought)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
