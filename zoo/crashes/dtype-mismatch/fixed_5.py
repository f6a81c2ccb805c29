"""Shopping baskets from a numpy table: item numbers in four columns, then the label."""
import numpy as np
import torch
from torch import nn


def read_baskets(n=400):
    rng = np.random.default_rng(6)
    items = rng.integers(0, 25, size=(n, 4))
    label = (items < 8).any(axis=1)
    return np.column_stack([items, label]).astype(np.float32)


class Baskets(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(25, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, tokens):
        h = self.embed(tokens.long())
        return self.head(h.max(dim=1).values).squeeze(1)


torch.manual_seed(6)
table = read_baskets()
tokens, label = torch.from_numpy(table[:, :4]), torch.from_numpy(table[:, 4])
model = Baskets()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.BCEWithLogitsLoss()
for step in range(100):
    rows = torch.randint(0, len(table), (64,))
    loss = criterion(model(tokens[rows]), label[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print("step", step, round(loss.item(), 4))
