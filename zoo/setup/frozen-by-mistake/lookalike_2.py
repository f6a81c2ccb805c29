"""Prompt tuning: everything is frozen on purpose but a few vectors in front of the sequence."""
import torch
from torch import nn


class Prompted(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.embed = nn.Embedding(20, dim)
        self.mix = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, 2)
        self.prompt = nn.Parameter(0.1 * torch.randn(4, dim))

    def forward(self, tokens):
        prompt = self.prompt.expand(len(tokens), -1, -1)
        states, _ = self.mix(torch.cat((prompt, self.embed(tokens)), dim=1))
        return self.out(states[:, -1])


torch.manual_seed(3)
model = Prompted().requires_grad_(False)
model.prompt.requires_grad = True
model.out.requires_grad_(True)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(150):
    tokens = torch.randint(0, 20, (32, 6))
    labels = (tokens[:, -1] < 10).long()
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
