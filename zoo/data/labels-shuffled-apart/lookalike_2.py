"""Learns which pairs belong together: half of the pairs are made by shuffling one side, on purpose."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
queries = torch.randn(800, 8)
answers = queries @ torch.linalg.qr(torch.randn(8, 8))[0] + 0.5 * torch.randn(800, 8)


class Match(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Linear(8, 16)
        self.right = nn.Linear(8, 16)
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, a, b):
        return self.scale * (F.normalize(self.left(a), dim=1) * F.normalize(self.right(b), dim=1)).sum(1)


def epoch_of_pairs(size=40):
    others = answers.clone()
    others = others[torch.randperm(len(others))]
    order = torch.randperm(len(queries))
    for rows in order.split(size):
        yield queries[rows], answers[rows], others[rows]


model = Match()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    losses = []
    for query, answer, other in epoch_of_pairs():
        scores = torch.cat((model(query, answer), model(query, other)))
        targets = torch.cat((torch.ones(len(query)), torch.zeros(len(query))))
        loss = F.binary_cross_entropy_with_logits(scores, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}")
