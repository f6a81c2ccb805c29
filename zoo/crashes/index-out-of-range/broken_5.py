# A small transformer that tells whether a sequence holds the same symbol twice in a row.
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, symbols=12, dim=32):
        super().__init__()
        self.symbol = nn.Embedding(symbols, dim)
        self.position = nn.Embedding(16, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        places = torch.arange(x.size(1)).expand_as(x)
        h = self.layer(self.symbol(x) + self.position(places))
        return self.head(h.max(dim=1).values)


def batch(length, n=32):
    x = torch.randint(0, 12, (n, length))
    x[: n // 2, 3] = x[: n // 2, 2]
    repeated = (x[:, 1:] == x[:, :-1]).any(dim=1).long()
    return x, repeated


torch.manual_seed(4)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for step in range(80):
    x, y = batch(length=8 if step < 20 else 24)
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
