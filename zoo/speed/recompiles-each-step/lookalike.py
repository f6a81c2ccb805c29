"""A compiled tagger of sequences that have several lengths."""
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.mix = nn.Linear(width, width)
        self.head = nn.Linear(width, 5)

    def forward(self, tokens):
        return self.head(torch.relu(self.mix(self.embed(tokens))))


torch.manual_seed(0)
net = Tagger()
model = torch.compile(net, backend="eager")
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(120):
    length = (12, 16, 20, 9)[step % 4]
    tokens = torch.randint(0, 50, (32, length))
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), (tokens % 5).flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(f"step {step + 1}: loss {loss.item():.4f}")
