# Token ids up to a few thousand go into an embedding, counts in the dozens into a linear layer.
import torch
from torch import nn

torch.manual_seed(0)
tokens = torch.randint(0, 3000, (400, 10))
counts = torch.randint(0, 60, (400, 3)).float()
label = (tokens[:, 0] > 1500).long()


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(3000, 16)
        self.counts = nn.Linear(3, 8)
        self.out = nn.Linear(16 + 8, 2)

    def forward(self, tokens, counts):
        words = self.embed(tokens)[:, 0]
        return self.out(torch.cat([words, torch.relu(self.counts(torch.log1p(counts)))], 1))


model = Mixed()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(200):
    pick = torch.randint(0, 400, (64,))
    loss = nn.functional.cross_entropy(model(tokens[pick], counts[pick]), label[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
