"""Attention over words, with a mask for the padding."""
import torch
from torch import nn


class MaskedPool(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 24)
        self.score = nn.Linear(24, 1)
        self.out = nn.Linear(24, 2)

    def forward(self, words, padding):
        h = self.embed(words)
        scores = self.score(h).squeeze(-1)
        scores = scores.masked_fill(padding.bool(), -1e9)
        weights = scores.softmax(dim=1).unsqueeze(-1)
        return self.out((weights * h).sum(dim=1))


def batch(n=32, longest=10):
    lengths = torch.randint(3, longest + 1, (n, 1))
    words = torch.randint(2, 30, (n, longest))
    labels = torch.randint(0, 2, (n,))
    words[:, 0] = labels
    padding = (torch.arange(longest) >= lengths).float()
    return words, padding, labels


torch.manual_seed(7)
model = MaskedPool()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(80):
    words, padding, labels = batch()
    loss = nn.functional.cross_entropy(model(words, padding), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
