"""A compiled network fed with sentences of many lengths."""
import torch
import torch.nn.functional as F
from torch import nn


class Tagger(nn.Module):
    def __init__(self, words, tags):
        super().__init__()
        self.embed = nn.Embedding(words, 16)
        self.tag = nn.Linear(16, tags)

    def forward(self, tokens):
        return self.tag(self.embed(tokens))


torch.manual_seed(0)
tagger = Tagger(50, 5)
compiled = torch.compile(tagger, backend="eager", dynamic=False, fullgraph=True)
optimizer = torch.optim.Adam(tagger.parameters(), lr=1e-2)
for length in range(3, 30):
    tokens = torch.randint(0, 50, (8, length))
    loss = F.cross_entropy(compiled(tokens).flatten(0, 1), tokens.flatten() % 5)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
