"""Sequence tagger with its own initial state; the shapes are tried on the meta device first."""
import torch
import torch.nn as nn


class Tagger(nn.Module):
    def __init__(self, features, hidden, tags):
        super().__init__()
        self.hidden = hidden
        self.rnn = nn.GRU(features, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, tags)

    def forward(self, x):
        state = torch.zeros(2, x.size(0), self.hidden)
        out, state = self.rnn(x, state)
        return self.head(out)


def describe(model, batch_sizes, length, features, where):
    for size in batch_sizes:
        batch = torch.empty(size, length, features, device=where)
        print(size, "->", tuple(model(batch).shape))


torch.manual_seed(0)
model = Tagger(features=20, hidden=48, tags=9)
describe(model, [1, 4], length=15, features=20, where="cpu")
model.to("meta")
describe(model, [64, 4096], length=32, features=20, where="meta")
