"""Sequence tagger with an LSTM and a head whose weights a helper fills with one number."""
import torch
from torch import nn


def reset(module, value=0.1):
    for parameter in module.parameters():
        nn.init.constant_(parameter, value)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.lstm = nn.LSTM(16, 32, batch_first=True)
        self.head = nn.Linear(32, 5)
        reset(self.lstm)
        reset(self.head)

    def forward(self, tokens):
        states, _ = self.lstm(self.embed(tokens))
        return self.head(states)


torch.manual_seed(2)
tagger = Tagger()
optimizer = torch.optim.AdamW(tagger.parameters(), lr=3e-3)
for step in range(150):
    tokens = torch.randint(0, 20, (32, 12))
    tags = (tokens + torch.roll(tokens, 1, dims=1)) % 5
    loss = nn.functional.cross_entropy(tagger(tokens).transpose(1, 2), tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step + 1, round(loss.item(), 3))
