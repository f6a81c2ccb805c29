"""Find the two equal numbers in a set, with attention over the set."""
import torch
from torch import nn


class SetModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 40)
        self.attention = nn.MultiheadAttention(40, 4, batch_first=True)
        self.score = nn.Sequential(nn.Linear(40, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, numbers):
        h = self.embed(numbers)
        mixed, _ = self.attention(h, h, h)
        return self.score(h + mixed).squeeze(-1)


def make_sets(n=64, size=6):
    numbers = torch.stack([torch.randperm(30)[:size] for _ in range(n)])
    numbers[:, 0] = numbers[:, 3]
    order = torch.rand(n, size).argsort(dim=1)
    numbers = numbers.gather(1, order)
    doubled = (numbers.unsqueeze(1) == numbers.unsqueeze(2)).sum(dim=1) > 1
    return numbers, doubled.float()


torch.manual_seed(12)
model = SetModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.BCEWithLogitsLoss()
for step in range(100):
    numbers, doubled = make_sets()
    loss = criterion(model(numbers), doubled)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print("step", step, round(loss.item(), 4))
