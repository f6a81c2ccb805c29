"""Attention pooling over the steps of a GRU: which sequence holds a spike?"""
import torch
from torch import nn


class AttentionPool(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.gru = nn.GRU(features, hidden, batch_first=True)
        self.score = nn.Linear(hidden, 1)
        self.out = nn.Linear(hidden, 2)

    def forward(self, x):
        states, _ = self.gru(x)
        weights = torch.softmax(self.score(states).squeeze(-1), dim=1)
        pooled = torch.bmm(weights.unsqueeze(1), states).squeeze(1)
        return self.out(pooled)


def sequences(n=32, length=15):
    x = 0.3 * torch.randn(n, length, 3)
    y = torch.randint(0, 2, (n,))
    place = torch.randint(0, length, (n,))
    x[torch.arange(n), place, 0] += 3.0 * y
    return x, y


torch.manual_seed(4)
model = AttentionPool(3, 24)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for step in range(80):
    x, y = sequences()
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print("step", step, "loss", round(loss.item(), 4))
