# Look a value up: pairs of key and value, then a key; attention written by hand, answers are given one by one.
import math

import torch
import torch.nn.functional as F
from torch import nn

KEYS, VALUES, PAIRS = 12, 6, 5


class Attention(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.normalise = nn.Softmax(dim=0)

    def forward(self, asked, stored):
        q, k, v = self.query(asked), self.key(stored), self.value(stored)
        scores = torch.matmul(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1])
        return torch.matmul(self.normalise(scores), v)


class Memory(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.keys, self.values = nn.Embedding(KEYS, width), nn.Embedding(VALUES, width)
        self.attention = Attention(width)
        self.out = nn.Linear(width, VALUES)

    def forward(self, keys, values, asked):
        stored = self.keys(keys) + self.values(values)
        return self.out(self.attention(self.keys(asked), stored).squeeze(1))


def draw(count):
    keys = torch.rand(count, KEYS).argsort(1)[:, :PAIRS]
    values = torch.randint(0, VALUES, (count, PAIRS))
    place = torch.randint(0, PAIRS, (count, 1))
    return keys, values, keys.gather(1, place), values.gather(1, place).squeeze(1)


torch.manual_seed(0)
model = Memory()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(200):
    *given, answer = draw(64)
    loss = F.cross_entropy(model(*given), answer)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(step, loss.item())

model.eval()
with torch.no_grad():
    right = [bool(model(*given).argmax(1) == answer) for *given, answer in (draw(1) for _ in range(200))]
print("one by one:", sum(right) / len(right))
