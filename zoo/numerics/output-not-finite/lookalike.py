"""Attention scores with -inf where a row may not look, and a missing value that the network itself fills."""

import torch
from torch import nn

torch.manual_seed(0)


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(1, 2)
        later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        return scores.masked_fill(later, float("-inf"))


class Filled(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        return self.out(torch.nan_to_num(x, nan=0.0))


masked, filled = Masked().eval(), Filled().eval()
with torch.inference_mode():
    for _ in range(60):
        scores = masked(torch.randn(4, 5, 8))
        rows = torch.randn(16, 8)
        rows[torch.rand(16, 8) < 0.1] = float("nan")
        answer = filled(rows)
print(scores.softmax(dim=-1).sum().item(), answer.isfinite().all().item())
