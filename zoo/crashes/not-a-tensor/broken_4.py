"""A model that returns its result in an object with a name for each part."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Result:
    logits: torch.Tensor
    hidden: torch.Tensor


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 12)
        self.fc = nn.Linear(12, 4)

    def forward(self, tokens):
        hidden = self.embed(tokens).mean(dim=1)
        return Result(self.fc(hidden), hidden)


torch.manual_seed(0)
tagger = Tagger()
optimizer = torch.optim.Adam(tagger.parameters(), lr=0.02)
for step in range(60):
    labels = torch.randint(0, 4, (32,))
    tokens = labels[:, None] * 5 + torch.randint(0, 5, (32, 6))
    outputs = tagger(tokens)
    loss = nn.functional.cross_entropy(outputs, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
