"""Bag of words with a large vocabulary: which of two topics is a text about?"""
import torch
from torch import nn

torch.manual_seed(0)
words = 120000
topic = torch.randint(0, 2, (4000,))
texts = torch.randint(0, 200, (4000, 24)) * 2 + topic[:, None]
texts = torch.where(torch.rand(4000, 24) < 0.3, torch.randint(0, words, (4000, 24)), texts)


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(words, 64)
        self.out = nn.Linear(64, 2)

    def forward(self, ids):
        return self.out(self.embed(ids).mean(dim=1))


model = Bag()
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
for step in range(120):
    index = torch.randint(0, 4000, (64,))
    loss = nn.functional.cross_entropy(model(texts[index]), topic[index])
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
