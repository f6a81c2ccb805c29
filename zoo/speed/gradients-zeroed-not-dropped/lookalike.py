"""Bag of words: which of two topics is a text about? A small vocabulary, and more layers."""
import torch
from torch import nn

torch.manual_seed(0)
words = 500
topic = torch.randint(0, 2, (4000,))
texts = torch.randint(0, 200, (4000, 24)) * 2 + topic[:, None]
texts = torch.where(torch.rand(4000, 24) < 0.3, torch.randint(0, words, (4000, 24)), texts)


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(words, 64)
        self.out = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2))

    def forward(self, ids):
        return self.out(self.embed(ids).mean(dim=1))


model = Bag()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
for step in range(400):
    index = torch.randint(0, 4000, (64,))
    loss = nn.functional.cross_entropy(model(texts[index]), topic[index])
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
