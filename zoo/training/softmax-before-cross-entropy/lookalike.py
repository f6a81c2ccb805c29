"""Attention pooling (softmax inside the model) with raw logits at the end."""
import torch
from torch import nn


class AttentionPool(nn.Module):
    def __init__(self, dim=24, classes=5):
        super().__init__()
        self.embed = nn.Embedding(60, dim)
        self.score = nn.Linear(dim, 1)
        self.gate = nn.Sequential(nn.Linear(dim, 3), nn.Softmax(dim=-1))
        self.experts = nn.Linear(dim, 3 * classes)

    def forward(self, tokens):
        h = self.embed(tokens)
        weights = torch.softmax(self.score(h), dim=1)
        pooled = (weights * h).sum(dim=1)
        logits = self.experts(pooled).view(len(tokens), 3, -1)
        return torch.einsum("be,bec->bc", self.gate(pooled), logits)


torch.manual_seed(17)
model = AttentionPool()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
ce = nn.CrossEntropyLoss()
for step in range(300):
    tokens = torch.randint(5, 60, (64, 9))
    y = torch.randint(0, 5, (64,))
    tokens[torch.arange(64), torch.randint(0, 9, (64,))] = y
    loss = ce(model(tokens), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"step {step:3d}  ce {loss.item():.4f}")
