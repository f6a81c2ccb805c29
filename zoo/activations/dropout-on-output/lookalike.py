"""Dropout right before the classifier, and a loss that is weighted by a mask of valid positions."""
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 24)
        self.mix = nn.Conv1d(24, 32, 3, padding=1)
        self.tag = nn.Linear(32, 4)
        self.drop = nn.Dropout(0.3)  # defined last, used before the classifier

    def forward(self, tokens):
        hidden = torch.relu(self.mix(self.embed(tokens).transpose(1, 2))).transpose(1, 2)
        return self.tag(self.drop(hidden))


torch.manual_seed(0)
model = Tagger()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(250):
    tokens = torch.randint(0, 30, (16, 12))
    tags = tokens % 4
    valid = (torch.arange(12) < torch.randint(4, 13, (16, 1))).float()
    scores = model(tokens) * valid.unsqueeze(-1)
    each = nn.functional.cross_entropy(scores.flatten(0, 1), tags.flatten(), reduction="none")
    loss = (each * valid.flatten()).sum() / valid.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 3))
